//! The surface in voxels, as triangles of the world.

use kiln_mesh::Mesh;
use kiln_mesh::march::{self, Bricks, Grid};

use super::log::Log;
use super::report::MeshStage;
use super::{MeshError, Space};
use kiln_kernels::fusion::Voxels;
use kiln_twins::fusion::{contracted_distance, to_world};

/// Contracted distance that vertices keep to.
const WORLD_REACH: f64 = 1.998;

/// The level 0 of the voxels in the world.
pub(super) fn triangles(space: &Space, voxels: &Voxels, bricks: Bricks, log: &mut Log<'_>) -> Result<Mesh, MeshError> {
    let grid = match space {
        Space::Bounded { lower, voxel, .. } => Grid {
            origin: *lower,
            voxel: *voxel,
        },
        // Places first, points of the world below.
        Space::Contracted { .. } => Grid {
            origin: [0.0; 3],
            voxel: 1.0,
        },
    };
    let mesh = march::bricks(&bricks, grid, &mut log.part(MeshStage::March))?;
    drop(bricks);
    if matches!(space, Space::Bounded { .. }) {
        return Ok(mesh);
    }
    let in_world = |place: &[f32; 3]| nearest_in_world(voxels, place.map(f64::from));
    let positions = mesh.positions().iter().map(in_world).collect();
    Ok(mesh.with_positions(positions)?)
}

/// The point of the world at a place, or before the end of the world in its direction.
pub(super) fn nearest_in_world(voxels: &Voxels, q: [f64; 3]) -> [f32; 3] {
    let middle = f64::from(2.0 * voxels.radius / voxels.voxel);
    let shrink = (WORLD_REACH / contracted_distance(voxels, q)).min(1.0);
    let point = to_world(voxels, q.map(|q| middle + (q - middle) * shrink));
    point.unwrap_or(voxels.origin.map(f64::from)).map(|x| x as f32)
}
