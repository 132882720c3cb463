//! Fewer triangles for nearly the same surface.

use kiln_mesh::{Mesh, decimate};

use super::MeshError;
use super::files::holds_picture;
use super::log::Log;
use super::marching::nearest_in_world;
use super::report::MeshStage;
use kiln_config::{MeshMethod, TextureKind};
use kiln_kernels::fusion::Voxels;
use kiln_twins::fusion::to_grid;

/// Texels of a picture in charts for each triangle, at least; with fewer, seams and gutters are all that it holds.
const TEXELS_PER_TRIANGLE: u64 = 64;

/// What a picture in charts has room for, where no number of triangles is set.
fn for_picture(options: &kiln_config::Mesh, mesh: &Mesh) -> Option<decimate::Target> {
    let is_in_charts = options.texture.kind == TextureKind::Charts && options.formats.iter().any(holds_picture);
    let most = (u64::from(options.texels()).pow(2) / TEXELS_PER_TRIANGLE).max(1);
    (is_in_charts && mesh.triangles().len() as u64 > most).then_some(decimate::Target::Triangles(most))
}

/// The mesh with as few triangles as `options` ask for, and the largest error of that.
pub(super) fn decimated(
    options: &kiln_config::Mesh,
    voxels: &Voxels,
    mesh: Mesh,
    log: &mut Log<'_>,
) -> Result<(Mesh, Option<f32>), MeshError> {
    let target = options.decimate.and_then(|target| {
        let triangles = target.triangles.map(|n| decimate::Target::Triangles(n.into()));
        let vertices = target.vertices.map(|n| decimate::Target::Vertices(n.into()));
        let error = target.error.map(|error| decimate::Target::Error(error * voxels.voxel));
        triangles.or(vertices).or(error)
    });
    // The triangles of a bound mesh are those of its Gaussians: fewer only where that is set.
    let by_itself = || for_picture(options, &mesh).filter(|_| options.method != MeshMethod::Bound);
    let Some(target) = target.or_else(by_itself) else {
        return Ok((mesh, None));
    };
    let needed_bytes = decimate::host_bytes(mesh.positions().len() as u64, mesh.triangles().len() as u64);
    if let Some(available_bytes) = kiln_system::available_bytes().filter(|available| needed_bytes > *available) {
        return Err(MeshError::Decimation {
            triangles: mesh.triangles().len() as u64,
            needed_bytes,
            available_bytes,
        });
    }
    // In contracted space what is far may be off by more: there errors count in voxels, which grow with the distance.
    let is_contracted = voxels.radius > 0.0;
    let place = |mesh: Mesh, to: &dyn Fn([f32; 3]) -> [f32; 3]| {
        let positions = mesh.positions().iter().map(|p| to(*p)).collect();
        mesh.with_positions(positions)
    };
    let mesh = match is_contracted {
        true => place(mesh, &|p| {
            to_grid(voxels, p.map(f64::from)).map(|q| q as f32 * voxels.voxel)
        })?,
        false => mesh,
    };
    let (mesh, done) = decimate::decimate(mesh, target, &mut log.part(MeshStage::Decimate))?;
    let mesh = match is_contracted {
        true => place(mesh, &|q| {
            nearest_in_world(voxels, q.map(|q| f64::from(q / voxels.voxel)))
        })?,
        false => mesh,
    };
    log.end(MeshStage::Decimate, Some(&mesh))?;
    Ok((mesh, Some(done.error)))
}
