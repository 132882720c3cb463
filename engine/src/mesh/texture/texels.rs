//! Which triangle a texel shows, and where on it.

use kiln_mesh::Mesh;

use kiln_kernels::mesh_gather::normal_code;
use kiln_scene::math::{Vec3, cross, sub};

/// No triangle.
pub(super) const NONE: u32 = u32::MAX;
/// Texels outside of a triangle that take part in it: what is read between the middles of texels at its border.
const RIM: f32 = 1.0;

type Vec2 = [f32; 2];

/// The triangle of each texel of a square picture, row by row; [`NONE`] for gaps.
///
/// A texel belongs to the triangle that its middle lies in, else to the nearest one that is at most a texel away; of several,
/// to the first.
pub(super) fn owners(uvs: &[[Vec2; 3]], side: u32) -> Vec<u32> {
    let count = side as usize * side as usize;
    let (mut owners, mut nearest) = (vec![NONE; count], vec![f32::INFINITY; count]);
    for (id, uv) in (0..).zip(uvs) {
        let corners = uv.map(|p| p.map(|x| x * side as f32));
        let range = |axis: usize| {
            let values = corners.map(|p| p[axis]);
            let low = values.into_iter().fold(f32::INFINITY, f32::min) - RIM - 0.5;
            let high = values.into_iter().fold(f32::NEG_INFINITY, f32::max) + RIM - 0.5;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to the picture"
            )]
            let range = low.ceil().max(0.0) as u32..(high.floor() + 1.0).clamp(0.0, side as f32) as u32;
            range
        };
        for y in range(1) {
            for x in range(0) {
                let distance = distance(corners, [x as f32 + 0.5, y as f32 + 0.5]);
                let at = y as usize * side as usize + x as usize;
                if let (Some(owner), Some(nearest)) = (owners.get_mut(at), nearest.get_mut(at))
                    && distance <= RIM
                    && distance < *nearest
                {
                    (*owner, *nearest) = (id, distance);
                }
            }
        }
    }
    owners
}

fn turn(a: Vec2, b: Vec2) -> f32 {
    a[0] * b[1] - a[1] * b[0]
}

/// Distance of a place from a triangle; 0 inside.
fn distance([a, b, c]: [Vec2; 3], p: Vec2) -> f32 {
    let sides = [[a, b], [b, c], [c, a]];
    let turns = sides.map(|[a, b]| turn(sub(b, a), sub(p, a)));
    let has_area = turn(sub(b, a), sub(c, a)) != 0.0;
    if has_area && (turns.iter().all(|t| *t >= 0.0) || turns.iter().all(|t| *t <= 0.0)) {
        return 0.0;
    }
    let to_side = |[a, b]: [Vec2; 2]| {
        let (along, from) = (sub(b, a), sub(p, a));
        let squared = along[0] * along[0] + along[1] * along[1];
        let t = match squared > 0.0 {
            true => ((along[0] * from[0] + along[1] * from[1]) / squared).clamp(0.0, 1.0),
            false => 0.0,
        };
        (from[0] - t * along[0]).hypot(from[1] - t * along[1])
    };
    sides.map(to_side).into_iter().fold(f32::INFINITY, f32::min)
}

/// Where a texel's middle is on the plane of its triangle, position bits and the code of the triangle's normal.
pub(super) fn point(mesh: &Mesh, triangle: u32, [x, y]: [u32; 2], side: u32) -> [u32; 4] {
    let at = triangle as usize;
    let (Some(corners), Some(uv)) = (mesh.triangles().get(at), mesh.uvs().and_then(|uvs| uvs.get(at))) else {
        return [0; 4];
    };
    let [a, b, c] = corners.map(|v| mesh.positions().get(v as usize).copied().unwrap_or_default());
    let [ua, ub, uc] = uv.map(|p| p.map(|x| x * side as f32));
    let (eb, ec) = (sub(ub, ua), sub(uc, ua));
    let from = sub([x as f32 + 0.5, y as f32 + 0.5], ua);
    let area = turn(eb, ec);
    let (s, t) = match area.abs() > 1e-6 {
        true => (turn(from, ec) / area, turn(eb, from) / area),
        // Smaller than any texel: its middle stands for all of it.
        false => (1.0 / 3.0, 1.0 / 3.0),
    };
    let (db, dc) = (sub(b, a), sub(c, a));
    let p: Vec3<f32> = std::array::from_fn(|i| a[i] + s * db[i] + t * dc[i]);
    let normal = cross(db.map(f64::from), dc.map(f64::from));
    let longest = normal.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    #[expect(clippy::cast_possible_truncation, reason = "shares of the longest")]
    let code = match longest > 0.0 {
        true => normal_code(normal.map(|x| (x / longest) as f32)),
        false => u32::MAX,
    };
    [p[0].to_bits(), p[1].to_bits(), p[2].to_bits(), code]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn texels_belong_to_what_they_lie_in_and_the_rim_to_the_nearest() {
        // Two triangles with a gap, in texels of a picture of 16.
        let texels = |p: [[f32; 2]; 3]| p.map(|p| p.map(|x| x / 16.0));
        let uvs = [
            texels([[2.0, 2.0], [8.0, 2.0], [2.0, 8.0]]),
            texels([[8.0, 3.0], [8.0, 8.0], [3.0, 8.0]]),
        ];
        let owners = owners(&uvs, 16);
        let at = |x: usize, y: usize| owners[y * 16 + x];
        assert_eq!((at(2, 2), at(4, 4), at(7, 7), at(6, 6)), (0, 0, 1, 1));
        // A texel out, and two.
        assert_eq!((at(1, 4), at(0, 4), at(8, 6), at(9, 6)), (0, NONE, 1, NONE));
        assert_eq!(at(15, 15), NONE);
        let count = |id: u32| owners.iter().filter(|owner| **owner == id).count();
        assert!(
            (18..40).contains(&count(0)) && (12..40).contains(&count(1)),
            "{} {}",
            count(0),
            count(1)
        );
    }

    #[test]
    fn places_are_affine_in_texels() {
        let mesh = Mesh::new(vec![[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 2.0, 3.0]], vec![[0, 1, 2]]).unwrap();
        let mesh = mesh.with_uvs(vec![[[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]]).unwrap();
        let [x, y, z, code] = point(&mesh, 0, [1, 2], 8);
        let found = [x, y, z].map(f32::from_bits);
        let (s, t) = (1.5 / 4.0, 2.5 / 4.0);
        let wanted = [4.0 * s, 2.0 * t, 1.0 + 2.0 * t];
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        let normal: Vec3<f64> = kiln_twins::mesh_gather::normal_of(code);
        assert!(
            (normal[2] - 0.5_f64.sqrt()).abs() < 1e-4 && normal[0].abs() < 1e-4,
            "{normal:?}"
        );
        let flat = mesh.with_uvs(vec![[[0.5; 2]; 3]]).unwrap();
        let [x, ..] = point(&flat, 0, [1, 2], 8);
        assert!((f32::from_bits(x) - 4.0 / 3.0).abs() < 1e-6);
    }
}
