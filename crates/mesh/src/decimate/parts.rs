//! A large mesh in parts that collapse side by side.
//!
//! Parts are runs of vertices along the curve, and follow from the mesh alone. A vertex stays where it is while one of its
//! triangles reaches into another part, so parts never meet. They go up the classes of costs together, a few at a time, each
//! with its share of what is still to go, and leave the last of it to be collapsed as a whole: then what stayed goes first,
//! because it costs least. So the outcome depends on no thread.

use super::build::{Known, along_curve, sort};
use super::collapse::{Collapse, Frame, LOCKED, NONE, State};
use super::queue::LAST;
use crate::parallel;
use crate::progress::Ticker;
use crate::{Error, Mesh};

/// Classes that parts go through between two looks at what is left: costs double.
const STEP: u32 = 16;

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Triangles,
    Vertices,
}

/// What parts collapse towards.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    pub(super) count: Count,
    /// How many of these are wanted.
    pub(super) wanted: u64,
    /// Largest error of a collapse, scene units.
    pub(super) error: f64,
}

/// What parts came to.
pub(super) struct Collapsed {
    pub(super) mesh: Mesh,
    pub(super) frame: Frame,
    pub(super) known: Known,
    /// Collapses done, and the largest error among them, scene units.
    pub(super) collapses: u64,
    pub(super) error: f64,
}

/// Vertices of a run, those that their triangles reach beside it, and all these triangles.
struct Part {
    state: State,
    /// The first of the run, and how many there are; they are the first of the part.
    start: u32,
    own: u32,
    /// Which the others are, ascending.
    others: Vec<u32>,
    /// Triangles and vertices at first.
    before: [u64; 2],
    /// Collapses done; the largest error.
    collapses: u64,
    error: f64,
}

/// Collapses edges in parts of so many vertices, by so many threads. The rest is to be collapsed as a whole.
///
/// # Errors
/// [`Error::Stopped`].
pub(super) fn collapsed(
    mesh: Mesh,
    aim: Aim,
    run: u32,
    threads: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Collapsed, Error> {
    let frame = Frame::around(&mesh);
    let triangles = mesh.triangles.len() as u64;
    let (mesh, _) = along_curve(mesh);
    let mut parts = split(&mesh, frame, run, threads);
    drop(mesh);
    ticker.step(0)?;
    let stay: u64 = parts.iter().map(Part::staying).sum();
    let (whole, stay) = match aim.count {
        Count::Triangles => (triangles, 2 * stay),
        Count::Vertices => (parts.iter().map(Part::vertices).sum(), stay),
    };
    let least = left(aim.wanted) + stay;
    // Too little to share.
    let few = (64 * parts.len() as u64).max(least / 64);
    let gone = |parts: &[Part]| parts.iter().map(|part| part.gone(aim.count)).sum::<u64>();
    let lowest = |parts: &[Part]| parts.iter().filter_map(|part| part.state.queue.lowest()).min();
    let mut now = 0;
    while let Some(class) = lowest(&parts).filter(|&class| class < LAST) {
        let most = (class + STEP).min(LAST - 1);
        loop {
            let to_go = whole.saturating_sub(now + least);
            if to_go <= few {
                break;
            }
            let has_some = |part: &&mut Part| part.state.queue.lowest().is_some_and(|class| class <= most);
            let vertices: u64 = parts.iter_mut().filter(has_some).map(|part| part.vertices()).sum();
            parallel::each_in(threads, 1, parts.iter_mut().filter(has_some), |part| {
                let share = to_go as f64 * part.vertices() as f64 / vertices as f64;
                part.go_on(aim, share as u64 + 1, most);
            });
            let before = std::mem::replace(&mut now, gone(&parts));
            ticker.step(now - before)?;
            // Nothing is left up to this class, or nearly.
            if now - before <= few {
                break;
            }
        }
        if whole.saturating_sub(now + least) <= few {
            break;
        }
    }
    let collapses = parts.iter().map(|part| part.collapses).sum();
    let error = parts.iter().map(|part| part.error).fold(0.0, f64::max);
    let (mesh, known) = joined(parts);
    Ok(Collapsed {
        mesh,
        frame,
        known,
        collapses,
        error,
    })
}

/// What parts leave of a mesh of which so much is wanted.
pub(super) const fn left(wanted: u64) -> u64 {
    wanted.saturating_add(wanted / 2)
}

impl Part {
    fn new(mesh: &Mesh, triangles: &[u32], frame: Frame, [start, end]: [u32; 2]) -> Self {
        let is_own = |vertex: u32| (start..end).contains(&vertex);
        let own = end - start;
        let of = |&triangle: &u32| mesh.triangles[triangle as usize];
        let mut others: Vec<u32> = triangles.iter().flat_map(of).filter(|&v| !is_own(v)).collect();
        others.sort_unstable();
        others.dedup();
        let here = |vertex: u32| match is_own(vertex) {
            true => vertex - start,
            false => own + others.partition_point(|&other| other < vertex) as u32,
        };
        let mut flags = vec![0; own as usize];
        flags.resize(own as usize + others.len(), LOCKED);
        let mut local: Vec<[u32; 3]> = triangles.iter().map(|t| of(t).map(here)).collect();
        for triangle in local.iter().filter(|t| t.iter().any(|&vertex| vertex >= own)) {
            for &vertex in triangle {
                flags[vertex as usize] |= LOCKED;
            }
        }
        sort(&mut local);
        let taken = |all: &[[f32; 3]]| -> Vec<[f32; 3]> {
            let others = others.iter().map(|&vertex| all[vertex as usize]);
            all[start as usize..end as usize]
                .iter()
                .copied()
                .chain(others)
                .collect()
        };
        let mesh = Mesh {
            positions: taken(&mesh.positions),
            triangles: local,
            colors: mesh.colors.as_deref().map(taken),
            ..Mesh::default()
        };
        let known = Known {
            quadrics: Vec::new(),
            flags,
        };
        let state = State::of_ordered(mesh, frame, Some(known), 1);
        Self {
            before: [state.triangles(), state.vertices()],
            state,
            start,
            own,
            others,
            collapses: 0,
            error: 0.0,
        }
    }

    /// Vertices of the run that stay.
    fn staying(&self) -> u64 {
        let own = &self.state.flags[..self.own as usize];
        own.iter().filter(|&&flags| flags & LOCKED != 0).count() as u64
    }

    /// Vertices of triangles, without those of others.
    fn vertices(&self) -> u64 {
        self.state.vertices() - self.others.len() as u64
    }

    /// What is not there any more.
    fn gone(&self, count: Count) -> u64 {
        match count {
            Count::Triangles => self.before[0] - self.state.triangles(),
            Count::Vertices => self.before[1] - self.state.vertices(),
        }
    }

    /// Collapses edges up to a class, until so much is gone.
    fn go_on(&mut self, aim: Aim, share: u64, most: u32) {
        let end = self.gone(aim.count) + share;
        while self.gone(aim.count) < end {
            match self.state.next(most, aim.error) {
                Collapse::Done(error) => {
                    self.collapses += 1;
                    self.error = self.error.max(error);
                }
                Collapse::None => {}
                Collapse::End => break,
            }
        }
    }
}

/// The parts of a mesh whose vertices lie along the curve.
fn split(mesh: &Mesh, frame: Frame, run: u32, threads: usize) -> Vec<Part> {
    let vertices = mesh.positions.len() as u32;
    let count = vertices.div_ceil(run) as usize;
    // The triangles of each part; one that reaches across is in each that it touches.
    let touched = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| vertex / run);
        [Some(a), (b != a).then_some(b), (c != a && c != b).then_some(c)]
    };
    let mut triangles_of: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (triangle, index) in mesh.triangles.iter().zip(0..) {
        for part in touched(triangle).into_iter().flatten() {
            triangles_of[part as usize].push(index);
        }
    }
    let mut parts: Vec<Option<Part>> = (0..count).map(|_| None).collect();
    let items = parts.iter_mut().zip(triangles_of).zip((0..).step_by(run as usize));
    parallel::each_in(threads, 1, items, |((part, triangles), start)| {
        *part = Some(Part::new(mesh, &triangles, frame, [start, vertices.min(start + run)]));
    });
    parts.into_iter().flatten().collect()
}

/// The mesh that the parts are of, and what is known of it.
fn joined(parts: Vec<Part>) -> (Mesh, Known) {
    let mut mesh = Mesh::default();
    let mut colors = Vec::new();
    let mut known = Known {
        quadrics: Vec::new(),
        flags: Vec::new(),
    };
    let mut new_of = Vec::new();
    for part in parts {
        let own = part.own as usize;
        let state = part.state;
        for vertex in 0..own {
            new_of.push(match state.first[vertex] {
                NONE => NONE,
                _ => mesh.positions.len() as u32,
            });
            if state.first[vertex] == NONE {
                continue;
            }
            mesh.positions.push(state.mesh.positions[vertex]);
            colors.extend(state.mesh.colors.as_ref().map(|colors| colors[vertex]));
            known.quadrics.push(state.quadrics[vertex]);
            known.flags.push(state.flags[vertex] & !LOCKED);
        }
        let before = |vertex: u32| match vertex < part.own {
            true => part.start + vertex,
            false => part.others[vertex as usize - own],
        };
        let live = state.mesh.triangles.iter().filter(|triangle| triangle[0] != NONE);
        // One that reaches across comes with the part of its lowest vertex.
        let is_ours = |triangle: &[u32; 3]| triangle.iter().all(|&vertex| vertex >= part.start);
        mesh.triangles
            .extend(live.map(|triangle| triangle.map(before)).filter(is_ours));
    }
    for vertex in mesh.triangles.as_flattened_mut() {
        *vertex = new_of[*vertex as usize];
    }
    mesh.colors = (!colors.is_empty()).then_some(colors);
    (mesh, known)
}
