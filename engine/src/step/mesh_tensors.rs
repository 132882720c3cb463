//! Tensors of the mesh that Gaussians are bound to.

use kiln_gaussians::bound::Binding;
use kiln_kernels::bound::MeshIo;
use kiln_program::{Class, Tag, TensorTable};

/// Adds the tensors of a mesh to `table`.
pub(super) fn tensors(table: &mut TensorTable, binding: Binding) -> MeshIo {
    // A tensor has at least a word.
    let (v, t) = (u64::from(binding.vertices.max(1)), u64::from(binding.triangles.max(1)));
    let mut keep = |name: &str, tag, bytes: u64| table.add(format!("mesh/{name}"), Class::Persistent, tag, bytes);
    let [vertices, vertices_m, vertices_v] = [
        ("vertices", Tag::Parameters),
        ("vertices_m", Tag::Optimizer),
        ("vertices_v", Tag::Optimizer),
    ]
    .map(|(name, tag)| keep(name, tag, 12 * v));
    let [triangles, across, corners] = ["triangles", "across", "corners"].map(|name| keep(name, Tag::Other, 12 * t));
    let first_corner = keep("first_corner", Tag::Other, 4 * (v + 1));
    let gradients = ["a", "b", "c"].map(|corner| {
        let name = format!("mesh/gradient_{corner}");
        table.add_rows(name, Class::Arena, Tag::Gradients, t, 12)
    });
    MeshIo {
        binding,
        vertices,
        vertices_m,
        vertices_v,
        triangles,
        across,
        first_corner,
        corners,
        gradients,
    }
}
