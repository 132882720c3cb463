//! Gaussians on triangles: from the vertices to their centres and rotations, and from what pulls at them to the vertices
//! (SuGaR, Guédon and Lepetit 2024).
//!
//! A torque t on a rotation R stands for its gradient: the loss changes by t . w when R is followed by a small rotation w. All
//! Gaussians of a triangle turn with its axes, so their torques add up, and the axes follow from the corners.

use kiln_gaussians::bound::{BoundMesh, place};
use kiln_mesh::adjacency::{ALONE, TURNED};
use kiln_scene::math::{Real, Vec3, add, cross, dot, norm, quaternion, rotation, scale, sub, transpose};

/// Below this share of the first side's square, twice its area, a triangle has no plane that could turn.
const LEAST_AREA: f64 = 1e-6;

/// The axes of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<R> {
    /// Its normal.
    pub normal: Vec3<R>,
    /// Its first side, from the second corner to the first.
    pub side: Vec3<R>,
    /// Normal x side.
    pub third: Vec3<R>,
    /// Length of the first side.
    pub reach: R,
    /// The triangle has an area.
    pub sound: bool,
}

/// The axes of a triangle; some that are fixed by its first side where it has no area.
#[must_use]
pub fn frame<R: Real>([a, b, c]: [Vec3<R>; 3]) -> Frame<R> {
    let side = sub(a, b);
    let area = cross(sub(b, a), sub(c, a));
    let reach = norm(side);
    let side = match reach > R::ZERO {
        true => side.map(|x| x / reach),
        false => [R::ONE, R::ZERO, R::ZERO],
    };
    let twice = norm(area);
    let sound = reach > R::ZERO && twice > R::of(LEAST_AREA) * reach * reach;
    let normal = if sound {
        area.map(|x| x / twice)
    } else {
        let [x, y, z] = side.map(Real::abs);
        let least = match (x <= y && x <= z, y <= z) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        let axis: Vec3<R> = std::array::from_fn(|k| if k == least { R::ONE } else { R::ZERO });
        let any = cross(side, axis);
        let length = norm(any);
        any.map(|x| x / length)
    };
    Frame {
        normal,
        side,
        third: cross(normal, side),
        reach,
        sound,
    }
}

/// Centre and rotation of a Gaussian at a place of a triangle, whose other two axes are turned by a complex number.
#[must_use]
pub fn bind<R: Real>(corners: [Vec3<R>; 3], place: [R; 3], turn: [R; 2]) -> (Vec3<R>, [R; 4]) {
    let mean: Vec3<R> = std::array::from_fn(|c| (0..3).map(|k| place[k] * corners[k][c]).sum());
    let Frame {
        normal, side, third, ..
    } = frame(corners);
    let size = norm(turn);
    let [re, im] = match size > R::ZERO {
        true => turn.map(|x| x / size),
        false => [R::ONE, R::ZERO],
    };
    let columns = [
        normal,
        add(scale(side, re), scale(third, im)),
        sub(scale(third, re), scale(side, im)),
    ];
    (mean, quaternion(transpose(columns)))
}

/// What pulls at a Gaussian.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pull<R> {
    /// Gradient of the centre.
    pub force: Vec3<R>,
    /// Of the rotation.
    pub torque: Vec3<R>,
}

/// What pulls at a Gaussian, from the gradients of its centre and unit quaternion, and the gradient of its turn.
#[must_use]
pub fn pull<R: Real>(quat: [R; 4], turn: [R; 2], force: Vec3<R>, d_quat: [R; 4]) -> (Pull<R>, [R; 2]) {
    let ([w, x, y, z], [dw, dx, dy, dz]) = (quat, d_quat);
    let (v, d) = ([x, y, z], [dx, dy, dz]);
    let torque = scale(sub(add(scale(d, w), cross(v, d)), scale(v, dw)), R::of(0.5));
    let normal = rotation(quat).map(|row| row[0]);
    let by_angle = dot(torque, normal) / dot(turn, turn).max(R::of(1e-30));
    (Pull { force, torque }, [-(by_angle * turn[1]), by_angle * turn[0]])
}

/// What the Gaussians of a triangle owe to its corners, and its normal for `flatness` times its product with `others`, the sum of
/// those around it.
#[must_use]
pub fn to_corners<R: Real>(corners: [Vec3<R>; 3], pulls: &[Pull<R>], others: Vec3<R>, flatness: R) -> [Vec3<R>; 3] {
    let mut gradients = [[R::ZERO; 3]; 3];
    let mut torque = [R::ZERO; 3];
    let per_triangle = u32::try_from(pulls.len()).unwrap_or(u32::MAX);
    for (pull, slot) in pulls.iter().zip(0..) {
        torque = add(torque, pull.torque);
        for (gradient, share) in gradients.iter_mut().zip(place(per_triangle, slot)) {
            *gradient = add(*gradient, scale(pull.force, share));
        }
    }
    let f = frame(corners);
    if f.sound {
        torque = sub(torque, scale(cross(f.normal, others), flatness));
        let to_c = sub(corners[2], corners[0]);
        let height = dot(to_c, f.third);
        let foot = -(dot(to_c, f.side) / f.reach);
        let by_side = sub(
            scale(f.third, dot(torque, f.normal) / f.reach),
            scale(f.normal, dot(torque, f.third) / f.reach),
        );
        let by_lift = scale(f.normal, dot(torque, f.side) / height);
        gradients[0] = add(gradients[0], sub(by_side, scale(by_lift, R::ONE - foot)));
        gradients[1] = sub(gradients[1], add(by_side, scale(by_lift, foot)));
        gradients[2] = add(gradients[2], by_lift);
    }
    gradients
}

/// Positions of the vertices in the type of a twin.
#[must_use]
pub fn vertices_of<R: Real>(mesh: &BoundMesh) -> Vec<Vec3<R>> {
    let wide = |p: &[f32; 3]| p.map(|x| R::of(f64::from(x)));
    mesh.vertices.iter().map(wide).collect()
}

/// Sum of the normals across the edges of triangle `t`, on its own side.
fn others<R: Real>(mesh: &BoundMesh, vertices: &[Vec3<R>], t: usize) -> Vec3<R> {
    let across = mesh.adjacency.across[t].into_iter().filter(|other| *other != ALONE);
    across.fold([R::ZERO; 3], |sum, other| {
        let g = frame(mesh.triangles[(other & !TURNED) as usize].map(|v| vertices[v as usize]));
        match (g.sound, other & TURNED != 0) {
            (false, _) => sum,
            (true, false) => add(sum, g.normal),
            (true, true) => sub(sum, g.normal),
        }
    })
}

/// Gradients of the vertices: of `pulls`, in the order of the Gaussians, and of `flatness` times [`inconsistency`].
#[must_use]
pub fn vertex_gradients<R: Real>(
    mesh: &BoundMesh,
    vertices: &[Vec3<R>],
    per_triangle: u32,
    pulls: &[Pull<R>],
    flatness: R,
) -> Vec<Vec3<R>> {
    let triangles = mesh.triangles.iter().zip(pulls.chunks(per_triangle as usize));
    let by_corner: Vec<[Vec3<R>; 3]> = triangles
        .enumerate()
        .map(|(t, (triangle, pulls))| {
            let corners = triangle.map(|v| vertices[v as usize]);
            to_corners(corners, pulls, others(mesh, vertices, t), flatness)
        })
        .collect();
    let ranges = mesh.adjacency.first_corner.windows(2);
    ranges
        .map(|range| {
            let corners = &mesh.adjacency.corners[range[0] as usize..range[1] as usize];
            let of = |corner: &u32| by_corner[*corner as usize / 3][*corner as usize % 3];
            corners.iter().map(of).fold([R::ZERO; 3], add)
        })
        .collect()
}

/// Sum over the edges at which two triangles meet of 1 - the cosine between their normals.
#[must_use]
pub fn inconsistency<R: Real>(mesh: &BoundMesh, vertices: &[Vec3<R>]) -> R {
    let mut twice = R::ZERO;
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        let f = frame(triangle.map(|v| vertices[v as usize]));
        let edges = mesh.adjacency.across[t].iter().filter(|other| **other != ALONE).count();
        twice += R::of(edges as f64) - dot(f.normal, others(mesh, vertices, t));
    }
    twice * R::of(0.5)
}

#[cfg(test)]
mod tests;
