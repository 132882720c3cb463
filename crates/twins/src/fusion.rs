//! Voxels in the world, and the depth of views in them.
//!
//! Bounded space has a corner and equal voxels: q = (x - corner) / h. Contracted space has a ball of radius R around f: with
//! y = (x - f) / R, places outside of it go to (2 - 1/|y|) y / |y| (Barron et al. 2022, eq. 10), and q = (y + 2) R / h. A voxel
//! keeps the running mean of the distance to the surface along the viewing axis over the truncation, at most 1 (Curless and
//! Levoy 1996).

use super::gaussian::View;
use kiln_kernels::fusion::{SIDE, Voxels};
use kiln_scene::math::{Real, Vec3, add, mat_vec, norm, scale, sub, transpose};

/// Contracted distance from the centre at which the world ends: a thousand radii.
const WORLD_END: f64 = 1.999;
/// Voxels around a sample whose bricks are marked.
const MARGIN: f64 = 2.0;
/// Steps of a stored distance in 1.
const UNIT: f64 = 32767.0;

fn origin<R: Real>(v: &Voxels) -> Vec3<R> {
    v.origin.map(|x| R::of(x.into()))
}

/// Place in voxels of a point of the world.
#[must_use]
pub fn to_grid<R: Real>(v: &Voxels, x: Vec3<R>) -> Vec3<R> {
    let (voxel, radius) = (R::of(v.voxel.into()), R::of(v.radius.into()));
    let from = sub(x, origin(v));
    if radius == R::ZERO {
        return scale(from, R::ONE / voxel);
    }
    let y = scale(from, R::ONE / radius);
    let distance = norm(y);
    let y = if distance > R::ONE {
        scale(y, (R::of(2.0) - R::ONE / distance) / distance)
    } else {
        y
    };
    y.map(|y| (y + R::of(2.0)) * (radius / voxel))
}

/// Contracted distance of a place from the centre; 0 in bounded space.
#[must_use]
pub fn contracted_distance<R: Real>(v: &Voxels, q: Vec3<R>) -> R {
    let (voxel, radius) = (R::of(v.voxel.into()), R::of(v.radius.into()));
    if radius == R::ZERO {
        return R::ZERO;
    }
    norm(q.map(|q| q * (voxel / radius) - R::of(2.0)))
}

/// Point of the world at a place; none where the world ends.
#[must_use]
pub fn to_world<R: Real>(v: &Voxels, q: Vec3<R>) -> Option<Vec3<R>> {
    let (voxel, radius) = (R::of(v.voxel.into()), R::of(v.radius.into()));
    if radius == R::ZERO {
        return Some(add(origin(v), scale(q, voxel)));
    }
    let distance = contracted_distance(v, q);
    if distance > R::of(WORLD_END) {
        return None;
    }
    let y = q.map(|q| q * (voxel / radius) - R::of(2.0));
    let y = if distance > R::ONE {
        scale(y, R::ONE / (distance * (R::of(2.0) - distance)))
    } else {
        y
    };
    Some(add(origin(v), scale(y, radius)))
}

/// Distance at which voxels at a place still hear of a surface, world units.
#[must_use]
pub fn truncation_at<R: Real>(v: &Voxels, q: Vec3<R>) -> R {
    let (voxel, truncation) = (R::of(v.voxel.into()), R::of(v.truncation.into()));
    if v.radius == 0.0 {
        return truncation * voxel;
    }
    let distance = contracted_distance(v, q).max(R::ONE).min(R::of(WORLD_END));
    let rest = R::of(2.0) - distance;
    truncation * (voxel / (rest * rest))
}

fn world_point<R: Real>(view: &View<R>, p: Vec3<R>) -> Vec3<R> {
    mat_vec(transpose(view.rotation), sub(p, view.translation))
}

/// Marks in `bits`, one for each brick of the space, what a view's depths touch; `depths` are row by row, 0 for none.
pub fn touch<R: Real>(v: &Voxels, view: &View<R>, depths: &[R], bits: &mut [bool]) {
    for (i, &depth) in depths.iter().enumerate() {
        if depth == R::ZERO {
            continue;
        }
        let pixel = [i as u32 % view.size_px[0], i as u32 / view.size_px[0]];
        let ray = super::surface::pixel_ray(view, pixel.map(|x| R::of(f64::from(x))));
        let place = |z: R| to_grid(v, world_point(view, scale(ray, z)));
        let samples = (R::of(v.truncation.into()) * norm(ray) / R::of(MARGIN)).ceil();
        let size = |z: R| truncation_at(v, place(z)) / samples;
        let (mut before, mut behind) = (depth, depth);
        mark(v, place(depth), bits);
        for _ in 0..samples.to_f64() as u32 {
            // Voxels become smaller this way, and larger the other.
            before = match v.radius == 0.0 {
                true => before - size(before),
                false => before * before / (before + size(before)),
            };
            if before <= R::ZERO {
                break;
            }
            mark(v, place(before), bits);
        }
        for _ in 0..samples.to_f64() as u32 {
            behind = behind + size(behind);
            mark(v, place(behind), bits);
        }
    }
}

/// Marks the bricks around a place.
fn mark<R: Real>(v: &Voxels, q: Vec3<R>, bits: &mut [bool]) {
    let [_, along_y, along_z] = v.bricks.map(|n| n as usize);
    let side = R::of(SIDE.into());
    let low = q.map(|q| ((q - R::of(MARGIN)) / side).floor().to_f64().max(0.0));
    let high: [f64; 3] = std::array::from_fn(|a| {
        let high = ((q[a] + R::of(MARGIN)) / side).floor().to_f64();
        high.min(f64::from(v.bricks[a]) - 1.0)
    });
    let range = |a: usize| low[a] as i64..=high[a] as i64;
    for x in range(0) {
        for y in range(1) {
            for z in range(2) {
                bits[(x as usize * along_y + y as usize) * along_z + z as usize] = true;
            }
        }
    }
}

/// Depth of a view at a point of its image, 0 for none: of the nearest pixel, or between the four around where they lie
/// within `reach` of each other.
fn view_depth<R: Real>(view: &View<R>, depths: &[R], point: [R; 2], reach: R) -> R {
    let [width, height] = view.size_px.map(f64::from);
    let at = |x: f64, y: f64| depths[(y * width + x) as usize];
    let nearest = point.map(|x| (x + R::of(0.5)).floor().to_f64());
    let inside = |p: [f64; 2]| p[0] >= 0.0 && p[1] >= 0.0 && p[0] < width && p[1] < height;
    if !inside(nearest) {
        return R::ZERO;
    }
    let low = point.map(|x| x.floor().to_f64());
    if inside(low) && inside(low.map(|x| x + 1.0)) {
        let [x, y] = low;
        let z = [at(x, y), at(x + 1.0, y), at(x, y + 1.0), at(x + 1.0, y + 1.0)];
        let least = z.into_iter().fold(z[0], R::min);
        let most = z.into_iter().fold(z[0], R::max);
        if least > R::ZERO && most - least <= reach {
            let part: [R; 2] = std::array::from_fn(|a| point[a] - R::of(low[a]));
            let mix = |a: R, b: R, t: R| a * (R::ONE - t) + b * t;
            return mix(mix(z[0], z[1], part[0]), mix(z[2], z[3], part[0]), part[1]);
        }
    }
    at(nearest[0], nearest[1])
}

/// What one voxel holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voxel {
    /// Mean distance over the truncation, in steps of 1/32767.
    pub code: i16,
    /// Views it is the mean of.
    pub views: u16,
}

impl Voxel {
    /// From its word on the device.
    #[must_use]
    pub fn of_word(word: u32) -> Self {
        Self {
            code: word as u16 as i16,
            views: (word >> 16) as u16,
        }
    }

    /// Mean distance over the truncation, -1 to 1, positive before the surface.
    #[must_use]
    pub fn value(self) -> f32 {
        f32::from(self.code) / UNIT as f32
    }

    /// The same with a further distance over the truncation.
    #[must_use]
    pub fn with<R: Real>(self, value: R) -> Self {
        let views = R::of(self.views.into());
        let mean = R::of(f64::from(self.code)) / R::of(UNIT);
        let mean = (mean * views + value.min(R::ONE)) / (views + R::ONE);
        Self {
            code: (mean * R::of(UNIT) + R::of(0.5)).floor().to_f64() as i16,
            views: self.views.saturating_add(1),
        }
    }
}

/// Takes a view's depths into a brick of 512 voxels at `place`, in bricks.
pub fn integrate<R: Real>(v: &Voxels, view: &View<R>, depths: &[R], place: [u32; 3], brick: &mut [Voxel]) {
    for (i, voxel) in (0_u32..).zip(brick) {
        let [x, y, z] = [i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE];
        let q = [place[0] * SIDE + x, place[1] * SIDE + y, place[2] * SIDE + z].map(|q| R::of(q.into()));
        let Some(world) = to_world(v, q) else { continue };
        let p = view.to_camera(world);
        if p[2].is_nan() || p[2] <= R::ZERO {
            continue;
        }
        let reach = truncation_at(v, q);
        let half = R::of(0.5);
        let point = std::array::from_fn(|a| view.focal[a] * p[a] / p[2] + (view.centre[a] - half));
        let depth = view_depth(view, depths, point, reach);
        let signed = depth - p[2];
        if depth > R::ZERO && signed >= -reach {
            *voxel = voxel.with(signed / reach);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::rng::uniform;

    fn spaces() -> [Voxels; 2] {
        let bounded = Voxels {
            origin: [-1.0, 0.5, 2.0],
            voxel: 0.05,
            radius: 0.0,
            truncation: 4.0,
            bricks: [6, 7, 8],
        };
        let contracted = Voxels {
            radius: 1.5,
            bricks: [15; 3],
            ..bounded
        };
        [bounded, contracted]
    }

    #[test]
    fn places_and_points_are_inverse() {
        for v in spaces() {
            for id in 0..2000 {
                // Up to some hundred radii away.
                let far = 0.01_f64 * 1.01_f64.powi(id as i32 / 2);
                let x: [f64; 3] = std::array::from_fn(|i| far * (uniform::<f64>(1, 1, id, i as u32) - 0.5));
                let q = to_grid(&v, x);
                let back = to_world(&v, q).unwrap();
                let error = norm(sub(back, x));
                assert!(error < 1e-9 * (1.0 + far * far), "{x:?} {q:?} {back:?}");
                if v.radius > 0.0 {
                    assert!(q.iter().all(|q| (0.0..=4.0 * 1.5 / 0.05 + 1e-3).contains(q)), "{q:?}");
                }
            }
        }
        let [_, v] = spaces();
        assert_eq!(to_world::<f64>(&v, [0.0; 3]), None, "corners lie beyond the world");
    }

    /// The truncation is what it says in voxels, wherever it is.
    #[test]
    fn voxels_grow_as_the_truncation_does() {
        let [_, v] = spaces();
        for far in [0.5, 1.4, 2.0, 4.0, 9.0, 40.0] {
            let x = add(origin::<f64>(&v), [far, 0.0, 0.0]);
            let q = to_grid(&v, x);
            let reach = truncation_at(&v, q);
            let small = 1e-3;
            let ahead = to_grid(&v, add(x, [small * reach, 0.0, 0.0]));
            let voxels = norm(sub(ahead, q)) / small;
            assert!((voxels - 4.0).abs() < 0.02, "{far}: {voxels}");
        }
    }

    #[test]
    fn means_run_and_saturate() {
        let mut voxel = Voxel::default();
        for value in [0.5_f32, -0.25, 0.25, 3.0] {
            voxel = voxel.with(value);
        }
        assert_eq!(voxel.views, 4);
        assert!((voxel.value() - 0.375).abs() < 1e-4);
        let full = Voxel {
            views: u16::MAX,
            ..voxel
        };
        assert_eq!(full.with(1.0_f64).views, u16::MAX);
        assert_eq!(Voxel::of_word(0x0003_8001).value(), -1.0);
    }
}
