//! A closed surface through what views see: points on a level of the density, or their depths, with normals, and screened Poisson
//! through these.

use std::ops::ControlFlow;

use kiln_mesh::poisson::{Depth, Options, reconstruct};
use kiln_mesh::{Mesh, clean, nearest};
use serde::Serialize;

use super::photos::Photos;
use super::stage::DepthStage;
use super::{MeshError, Space, parts};
use kiln_scene::Camera;

/// Scene extents around the middle of contracted space beyond which points are left out (SuGaR).
const REACH: f32 = 4.0;
/// Bytes of a point with its normal, and its place in a tree of points.
const POINT_BYTES: u64 = 24 + 17;

/// What the surface was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoissonRow {
    /// Points, of all views.
    pub points: u64,
    /// Cells along a side of the cube around them are 2 to the power of this.
    pub depth: u32,
    /// Blocks of 8 x 8 x 8 nodes of all levels.
    pub blocks: u64,
    /// Host bytes of the reconstruction, points and normals not counted.
    pub host_bytes: u64,
    /// The depth around the box, where that is reconstructed on its own and has a surface; `depth` is then that of the box.
    pub depth_around: Option<u32>,
}

/// Points on surfaces with their outward normals, world space.
#[derive(Debug, Default)]
pub(super) struct Points {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
}

impl Points {
    pub(super) const fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// A tree of them, 17 bytes each.
    ///
    /// # Errors
    /// [`MeshError::Poisson`].
    pub(super) fn tree(&self) -> Result<nearest::Points, MeshError> {
        nearest::Points::new(&self.positions).map_err(MeshError::Poisson)
    }

    pub(super) const fn len(&self) -> usize {
        self.positions.len()
    }
}

/// Where points count: the box of bounded space, else four scene extents around its middle.
fn bounds(space: &Space, extent: f32) -> [[f32; 3]; 2] {
    match *space {
        Space::Bounded { lower, upper, .. } => [lower, upper],
        Space::Contracted { focus, radius, .. } => {
            let reach = REACH * extent.max(radius);
            [focus.map(|x| x - reach), focus.map(|x| x + reach)]
        }
    }
}

/// The most points that so many views give, `most` at most.
///
/// # Errors
/// [`MeshError::Poisson`] when these alone take more than `available_bytes`, the host's memory.
pub(crate) fn most_points<'a>(
    cameras: impl IntoIterator<Item = &'a Camera>,
    most: u32,
    available_bytes: Option<u64>,
) -> Result<u64, MeshError> {
    let pixels = |camera: &Camera| u64::from(camera.width_px) * u64::from(camera.height_px);
    let points = u64::from(most).min(cameras.into_iter().map(pixels).sum());
    let needed_bytes = points * POINT_BYTES;
    match available_bytes {
        Some(most_bytes) if needed_bytes > most_bytes => Err(MeshError::Poisson(kiln_mesh::Error::Memory {
            what: format!("{points} points of views take"),
            needed_bytes,
            most_bytes,
        })),
        _ => Ok(points),
    }
}

/// Draws all views and takes at most `most` points of them, as many of each view where it has them: those on the `level` of the
/// density, or pixels with depth and normal. `next` is called with the number of each view.
///
/// # Errors
/// What `next` says; [`MeshError::Poisson`] when points do not fit host memory; [`MeshError::Memory`], [`MeshError::Train`].
pub(super) fn points(
    stage: &mut DepthStage<'_>,
    cameras: &[&Camera],
    masks: Option<&Photos>,
    (space, extent): (&Space, f32),
    (most, level): (u32, Option<f32>),
    next: &mut dyn FnMut(usize) -> Result<(), MeshError>,
) -> Result<Points, MeshError> {
    let [lower, upper] = bounds(space, extent);
    let most = most_points(cameras.iter().copied(), most, kiln_system::available_bytes())? as usize;
    let mut points = Points::default();
    points.positions.reserve_exact(most);
    points.normals.reserve_exact(most);
    for (view, camera) in cameras.iter().enumerate() {
        next(view)?;
        let photo = masks.map(|photos| photos.get(view)).transpose()?;
        let mask = photo.as_ref().and_then(|photo| photo.mask());
        stage.draw(camera, mask, None)?;
        let is_in = |[p, _]: &[[f32; 3]; 2]| (0..3).all(|i| (lower[i]..=upper[i]).contains(&p[i]));
        let counts = |[p, _]: &[[f32; 3]; 2]| {
            let at = |[x, y, _]: [f32; 3]| y as usize * camera.width_px as usize + x as usize;
            mask.is_none_or(|mask| {
                camera
                    .sees(*p)
                    .and_then(|seen| mask.get(at(seen)))
                    .is_some_and(|&m| m != 0)
            })
        };
        let mut seen = match level {
            Some(_) => stage.read_points(camera)?,
            None => {
                let map = stage.read_map(camera)?.into_iter().enumerate();
                map.filter_map(|(at, value)| point(camera, at, value)).collect()
            }
        };
        seen.retain(|point| is_in(point) && counts(point));
        // What a view does not have is left for those after it. Of its own pixels evenly many are taken.
        let left = most - points.positions.len();
        let (count, share) = (seen.len(), left / (cameras.len() - view));
        let taken = share.min(count);
        let mut due = 0;
        for [position, normal] in seen {
            due += taken;
            if due >= count {
                due -= count;
                points.positions.push(position);
                points.normals.push(normal);
            }
        }
    }
    Ok(points)
}

/// Place and normal, world space, of a pixel with depth and normal.
fn point(camera: &Camera, pixel: usize, [depth, normal @ ..]: [f32; 4]) -> Option<[[f32; 3]; 2]> {
    if depth <= 0.0 || normal == [0.0; 3] {
        return None;
    }
    let (x, y) = (pixel % camera.width_px as usize, pixel / camera.width_px as usize);
    let at = [
        depth * (x as f32 + 0.5 - camera.cx) / camera.fx,
        depth * (y as f32 + 0.5 - camera.cy) / camera.fy,
        depth,
    ];
    let r = &camera.rotation;
    let to_world = |v: [f32; 3]| -> [f32; 3] { [0, 1, 2].map(|i| r[0][i] * v[0] + r[1][i] * v[1] + r[2][i] * v[2]) };
    let off = to_world(at);
    let position = camera.position();
    Some([[0, 1, 2].map(|i| position[i] + off[i]), to_world(normal)])
}

/// The mesh with every vertex at the point nearest to it, without the triangles that [`clean::manifold`] drops then, and
/// their number.
///
/// # Errors
/// [`MeshError::Stopped`]; [`MeshError::Poisson`].
pub(super) fn projected(
    mesh: &Mesh,
    tree: &nearest::Points,
    progress: &mut dyn FnMut(f32) -> ControlFlow<()>,
) -> Result<(Mesh, usize), MeshError> {
    let total = mesh.positions().len().max(1);
    let mut positions = Vec::with_capacity(mesh.positions().len());
    for (at, &position) in mesh.positions().iter().enumerate() {
        if at % (1 << 14) == 0 && progress(at as f32 / total as f32).is_break() {
            return Err(MeshError::Stopped);
        }
        let found = tree.nearest(position);
        positions.push(found.map_or(position, |hit| hit.point.map(|x| x as f32)));
    }
    let moved = Mesh::new(positions, mesh.triangles().to_vec()).map_err(MeshError::Poisson)?;
    let moved = match mesh.colors() {
        Some(colors) => moved.with_colors(colors.to_vec()).map_err(MeshError::Poisson)?,
        None => moved,
    };
    // Vertices that share their nearest point are one, and sheets that meet there may leave more than two triangles at an edge.
    Ok(clean::manifold(moved))
}

/// The surface through the points; with a box that of what lies in it and that of what lies around it.
///
/// # Errors
/// [`MeshError::Poisson`] when memory is short or the points have no inside; [`MeshError::Stopped`].
pub(super) fn surface(
    (options, exactly): (&kiln_config::Mesh, Option<u32>),
    points: Points,
    split: Option<[[f32; 3]; 2]>,
    progress: &mut dyn FnMut(f32) -> ControlFlow<()>,
) -> Result<(Mesh, PoissonRow), MeshError> {
    let Points { positions, mut normals } = points;
    let settings = Options {
        depth: exactly.map_or(Depth::AtMost(options.quality.poisson_depth()), Depth::Exactly),
        density_quantile: options.method.density_quantile(),
        memory_bytes: kiln_system::available_bytes().unwrap_or(u64::MAX),
        ..Options::default()
    };
    if let Some(bounds) = split {
        let found = parts::surface(&positions, &mut normals, bounds, &settings, progress)?;
        let [inside, around] = found.depths;
        let row = PoissonRow {
            points: positions.len() as u64,
            depth: inside.or(around).unwrap_or_default(),
            blocks: found.blocks,
            host_bytes: found.bytes,
            depth_around: around.filter(|_| inside.is_some()),
        };
        return Ok((found.mesh, row));
    }
    let found = reconstruct(&positions, &normals, None, &settings, progress).map_err(|error| match error {
        kiln_mesh::Error::Stopped => MeshError::Stopped,
        other => MeshError::Poisson(other),
    })?;
    let row = PoissonRow {
        points: positions.len() as u64,
        depth: found.depth,
        blocks: found.blocks,
        host_bytes: found.bytes,
        depth_around: None,
    };
    Ok((found.mesh, row))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn points_that_the_host_cannot_hold_are_refused() {
        let camera = Camera {
            width_px: 40,
            height_px: 30,
            fx: 50.0,
            fy: 50.0,
            cx: 20.0,
            cy: 15.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        };
        let of = |most, available| most_points([&camera, &camera], most, Some(available));
        assert_eq!(of(9000, 2400 * POINT_BYTES).unwrap(), 2400);
        assert_eq!(of(1000, 1000 * POINT_BYTES).unwrap(), 1000);
        let refused = of(1000, 1000 * POINT_BYTES - 1).unwrap_err();
        assert!(
            matches!(refused, MeshError::Poisson(kiln_mesh::Error::Memory { needed_bytes, .. }) if needed_bytes == 1000 * POINT_BYTES)
        );
    }

    #[test]
    fn pixels_come_back_to_where_they_look() {
        // Looks along x from (-4, 1, 2), y down is world -z.
        let camera = Camera {
            width_px: 40,
            height_px: 30,
            fx: 50.0,
            fy: 60.0,
            cx: 19.0,
            cy: 16.0,
            rotation: [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]],
            translation: [1.0, 2.0, 4.0],
            lens: None,
        };
        assert_eq!(camera.position(), [-4.0, 1.0, 2.0]);
        let (x, y) = (31, 7);
        let [place, normal] = point(&camera, y * 40 + x, [5.0, 0.0, 0.0, -1.0]).unwrap();
        let [column, row, depth] = camera.sees(place).unwrap();
        assert!((column - 31.5).abs() < 1e-4 && (row - 7.5).abs() < 1e-4 && (depth - 5.0).abs() < 1e-5);
        assert_eq!(normal, [-1.0, 0.0, 0.0]);
        assert_eq!(point(&camera, 0, [0.0, 0.0, 0.0, -1.0]), None);
        assert_eq!(point(&camera, 0, [1.0, 0.0, 0.0, 0.0]), None);
    }
}
