//! How finely photos show the parts of a mesh.

use std::thread;

use kiln_mesh::Mesh;

use crate::math::{cross, dot, sub};
use crate::scene::Camera;

/// Cosine of the angle at which a photo still shows a surface well.
const LEAST_COSINE: f32 = 0.2;
/// Most threads.
const MOST_THREADS: usize = 16;

/// Pixels along a world unit of each triangle in the photo that shows it largest, whatever stands before it; for triangles that no
/// photo looks at the least of all.
pub(in crate::mesh) fn densities(mesh: &Mesh, cameras: &[Camera]) -> Vec<f32> {
    let triangles = mesh.triangles();
    let mut found = vec![0.0; triangles.len()];
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let share = triangles.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (found, triangles) in found.chunks_mut(share).zip(triangles.chunks(share)) {
            scope.spawn(move || {
                for (found, triangle) in found.iter_mut().zip(triangles) {
                    let corners = triangle.map(|v| mesh.positions().get(v as usize).copied().unwrap_or_default());
                    *found = density(corners, cameras);
                }
            });
        }
    });
    let shown = found.iter().copied().filter(|density| *density > 0.0);
    let least = shown.reduce(f32::min).unwrap_or(1.0);
    found.into_iter().map(|density| density.max(least)).collect()
}

fn density([a, b, c]: [[f32; 3]; 3], cameras: &[Camera]) -> f32 {
    let normal = cross(sub(b, a), sub(c, a));
    let size = dot(normal, normal).sqrt();
    let middle: [f32; 3] = std::array::from_fn(|i| (a[i] + b[i] + c[i]) / 3.0);
    let of = |camera: &Camera| {
        let [_, _, depth] = camera.sees(middle)?;
        let to = sub(camera.position(), middle);
        let faces = dot(normal, to) > LEAST_COSINE * size * dot(to, to).sqrt();
        faces.then_some(camera.fx / depth)
    };
    cameras.iter().filter_map(of).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn near_photos_decide_and_what_none_shows_is_worth_the_least() {
        let camera = |z: f32| Camera {
            width_px: 40,
            height_px: 40,
            fx: 50.0,
            fy: 50.0,
            cx: 20.0,
            cy: 20.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]],
            translation: [0.0, 0.0, z],
        };
        let corners = [[0.0; 3], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]];
        let far = corners.map(|p| [p[0], p[1], p[2] - 8.0]);
        let beside = corners.map(|p| [p[0] + 90.0, p[1], p[2]]);
        let positions = [corners, far, beside].concat();
        // Two that are looked at, one that shows its back, one that lies beside all pictures.
        let mesh = Mesh::new(positions, vec![[0, 1, 2], [3, 4, 5], [0, 2, 1], [6, 7, 8]]).unwrap();
        let found = densities(&mesh, &[camera(2.0), camera(5.0)]);
        assert_eq!(found, [25.0, 5.0, 5.0, 5.0]);
        assert_eq!(densities(&mesh, &[]), [1.0; 4]);
    }
}
