//! Colours that photos show of points on a mesh.

use super::mesh_draw::{Drawn, along, ray_of};
use kiln_kernels::mesh_draw::MeshView;
use kiln_scene::Photo;
use kiln_scene::math::{Real, Vec3, dot, norm};

/// Share by which a surface may be off where the photo is read and it still is the same surface.
const SAME: f64 = 0.02;
/// Weight of what an edge runs through.
const EDGE: f64 = 1e-3;
/// Share of the photo's shorter side over which weights fall towards the border, and the weight there.
const BORDER: f64 = 0.05;
const AT_BORDER: f64 = 0.05;

/// The normal that a code stands for; zero for none.
#[must_use]
pub fn normal_of<R: Real>(code: u32) -> Vec3<R> {
    if code == u32::MAX {
        return [R::ZERO; 3];
    }
    let [mut x, mut y] = [code & 0xffff, code >> 16].map(|v| f64::from(v) / 32767.0 - 1.0);
    let z = 1.0 - x.abs() - y.abs();
    let under = (-z).max(0.0);
    x += if x >= 0.0 { -under } else { under };
    y += if y >= 0.0 { -under } else { under };
    let length = (x * x + y * y + z * z).sqrt();
    [x, y, z].map(|v| R::of(v / length))
}

/// What a photo adds to the sums of a point: its colour by its weight, and that; `None` when it does not see the point.
///
/// `drawn` holds the depths of the whole picture, a sample a pixel.
#[must_use]
pub fn gather<R: Real>(
    view: &MeshView,
    (position, normal): ([f32; 3], u32),
    photo: &Photo,
    drawn: &Drawn<R>,
) -> Option<[R; 4]> {
    let p = super::mesh_draw::to_camera::<R>(view, position);
    if p[2] <= R::ZERO {
        return None;
    }
    let rays = view.rays.map(|x| R::of(f64::from(x)));
    let half = R::of(0.5);
    let at = [0, 1].map(|i| (p[i] / p[2] - rays[i + 2]) / rays[i] - half);
    let most = [view.width - 1, view.height - 1].map(f64::from);
    if (0..2).any(|i| at[i] < R::ZERO || at[i] > R::of(most[i])) {
        return None;
    }
    let world = normal_of::<R>(normal);
    let n: Vec3<R> = [view.row0, view.row1, view.row2].map(|row| {
        let [a, b, c, _] = row.map(|x| R::of(f64::from(x)));
        dot([a, b, c], world)
    });
    let facing = dot(n, p);
    let has_plane = world != [R::ZERO; 3];
    let cosine = if has_plane { facing.abs() / norm(p) } else { R::ONE };
    if cosine < R::of(0.05) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "inside the picture"
    )]
    let low = [0, 1].map(|i| at[i].floor().to_f64().min((most[i] - 1.0).max(0.0)) as u32);
    let share = [0, 1].map(|i| at[i] - R::of(f64::from(low[i])));
    let slack = R::of(f64::from(view.background[3])) + rays[0].max(rays[1]);
    let (mut color, mut is_edge) = ([R::ZERO; 3], false);
    for step in [[0, 0], [1, 0], [0, 1], [1, 1]] {
        let q: [u32; 2] = std::array::from_fn(|i| (low[i] + step[i]).min([view.width, view.height][i] - 1));
        let side = |i: usize| if step[i] == 1 { share[i] } else { R::ONE - share[i] };
        let weight = side(0) * side(1);
        let pixel = (q[1] * view.width + q[0]) as usize;
        if weight > R::ZERO && photo.mask().is_some_and(|mask| mask[pixel] < 128) {
            return None;
        }
        let plane = match has_plane {
            true => along(n, ray_of(view, q)) / facing,
            false => R::ONE / p[2],
        };
        let off = drawn.inverse[pixel] / plane - R::ONE;
        let is_nearest = (0..2).all(|i| (at[i] - R::of(f64::from(q[i]))).abs() <= half);
        if is_nearest && off > slack {
            return None;
        }
        is_edge |= weight > R::ZERO && off.abs() > R::of(SAME);
        for (channel, value) in color.iter_mut().enumerate() {
            *value += weight * R::of(f64::from(photo[3 * pixel + channel]) / 255.0);
        }
    }
    let border = R::of(BORDER * (1.0 + most[0].min(most[1])));
    let inside = [0, 1].map(|i| at[i].min(R::of(most[i]) - at[i]) / border);
    let inside = inside[0].min(inside[1]).min(R::ONE).max(R::of(AT_BORDER));
    let weight = cosine * cosine / (p[2] * p[2]) * inside * if is_edge { R::of(EDGE) } else { R::ONE };
    Some([color[0] * weight, color[1] * weight, color[2] * weight, weight])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use kiln_kernels::mesh_gather::normal_code;

    #[test]
    fn codes_of_normals_are_near_and_say_none() {
        for id in 0..2000 {
            let raw: [f64; 3] = std::array::from_fn(|i| normal(7, 1, id, i as u32));
            let length = norm(raw);
            let unit = raw.map(|x| x / length);
            #[expect(clippy::cast_possible_truncation, reason = "normals are f32")]
            let back: Vec3<f64> = normal_of(normal_code(unit.map(|x| x as f32)));
            assert!(dot(unit, back) > 1.0 - 1e-8, "{unit:?} {back:?}");
        }
        for axis in [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]] {
            let back: Vec3<f64> = normal_of(normal_code(axis));
            assert!(dot(axis.map(f64::from), back) > 1.0 - 1e-8, "{axis:?} {back:?}");
        }
        assert_eq!(normal_of::<f32>(normal_code([0.0; 3])), [0.0; 3]);
    }
}
