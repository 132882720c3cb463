//! Drawing of triangles into samples: every triangle against every sample of the strip.

use kiln_kernels::mesh_draw::{MeshView, NOTHING};
use kiln_scene::math::{Real, Vec3, cross, scale, sub};

/// What samples of a strip show, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<R> {
    /// Inverse depths; 0 where there is nothing.
    pub inverse: Vec<R>,
    /// The lowest triangle that has it; `u32::MAX` where there is nothing.
    pub ids: Vec<u32>,
}

/// A triangle in the camera's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet<R> {
    /// Planes through the camera and the edges opposite the corners.
    edges: [Vec3<R>; 3],
    /// Its product with a ray is the inverse depth there.
    pub(super) inverse: Vec3<R>,
    /// Least and largest inverse depth of the corners.
    range: [R; 2],
}

/// A place in the camera's frame.
pub(super) fn to_camera<R: Real>(view: &MeshView, p: [f32; 3]) -> Vec3<R> {
    let p = p.map(|x| R::of(f64::from(x)));
    [view.row0, view.row1, view.row2].map(|row| {
        let [a, b, c, t] = row.map(|x| R::of(f64::from(x)));
        a * p[0] + b * p[1] + c * p[2] + t
    })
}

/// Slopes of the ray through the middle of a sample of the picture.
pub(super) fn ray_of<R: Real>(view: &MeshView, at: [u32; 2]) -> [R; 2] {
    let [step_x, step_y, x, y] = view.rays.map(|v| R::of(f64::from(v)));
    let middle = |at: u32| R::of(f64::from(at) + 0.5);
    [middle(at[0]) * step_x + x, middle(at[1]) * step_y + y]
}

/// Product of a vector with the ray of these slopes.
pub(super) fn along<R: Real>(n: Vec3<R>, ray: [R; 2]) -> R {
    n[0] * ray[0] + n[1] * ray[1] + n[2]
}

/// The plane through the camera and an edge; of two triangles at the edge, one gets the other's with all signs changed.
fn edge_plane<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    let turned = (0..3).find(|&i| a[i] != b[i]).is_some_and(|i| b[i] < a[i]);
    let (from, to) = if turned { (b, a) } else { (a, b) };
    let n = cross(from, sub(to, from));
    if turned { n.map(|x| -x) } else { n }
}

impl<R: Real> Facet<R> {
    /// The triangle; `None` when all of it is behind the camera, or it has no area there.
    pub(super) fn new(v: [Vec3<R>; 3]) -> Option<Self> {
        let n = cross(sub(v[1], v[0]), sub(v[2], v[0]));
        let volume = v[0][0] * n[0] + v[0][1] * n[1] + v[0][2] * n[2];
        let inverse = n.map(|x| x / volume);
        let is_number = inverse.iter().all(|x| x.abs() < R::of(1e30));
        let nearest = v[0][2].min(v[1][2].min(v[2][2]));
        let farthest = v[0][2].max(v[1][2].max(v[2][2]));
        if volume == R::ZERO || !is_number || farthest <= R::ZERO {
            return None;
        }
        let most = if nearest > R::ZERO {
            R::ONE / nearest
        } else {
            R::of(1e30)
        };
        Some(Self {
            edges: [edge_plane(v[1], v[2]), edge_plane(v[2], v[0]), edge_plane(v[0], v[1])],
            inverse,
            range: [R::ONE / farthest, most],
        })
    }

    /// Inverse depth where a ray meets it.
    fn meet(&self, ray: [R; 2]) -> Option<R> {
        let e = self.edges.map(|n| along(n, ray));
        let inside = e.iter().all(|x| *x >= R::ZERO) || e.iter().all(|x| *x <= R::ZERO);
        let inverse = along(self.inverse, ray);
        let [least, most] = self.range;
        (inside && inverse > R::ZERO).then(|| inverse.max(least).min(most))
    }

    /// Barycentric coordinates where a ray meets it.
    pub(super) fn shares(&self, ray: [R; 2]) -> [R; 3] {
        let e = self.edges.map(|n| along(n, ray));
        let sum = e[0] + e[1] + e[2];
        match sum == R::ZERO {
            true => [R::of(1.0 / 3.0); 3],
            false => scale(e, R::ONE / sum),
        }
    }
}

/// Draws triangles of `positions` into the samples of a strip.
#[must_use]
pub fn draw<R: Real>(view: &MeshView, positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Drawn<R> {
    let width = view.width * view.samples;
    let first = view.first_row * view.samples;
    let count = (width * view.rows * view.samples) as usize;
    let mut drawn = Drawn {
        inverse: vec![R::ZERO; count],
        ids: vec![NOTHING[1]; count],
    };
    for (id, corners) in (0..).zip(triangles) {
        let Some(facet) = Facet::new(corners.map(|v| to_camera(view, positions[v as usize]))) else {
            continue;
        };
        for (at, (nearest, owner)) in (0..).zip(drawn.inverse.iter_mut().zip(&mut drawn.ids)) {
            // Lower triangles came first and stay where depths are equal.
            if let Some(inverse) = facet.meet(ray_of(view, [at % width, first + at / width]))
                && inverse > *nearest
            {
                (*nearest, *owner) = (inverse, id);
            }
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scene::Camera;

    fn camera() -> Camera {
        Camera {
            width_px: 24,
            height_px: 16,
            fx: 20.0,
            fy: 21.0,
            cx: 12.3,
            cy: 7.9,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        }
    }

    fn view() -> MeshView {
        MeshView::strip(&camera(), 2, [0, 16], [0.0; 3])
    }

    #[test]
    fn depth_is_that_of_the_plane_and_no_sample_between_triangles_is_free() {
        // A tilted square of four triangles around a point off its middle.
        let z = |x: f32, y: f32| 3.0 + 0.4 * x - 0.3 * y;
        let at = |x: f32, y: f32| [x, y, z(x, y)];
        let positions = [
            at(-1.0, -0.8),
            at(1.1, -0.9),
            at(1.0, 0.9),
            at(-0.9, 1.0),
            at(0.17, -0.11),
        ];
        let triangles = [[0, 1, 4], [1, 2, 4], [3, 2, 4], [3, 0, 4]];
        let drawn = draw::<f64>(&view(), &positions, &triangles);
        let whole = draw::<f64>(&view(), &positions, &[[0, 1, 2], [0, 2, 3]]);
        let (mut inside, width) = (0, 48);
        for (at, (a, b)) in (0..).zip(drawn.inverse.iter().zip(&whole.inverse)) {
            assert_eq!(*a > 0.0, *b > 0.0, "sample {at}");
            if *a > 0.0 {
                inside += 1;
                let [x, y]: [f64; 2] = ray_of(&view(), [at % width, at / width]);
                let exact = (1.0 - 0.4 * x + 0.3 * y) / 3.0;
                assert!((a - exact).abs() < 1e-6 && (b - exact).abs() < 1e-6, "{a} {exact}");
            }
        }
        assert!(inside > 300, "{inside}");
        assert!((0..4).all(|id| drawn.ids.contains(&id)));
    }

    #[test]
    fn shares_are_right_in_perspective() {
        let corners = [[-0.5, -0.4, 1.0], [2.0, -1.0, 4.0], [0.3, 1.4, 2.5]];
        let facet = Facet::<f64>::new(corners).unwrap();
        let wanted = [0.2, 0.5, 0.3];
        let p: Vec3<f64> = std::array::from_fn(|i| (0..3).map(|k| wanted[k] * corners[k][i]).sum());
        let found = facet.shares([p[0] / p[2], p[1] / p[2]]);
        assert!(
            found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
        let inverse = along(facet.inverse, [p[0] / p[2], p[1] / p[2]]);
        assert!((inverse - 1.0 / p[2]).abs() < 1e-12);
    }

    #[test]
    fn a_floor_under_the_camera_is_drawn_as_far_as_it_is_seen() {
        // One triangle from far behind the camera to far before it.
        let positions = [[-50.0, 1.0, -60.0], [50.0, 1.0, -60.0], [0.0, 1.0, 90.0]];
        let drawn = draw::<f64>(&view(), &positions, &[[0, 1, 2]]);
        for (at, inverse) in (0..).zip(&drawn.inverse) {
            let [_, slope]: [f64; 2] = ray_of(&view(), [at % 48, at / 48]);
            // Of what is below the horizon the far part is beside the triangle.
            match slope {
                slope if slope <= 0.0 => assert_eq!(*inverse, 0.0),
                slope if slope > 0.05 => assert!((inverse - slope).abs() < 1e-9, "{inverse} {slope}"),
                _ => {}
            }
        }
        let behind = positions.map(|[x, y, z]| [x, y, -z.abs()]);
        assert!(
            draw::<f64>(&view(), &behind, &[[0, 1, 2]])
                .ids
                .iter()
                .all(|id| *id == u32::MAX)
        );
    }

    #[test]
    fn of_equal_triangles_the_first_shows_and_of_others_the_nearest() {
        let near = [[-1.0, -1.0, 2.0], [1.0, -1.0, 2.0], [0.0, 1.0, 2.0]];
        let far = near.map(|[x, y, _]| [2.0 * x, 2.0 * y, 3.0]);
        let positions: Vec<[f32; 3]> = far.into_iter().chain(near).collect();
        let drawn = draw::<f32>(&view(), &positions, &[[0, 1, 2], [3, 4, 5], [4, 5, 3], [0, 0, 1]]);
        assert!(drawn.ids.contains(&0) && drawn.ids.contains(&1) && !drawn.ids.contains(&2));
        assert!(!drawn.ids.contains(&3), "a triangle without an area");
        for (inverse, id) in drawn.inverse.iter().zip(&drawn.ids) {
            let depth = match id {
                0 => 3.0,
                1 => 2.0,
                _ => continue,
            };
            assert!((inverse * depth - 1.0).abs() < 1e-5, "{id} {inverse}");
        }
    }
}
