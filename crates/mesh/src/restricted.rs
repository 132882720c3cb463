//! A surface of points that are there already: the Delaunay triangles between them that a given surface goes through.
//!
//! A triangle between two Delaunay tetrahedra stays when its dual edge, the segment between the centres of their spheres,
//! meets the surface (Edelsbrunner and Shah 1997). The surface may be any pile of triangles; what comes out is part of a
//! Delaunay triangulation, so that no two triangles cross, and where points lie densely on a smooth surface it is that
//! surface (Amenta and Bern 1999). Triangles at the hull have one tetrahedron, no dual edge, and stay out.
//!
//! Whether a segment meets a triangle is decided exactly, borders included, for centres rounded to f64. Tetrahedra too flat
//! for a centre in f64 lose their triangles. Points exactly on one sphere, as those of regular grids, have one centre for
//! several tetrahedra: triangles between these stay only if the surface goes through that very place.

#[cfg(test)]
mod tests;

use crate::boxes::Boxes;
use crate::crossing::{Crossing, Segment};
use crate::delaunay::{self, Tetrahedra};
use crate::progress::Ticker;
use crate::vector::{V3, add, cross, dot, norm, scale, sub};
use crate::{Error, Mesh, Progress, orient, parallel};

/// Share of the box of its edges' lengths that six times the volume of a tetrahedron must have for a centre: below, roundings
/// of f64 are as large.
const LEAST_VOLUME: f64 = 1e-14;
/// Bytes per point of the tetrahedra when they are finished, and of their faces' marks.
const FINISHED_BYTES: u64 = 7 * (32 + 1);
/// Bytes per triangle that stays: its face, itself, and where there are too many their brightness and order.
const FACE_BYTES: u64 = 8 + 12 + 4 + 4;
/// Tetrahedra between two looks at the progress, and per turn of a thread.
const BATCH: usize = 1 << 17;
const TURN: usize = 1 << 9;

/// What [`surface`] takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options<'a> {
    /// Most triangles; of more those stay that go through the brightest of the given ones.
    pub most_triangles: u32,
    /// Brightness of each given triangle.
    pub brightness: &'a [f32],
    /// Bytes that may be taken beside the mesh itself.
    pub memory_bytes: u64,
    /// Whether triangles that meet at an edge are made to agree about which side is out.
    pub orient: bool,
}

/// What [`surface`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Delaunay tetrahedra.
    pub tetrahedra: u64,
    /// Those without a centre.
    pub without_centre: u64,
    /// Triangles that the surface goes through.
    pub triangles: u64,
    /// Those of them left out because there are too many.
    pub left_out: u64,
    /// Edges whose two triangles cannot agree which side is out.
    pub conflicts: u64,
}

/// Bytes that [`surface`] takes at most beside the mesh itself, for so many vertices and given triangles, while it does not
/// find more than three triangles per vertex.
#[must_use]
pub const fn host_bytes(vertices: u64, triangles: u64) -> u64 {
    let digging = delaunay::host_bytes(vertices);
    let searching = vertices * (FINISHED_BYTES + 3 * FACE_BYTES) + triangles * Boxes::BYTES;
    let turning = if digging > searching { digging } else { searching };
    // Turning them takes less: edges, opposites and patches, 36 B per triangle or so.
    turning + (1 << 20)
}

/// Connects the vertices of a mesh anew, along the surface that its triangles are now: vertices and their attributes stay,
/// texture coordinates go. Of equal vertices the first has all triangles.
///
/// # Errors
/// [`Error::Memory`] before anything is done; [`Error::Length`] unless each triangle has a brightness; [`Error::Unfit`] for
/// vertices that lie in a plane; [`Error::TooMany`]; [`Error::Stopped`].
pub fn surface(mesh: Mesh, options: &Options<'_>, progress: Progress<'_>) -> Result<(Mesh, Found), Error> {
    surface_on(parallel::threads(), mesh, options, progress)
}

fn surface_on(
    threads: usize,
    mut mesh: Mesh,
    options: &Options<'_>,
    progress: Progress<'_>,
) -> Result<(Mesh, Found), Error> {
    let [vertices, given] = [mesh.positions.len() as u64, mesh.triangles.len() as u64];
    if options.brightness.len() as u64 != given {
        return Err(Error::Length {
            what: "brightnesses of triangles",
            found: options.brightness.len(),
            wanted: mesh.triangles.len(),
        });
    }
    let needed_bytes = host_bytes(vertices, given);
    if needed_bytes > options.memory_bytes {
        return Err(Error::Memory {
            what: format!("connecting {vertices} vertices takes"),
            needed_bytes,
            most_bytes: options.memory_bytes,
        });
    }
    let (triangles, mut found) = on_surface(threads, &mesh, options, progress)?;
    mesh.triangles = triangles;
    mesh.uvs = None;
    if options.orient {
        let (turned, oriented) = orient::outward(mesh);
        mesh = turned;
        found.conflicts = oriented.conflicts;
    }
    Ok((mesh, found))
}

/// The Delaunay triangles that the surface goes through.
fn on_surface(
    threads: usize,
    mesh: &Mesh,
    options: &Options<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<[u32; 3]>, Found), Error> {
    let vertices = mesh.positions.len() as u64;
    // Each of the halves takes about as long.
    let mut ticker = Ticker::new(progress, 2 * vertices);
    let space = delaunay::tetrahedra(&mesh.positions, &mut ticker.part(vertices))?;
    let search = Search {
        crossing: Crossing::new(mesh),
        mesh,
        space: &space,
    };
    let marks = search.marks(threads, &mut ticker.part(vertices))?;
    ticker.finish()?;
    let mut faces: Vec<Face> = Vec::with_capacity(marks.iter().map(|mark| mark.count_ones() as usize).sum());
    faces.extend(marked(&marks));
    let mut found = Found {
        tetrahedra: space.points.len() as u64,
        without_centre: (0..space.points.len()).filter(|&t| search.centre(t).is_none()).count() as u64,
        triangles: faces.len() as u64,
        ..Found::default()
    };
    let most = options.most_triangles as usize;
    if faces.len() > most {
        search.keep_brightest(threads, &mut faces, most, options.brightness);
        found.left_out = found.triangles - most as u64;
    }
    Ok((faces.into_iter().map(|face| search.triangle(face)).collect(), found))
}

/// A face of a tetrahedron: its number and the corner opposite.
type Face = (u32, u8);

/// The faces that have marks: a bit for each corner of a tetrahedron.
fn marked(marks: &[u8]) -> impl Iterator<Item = Face> + '_ {
    let corners = |(t, mark): (u32, &u8)| {
        let mark = *mark;
        (0..4)
            .filter(move |corner| mark >> corner & 1 == 1)
            .map(move |corner| (t, corner))
    };
    (0..).zip(marks).flat_map(corners)
}

struct Search<'a> {
    mesh: &'a Mesh,
    space: &'a Tetrahedra,
    crossing: Crossing<'a>,
}

impl Search<'_> {
    /// The centre of the sphere of a tetrahedron; none where it is too flat.
    fn centre(&self, t: usize) -> Option<V3> {
        let [a, b, c, d] = self.space.points[t].map(|p| self.mesh.positions[p as usize].map(f64::from));
        let [u, v, w] = [b, c, d].map(|p| sub(p, a));
        let normals = [cross(v, w), cross(w, u), cross(u, v)];
        let volume = dot(u, normals[0]);
        if volume <= LEAST_VOLUME * norm(u) * norm(v) * norm(w) {
            return None;
        }
        let sum = [u, v, w]
            .into_iter()
            .zip(normals)
            .fold([0.0; 3], |sum, (edge, normal)| add(sum, scale(normal, dot(edge, edge))));
        let centre = add(a, scale(sum, 0.5 / volume));
        centre.iter().all(|x| x.is_finite()).then_some(centre)
    }

    /// The segment between the centres on both sides of a face; none at the hull.
    fn dual(&self, (t, corner): Face) -> Option<Segment> {
        let across = self.space.neighbors[t as usize][usize::from(corner)];
        match across {
            u32::MAX => None,
            across => Some([self.centre(t as usize)?, self.centre(across as usize)?]),
        }
    }

    /// Which faces the surface goes through. Each is looked at from the lower of its tetrahedra.
    fn marks(&self, threads: usize, progress: Progress<'_>) -> Result<Vec<u8>, Error> {
        let mut marks = vec![0_u8; self.space.points.len()];
        let mut ticker = Ticker::new(progress, marks.len() as u64);
        let mark_of = |t: u32| {
            let is_met = |corner: u8| {
                let across = self.space.neighbors[t as usize][usize::from(corner)];
                across > t
                    && self
                        .dual((t, corner))
                        .is_some_and(|dual| self.crossing.any(dual, |_| true))
            };
            (0..4).filter(|&corner| is_met(corner)).map(|corner| 1 << corner).sum()
        };
        for (first, batch) in (0..).step_by(BATCH).zip(marks.chunks_mut(BATCH)) {
            let turns = (first..).step_by(TURN).zip(batch.chunks_mut(TURN));
            parallel::each(threads, turns, |(first, turn)| {
                for (t, mark) in (first..).zip(turn) {
                    *mark = mark_of(t);
                }
            });
            ticker.step(BATCH as u64)?;
        }
        ticker.finish()?;
        Ok(marks)
    }

    /// Leaves the faces that go through the brightest triangles, in their order.
    fn keep_brightest(&self, threads: usize, faces: &mut Vec<Face>, most: usize, brightness: &[f32]) {
        let mut of_face = vec![f32::NEG_INFINITY; faces.len()];
        let turns = faces.chunks(TURN).zip(of_face.chunks_mut(TURN));
        parallel::each(threads, turns, |(faces, brightest)| {
            for (&face, brightest) in faces.iter().zip(brightest) {
                let mut take = |t: u32| {
                    *brightest = brightest.max(brightness[t as usize]);
                    false
                };
                if let Some(dual) = self.dual(face) {
                    self.crossing.any(dual, &mut take);
                }
            }
        });
        let mut order: Vec<u32> = (0..faces.len() as u32).collect();
        if most < order.len() {
            order.select_nth_unstable_by(most, |&a, &b| {
                of_face[b as usize].total_cmp(&of_face[a as usize]).then(a.cmp(&b))
            });
        }
        order.truncate(most);
        order.sort_unstable();
        *faces = order.into_iter().map(|face| faces[face as usize]).collect();
    }

    /// The vertices of a face.
    fn triangle(&self, (t, corner): Face) -> [u32; 3] {
        let corners = self.space.points[t as usize];
        let [a, b, c] = [1, 2, 3].map(|k| corners[(usize::from(corner) + k) % 4]);
        // Seen from outside the tetrahedron.
        if corner % 2 == 0 { [a, b, c] } else { [c, b, a] }
    }
}
