//! Fewer triangles for nearly the same surface.
//!
//! Edges collapse in the order of the quadric error that it costs (Garland and Heckbert 1997, "Surface simplification
//! using quadric error metrics"), each to the place where its quadric is least. With quadrics that add up an edge's cost
//! never falls, so an edge whose surroundings changed waits with its old cost, a lower bound, and is looked at again when
//! that comes up. Costs within a sixteenth of each other count as equal; these go by the edge's number, which follows a
//! curve through space. So equal meshes give equal bytes, and the order is the greedy one up to that sixteenth. Large meshes first
//! collapse in parts, side by side, to somewhat more than what is wanted; that the parts wait for each other twice a doubling
//! of the cost leaves hardly a trace, because what they do would be done in any order.

mod build;
mod collapse;
mod parts;
mod quadric;
mod queue;

#[cfg(test)]
mod tests;

use collapse::{Collapse, State};
use parts::{Aim, Count};
use queue::LAST;

use crate::parallel::threads;
use crate::progress::Ticker;
use crate::{Error, Mesh, Progress, clean};

/// Vertices of a part of a large mesh; of these about one in twenty waits for the others.
const RUN: u32 = 1 << 16;
/// A mesh is large from so many parts on.
const PARTS: usize = 4;

/// When decimation ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At most so many triangles.
    Triangles(u64),
    /// At most so many vertices.
    Vertices(u64),
    /// No collapse whose place is farther than this, scene units, from the planes of the triangles that it stands for: root
    /// of the mean squared distance, weighted by area.
    Error(f32),
}

/// What decimation came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decimated {
    /// Collapses done; each takes a vertex.
    pub collapses: u64,
    /// Whether the target was reached; not so when every edge left would turn a triangle over, make the surface no manifold,
    /// or take a whole piece away.
    pub reached: bool,
    /// The largest error of a collapse, scene units, measured as in [`Target::Error`].
    pub error: f32,
}

/// Bytes that [`decimate`] takes at its peak for a mesh of so many vertices and triangles, the mesh itself included, colours
/// not (12 B a vertex, twice where a large mesh goes in parts).
///
/// Counts three half edges per triangle as one and a half edges, as closed surfaces have; open ones have a few more.
#[must_use]
pub const fn host_bytes(vertices: u64, triangles: u64) -> u64 {
    let edges = 3 * triangles / 2;
    let whole = vertices * (12 + collapse::VERTEX_BYTES)
        + triangles * (12 + collapse::TRIANGLE_BYTES)
        + edges * collapse::EDGE_BYTES;
    match vertices >= RUN as u64 * PARTS as u64 {
        // Parts are copies. What they hold of their neighbours is less than the edges of a class, which only some of them have at a
        // time: 0.93 to 0.97 of this were taken from half a million triangles to three.
        true => whole + vertices * 12 + triangles * 12,
        false => whole,
    }
}

/// Collapses edges until the target is reached.
///
/// Edges of a manifold surface are collapsed only where it stays one (link condition, Dey et al. 1999), and never where a
/// triangle's normal would turn by more than about 80 degrees. Open borders are held by planes across them; vertices at
/// edges of more than two triangles stay. Colours are interpolated; normals, where there are any, are made anew; vertices
/// without triangles are dropped. What is left is in the order of the curve.
///
/// # Errors
/// [`Error::Unfit`] for a mesh with texture coordinates, which mean nothing afterwards; [`Error::Empty`] without triangles;
/// [`Error::Setting`] for a negative error; [`Error::Stopped`].
pub fn decimate(mesh: Mesh, target: Target, progress: Progress<'_>) -> Result<(Mesh, Decimated), Error> {
    in_parts_of(RUN, threads(), mesh, target, progress)
}

/// The same, with parts of so many vertices and by so many threads.
fn in_parts_of(
    run: u32,
    threads: usize,
    mut mesh: Mesh,
    target: Target,
    progress: Progress<'_>,
) -> Result<(Mesh, Decimated), Error> {
    if mesh.uvs.is_some() {
        return Err(Error::Unfit {
            job: "decimation",
            found: "the mesh has texture coordinates".to_owned(),
            hint: "decimate first and lay out the texture afterwards",
        });
    }
    if let Target::Error(error) = target
        && !(error >= 0.0 && error.is_finite())
    {
        return Err(Error::setting("decimation error", error, "0 or above"));
    }
    let had_normals = mesh.normals.take().is_some();
    // Doubled triangles make every edge of theirs crowded, and are nothing to look at.
    let (mesh, _) = clean::faces(mesh);
    if mesh.triangles.is_empty() {
        return Err(Error::Empty {
            job: "decimation",
            needs: "triangles",
        });
    }
    let mut done = Decimated::default();
    let (vertices, triangles) = (mesh.positions.len() as u64, mesh.triangles.len() as u64);
    let is_reached = |state: &State| match target {
        Target::Triangles(most) => state.triangles() <= most,
        Target::Vertices(most) => state.vertices() <= most,
        Target::Error(_) => false,
    };
    let (count, wanted, error) = match target {
        Target::Triangles(wanted) => (Count::Triangles, wanted, f64::INFINITY),
        Target::Vertices(wanted) => (Count::Vertices, wanted, f64::INFINITY),
        Target::Error(error) => (Count::Vertices, 0, f64::from(error)),
    };
    let aim = Aim { count, wanted, error };
    let (whole, per_collapse) = match aim.count {
        Count::Triangles => (triangles, 2),
        Count::Vertices => (vertices, 1),
    };
    let mut ticker = Ticker::new(progress, whole.saturating_sub(aim.wanted));
    ticker.step(0)?;
    let mut state = match mesh.positions.len() >= PARTS * run as usize && parts::left(aim.wanted) < whole {
        false => State::new(mesh),
        true => {
            let parts = parts::collapsed(mesh, aim, run, threads, &mut ticker)?;
            done.collapses = parts.collapses;
            done.error = parts.error as f32;
            State::going_on(parts.mesh, parts.frame, parts.known)
        }
    };
    let mut looked_at = 0_u64;
    while !is_reached(&state) {
        match state.next(LAST, aim.error) {
            Collapse::Done(error) => {
                done.collapses += 1;
                done.error = done.error.max(error as f32);
                ticker.step(per_collapse)?;
            }
            Collapse::None => {}
            Collapse::End => break,
        }
        // Refused edges are no progress, and may be many.
        looked_at += 1;
        if looked_at.is_multiple_of(1 << 16) {
            ticker.step(0)?;
        }
    }
    done.reached = is_reached(&state) || matches!(target, Target::Error(_));
    ticker.finish()?;
    let mesh = state.finish();
    Ok((if had_normals { mesh.with_own_normals() } else { mesh }, done))
}
