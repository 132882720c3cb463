//! A whole grid, plane by plane.

use super::table::{CASES, CORNERS, EDGES};
use super::{Field, Grid, seen};
use crate::progress::Ticker;
use crate::{Error, Mesh, Progress};

const NONE: u32 = u32::MAX;

/// The level 0 of a field on a dense grid. Vertices are in the order of the cells that first use them. Takes 32 B per
/// point of a plane beside the mesh.
///
/// # Errors
/// [`Error::Setting`] for a grid without a size, [`Error::NotFinite`], [`Error::TooMany`], [`Error::Stopped`].
pub fn dense(field: &impl Field, grid: Grid, progress: Progress<'_>) -> Result<Mesh, Error> {
    grid.check()?;
    let [nx, ny, nz] = field.size().map(|n| n as usize);
    let plane = nx.checked_mul(ny).filter(|&plane| plane <= 1 << 26);
    let plane =
        plane.ok_or_else(|| Error::setting("grid", format!("{nx}x{ny}x{nz}"), "at most 2^26 points a plane"))?;
    let mut ticker = Ticker::new(progress, (nz as u64).saturating_mul(plane as u64));
    let mut planes = [0, 1].map(|_| Plane::new(plane));
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    for z in 0..nz {
        planes.swap(0, 1);
        planes[1].fill(field, [nx, ny], z);
        ticker.step(plane as u64)?;
        if z == 0 {
            continue;
        }
        for y in 1..ny {
            for x in 1..nx {
                let low = (y - 1) * nx + x - 1;
                let at = |corner: usize| low + (corner & 1) + (corner >> 1 & 1) * nx;
                let values: [f32; CORNERS] = std::array::from_fn(|c| planes[c >> 2].values[at(c)]);
                let inside = (0..CORNERS).fold(0, |set, c| set | usize::from(values[c] < 0.0) << c);
                if inside == 0 || inside == 255 || values.iter().any(|value| value.is_nan()) {
                    continue;
                }
                let mut vertex = |edge: u8| {
                    let (corner, axis) = EDGES[usize::from(edge)];
                    let (corner, axis) = (usize::from(corner), usize::from(axis));
                    let vertex = &mut planes[corner >> 2].vertices[at(corner)][axis];
                    if *vertex == NONE {
                        *vertex = positions.len() as u32;
                        let place = [x - 1 + (corner & 1), y - 1 + (corner >> 1 & 1), z - 1 + (corner >> 2)];
                        let place = place.map(|x| x as i64);
                        positions.push(grid.crossing(place, axis, values[corner], values[corner | 1 << axis]));
                    }
                    *vertex
                };
                triangles.extend(CASES[inside].triangles().iter().map(|t| t.map(&mut vertex)));
            }
        }
        // Numbers beyond u32 would wrap: the check comes once a plane, which adds less than 2^31.
        too_many(positions.len())?;
    }
    ticker.finish()?;
    Mesh::new(positions, triangles)
}

/// Refuses more vertices than indices can name.
pub(super) fn too_many(vertices: usize) -> Result<(), Error> {
    let most = u32::MAX / 2;
    match vertices <= most as usize {
        true => Ok(()),
        false => Err(Error::TooMany {
            what: "vertices",
            found: vertices as u64,
            most: most.into(),
            hint: "make voxels larger",
        }),
    }
}

/// The points of one z.
struct Plane {
    /// NaN where nothing was seen.
    values: Vec<f32>,
    /// Vertices on the edges that begin at each point.
    vertices: Vec<[u32; 3]>,
}

impl Plane {
    fn new(points: usize) -> Self {
        Self {
            values: vec![f32::NAN; points],
            vertices: vec![[NONE; 3]; points],
        }
    }

    fn fill(&mut self, field: &impl Field, [nx, ny]: [usize; 2], z: usize) {
        let places = (0..ny).flat_map(|y| (0..nx).map(move |x| [x, y, z].map(|x| x as u32)));
        for (value, place) in self.values.iter_mut().zip(places) {
            *value = seen(field.value(place)).unwrap_or(f32::NAN);
        }
        self.vertices.fill([NONE; 3]);
    }
}
