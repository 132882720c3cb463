//! The mesh that Gaussians are bound to, on the device: the way there and back.

use super::StepTensors;
use kiln_gaussians::bound::{Binding, BoundMesh};
use kiln_gaussians::layout::PLANE_TURN;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_kernels::bound::MeshIo;
use kiln_program::{Program, Span};

/// What of a mesh outlasts a step, with names: positions and both moments of the vertices, and who meets whom.
#[must_use]
pub fn mesh_state(mesh: &MeshIo) -> [(&'static str, Span); 7] {
    let Binding {
        vertices, triangles, ..
    } = mesh.binding;
    let (v, t) = (u64::from(vertices), u64::from(triangles));
    // Without what tensors are rounded up by.
    [
        ("mesh.vertices", mesh.vertices.slice(0, 12 * v)),
        ("mesh.vertices_m", mesh.vertices_m.slice(0, 12 * v)),
        ("mesh.vertices_v", mesh.vertices_v.slice(0, 12 * v)),
        ("mesh.triangles", mesh.triangles.slice(0, 12 * t)),
        ("mesh.across", mesh.across.slice(0, 12 * t)),
        ("mesh.first_corner", mesh.first_corner.slice(0, 4 * (v + 1))),
        ("mesh.corners", mesh.corners.slice(0, 12 * t)),
    ]
}

/// Writes the mesh that the model is bound to, with zero moments and no turn of any Gaussian; the model is written before.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when the plan is for no mesh, or for one of other sizes.
pub fn write_mesh(gpu: &mut Gpu, t: &StepTensors, mesh: &BoundMesh) -> Result<(), MemoryError> {
    let other = || MemoryError::OutOfRange {
        tensor: "mesh".to_owned(),
        offset: 0,
        bytes: 12 * mesh.triangles.len() as u64,
    };
    let io = t.bound.as_ref().ok_or_else(other)?;
    let sizes = [mesh.vertices.len(), mesh.triangles.len()];
    if sizes != [io.binding.vertices, io.binding.triangles].map(|n| n as usize) {
        return Err(other());
    }
    let mut program = Program::new("clear mesh");
    program.fill(io.vertices_m, 0);
    program.fill(io.vertices_v, 0);
    for chunk in &t.chunks {
        let plane = 4 * u64::from(chunk.stride);
        let turn = |p: u32| chunk.geometry.slice(plane * u64::from(PLANE_TURN + p), plane);
        program.fill(turn(0), 1.0_f32.to_bits());
        program.fill(turn(1), 0);
    }
    gpu.run(&program)?;
    gpu.write(&io.vertices, mesh.vertices.as_flattened())?;
    gpu.write(&io.triangles, mesh.triangles.as_flattened())?;
    gpu.write(&io.across, mesh.adjacency.across.as_flattened())?;
    gpu.write(&io.first_corner, &mesh.adjacency.first_corner)?;
    gpu.write(&io.corners, &mesh.adjacency.corners)
}

/// Vertices of a mesh, and its triangles.
pub type Surface = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// Reads vertices and triangles of the mesh; none where Gaussians are free.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_vertices(gpu: &mut Gpu, t: &StepTensors) -> Result<Option<Surface>, MemoryError> {
    let Some(io) = &t.bound else {
        return Ok(None);
    };
    let vertices = gpu.read(&io.vertices, io.binding.vertices as usize)?;
    let triangles = gpu.read(&io.triangles, io.binding.triangles as usize)?;
    Ok(Some((vertices, triangles)))
}
