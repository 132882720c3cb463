//! The mesh that a model is bound to, as its run leaves it beside the model.

use std::path::Path;

use kiln_mesh::Mesh;

use super::files::write;
use super::{DrawnError, MeshError, MeshFile};
use crate::record::run_folder::BOUND_MESH;
use kiln_config::MeshFormat;
use kiln_gaussians::Gaussians;
use kiln_gaussians::bound::place;
use kiln_gaussians::init::SH_C0;

/// Writes a mesh of these vertices, which are relative to `origin`, and triangles with the colours of the Gaussians on it, `per_triangle` on each.
///
/// # Errors
/// [`MeshError::Export`] when the file cannot be written.
pub(crate) fn write_bound(
    path: &Path,
    (vertices, triangles): (Vec<[f32; 3]>, Vec<[u32; 3]>),
    per_triangle: u32,
    model: &Gaussians,
    origin: [f64; 3],
) -> Result<(), MeshError> {
    let colors = colors(vertices.len(), &triangles, per_triangle, model);
    let mesh = Mesh::new(vertices, triangles)?.with_colors(colors)?.with_own_normals();
    let mesh = mesh.with_origin(origin);
    write(&mesh, MeshFormat::Ply, path)
}

/// The mesh beside the model in `source`.
///
/// # Errors
/// [`MeshError::NotBound`] where there is none, or one that cannot be read.
pub(super) fn read_bound(source: &Path) -> Result<Mesh, MeshError> {
    let path = source.with_file_name(BOUND_MESH);
    let read = MeshFile::read(&path).map_err(|error: DrawnError| MeshError::NotBound {
        model: source.to_owned(),
        why: error.to_string(),
    })?;
    Ok(read.mesh)
}

/// Colours of the vertices: the mean of the constant colours of the Gaussians around them, by their places.
fn colors(vertices: usize, triangles: &[[u32; 3]], per_triangle: u32, model: &Gaussians) -> Vec<[f32; 3]> {
    let mut sums = vec![[0.0_f32; 4]; vertices];
    let gaussians = model.sh0.chunks(per_triangle.max(1) as usize);
    for (triangle, colors) in triangles.iter().zip(gaussians) {
        for (color, slot) in colors.iter().zip(0..) {
            for (&vertex, share) in triangle.iter().zip(place::<f32>(per_triangle, slot)) {
                if let Some(sum) = sums.get_mut(vertex as usize) {
                    let [r, g, b] = color.map(|value| share * value);
                    *sum = [sum[0] + r, sum[1] + g, sum[2] + b, sum[3] + share];
                }
            }
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a constant")]
    let unit = SH_C0 as f32;
    let color =
        |[r, g, b, weight]: [f32; 4]| [r, g, b].map(|sum| (0.5 + unit * sum / weight.max(1e-20)).clamp(0.0, 1.0));
    sums.into_iter().map(color).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn vertices_have_the_colours_of_the_gaussians_around_them() {
        #[expect(clippy::cast_possible_truncation, reason = "a constant")]
        let sh0 = |color: [f32; 3]| color.map(|value| (value - 0.5) / SH_C0 as f32);
        let model = Gaussians {
            sh0: vec![sh0([1.0, 0.0, 0.5]), sh0([0.0, 0.5, 0.5])],
            ..Gaussians::default()
        };
        let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
        let scratch = Scratch::new();
        let path = scratch.path().join(BOUND_MESH);
        write_bound(
            &path,
            (corners.clone(), vec![[0, 1, 2], [2, 1, 3]]),
            1,
            &model,
            [0.0; 3],
        )
        .unwrap();
        let read = read_bound(&scratch.path().join("point_cloud.ply")).unwrap();
        assert_eq!((read.positions(), read.triangles().len()), (&corners[..], 2));
        let wanted = [[1.0, 0.0, 0.5], [0.5, 0.25, 0.5], [0.5, 0.25, 0.5], [0.0, 0.5, 0.5]];
        for (found, wanted) in read.colors().unwrap().iter().zip(wanted) {
            assert!(
                (0..3).all(|c| (found[c] - wanted[c]).abs() < 0.01),
                "{found:?} {wanted:?}"
            );
        }
        let error = read_bound(&scratch.path().join("elsewhere/model.ply"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is bound to no mesh"), "{error}");
    }
}
