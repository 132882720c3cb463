//! What the corrections of all cameras share: a motion of the whole scene, and its size. No photo tells it from a scene that lies
//! elsewhere, so nothing holds it, and steps that are noisy carry it away.

use crate::kernels::pose::{VALUES, WORDS};
use crate::math::{Mat3, Vec3, add, cross, dot, mat_vec, scale, sub, transpose};
use crate::scene::Camera;

/// Iterations after which the common motion is taken out of the corrections.
pub(super) const EVERY: u32 = 100;
/// Cameras whose squared distances from their mean are a smaller share of those from the origin are at one place: rounding of
/// `f32` moves them so far, and it says nothing of the size of a scene.
const ROUNDING: f64 = 1e-12;

/// The given training cameras, as the fit of a common motion needs them.
///
/// A scene that is turned by a small `a` about the mean of the cameras, moved by `b` and grown by a share `g` takes with it a
/// camera `W` at `d` from that mean: its correction is a turn `W a` and a shift `W (b + a x d + g d)`, up to one sign for both.
/// Lengths are extents. Those of least squares over all cameras come one after the other, because the `d` add up to nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct CommonMotion {
    rotations: Vec<Mat3<f64>>,
    offsets: Vec<Vec3<f64>>,
    /// Sum of the squared `d`.
    spread: f64,
    /// Normal matrix of `a`; at least as large as the number of cameras times the unit matrix.
    turns: Mat3<f64>,
}

impl CommonMotion {
    /// Of `cameras` in a scene of this extent, world units.
    pub(super) fn new<'a>(cameras: impl Iterator<Item = &'a Camera>, extent: f32) -> Self {
        let unit = f64::from(extent).max(f64::MIN_POSITIVE).recip();
        let (rotations, positions): (Vec<_>, Vec<_>) = cameras
            .map(|camera| {
                let position = camera.position().map(|value| f64::from(value) * unit);
                (camera.rotation.map(|row| row.map(f64::from)), position)
            })
            .unzip();
        let share = (positions.len().max(1) as f64).recip();
        let mean = scale(positions.iter().copied().fold([0.0; 3], add), share);
        let far: f64 = positions.iter().map(|p| dot(*p, *p)).sum();
        let mut offsets: Vec<_> = positions.into_iter().map(|position| sub(position, mean)).collect();
        let mut spread = offsets.iter().map(|d| dot(*d, *d)).sum();
        if spread <= ROUNDING * far {
            offsets.fill([0.0; 3]);
            spread = 0.0;
        }
        let turns = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let apart: f64 = offsets.iter().map(|d| d[i] * d[j]).sum();
                if i == j {
                    rotations.len() as f64 + spread - apart
                } else {
                    -apart
                }
            })
        });
        Self {
            rotations,
            offsets,
            spread,
            turns,
        }
    }

    /// Takes it out of the corrections of the training views, which come first among `words`; [`WORDS`] a view.
    pub(super) fn remove(&self, words: &mut [f32]) {
        let views = || std::iter::zip(&self.rotations, &self.offsets);
        let (mut turn, mut shift, mut growth) = ([0.0; 3], [0.0; 3], 0.0);
        for ((rotation, offset), view) in views().zip(words.chunks_exact(WORDS)) {
            let (w, s) = world(rotation, view);
            turn = add(turn, add(w, cross(*offset, s)));
            shift = add(shift, s);
            growth += dot(*offset, s);
        }
        let turn = solve(self.turns, turn);
        let shift = scale(shift, (self.rotations.len().max(1) as f64).recip());
        let growth = growth / self.spread.max(f64::MIN_POSITIVE);
        for ((rotation, offset), view) in views().zip(words.chunks_exact_mut(WORDS)) {
            let moved = add(add(shift, cross(turn, *offset)), scale(*offset, growth));
            let common = [mat_vec(*rotation, turn), mat_vec(*rotation, moved)];
            for (value, common) in view.iter_mut().zip(common.as_flattened()) {
                #[expect(clippy::cast_possible_truncation, reason = "corrections are f32")]
                let rest = (f64::from(*value) - common) as f32;
                *value = rest;
            }
        }
    }
}

/// Turn and shift of a view's correction in the axes of the world.
fn world(rotation: &Mat3<f64>, view: &[f32]) -> (Vec3<f64>, Vec3<f64>) {
    let mut values = [0.0; VALUES];
    for (to, from) in values.iter_mut().zip(view) {
        *to = f64::from(*from);
    }
    let [a, b, c, x, y, z] = values;
    let to_world = transpose(*rotation);
    (mat_vec(to_world, [a, b, c]), mat_vec(to_world, [x, y, z]))
}

/// `m x = v` for a symmetric `m` with a determinant, by Cramer's rule.
fn solve(m: Mat3<f64>, v: Vec3<f64>) -> Vec3<f64> {
    let [a, b, c] = m;
    let determinant = dot(a, cross(b, c));
    if determinant <= 0.0 {
        return [0.0; 3];
    }
    [cross(b, c), cross(c, a), cross(a, b)].map(|side| dot(side, v) / determinant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{norm, rotation};
    use crate::scene::SplitMix64;

    const EXTENT: f32 = 2.5;

    /// Rotation of a quaternion of any length.
    fn turned(quat: [f32; 4]) -> Mat3<f32> {
        rotation(scale(quat, norm(quat).recip()))
    }

    /// Cameras here and there.
    fn cameras(count: usize, random: &mut SplitMix64) -> Vec<Camera> {
        let mut value = |size: f32| size * (random.next_f32() - 0.5);
        (0..count)
            .map(|_| Camera {
                width_px: 16,
                height_px: 12,
                fx: 10.0,
                fy: 10.0,
                cx: 8.0,
                cy: 6.0,
                rotation: turned([1.0, value(1.0), value(2.0), value(1.0)]),
                translation: [value(3.0), value(2.0), 4.0 + value(1.0)],
            })
            .collect()
    }

    /// Corrections that take `cameras` along with a scene that is turned by `turn` about the origin, moved and grown.
    fn along(cameras: &[Camera], turn: Vec3<f64>, moved: Vec3<f64>, growth: f64) -> Vec<f32> {
        let mut words = vec![7.0; WORDS * cameras.len()];
        let [x, y, z] = scale(turn, 0.5);
        let scene = rotation([(1.0 - dot([x, y, z], [x, y, z])).sqrt(), x, y, z]);
        for (camera, words) in cameras.iter().zip(words.chunks_exact_mut(WORDS)) {
            let given = camera.rotation.map(|row| row.map(f64::from));
            let position = camera.position().map(f64::from);
            let there = add(mat_vec(scene, scale(position, 1.0 + growth)), moved);
            let w = scale(mat_vec(given, turn), -1.0);
            let s = mat_vec(given, mat_vec(transpose(scene), sub(position, there)));
            let s = scale(s, f64::from(EXTENT).recip());
            for (word, value) in words.iter_mut().zip(w.into_iter().chain(s)) {
                *word = value as f32;
            }
        }
        words
    }

    fn length(words: &[f32]) -> f64 {
        let values = words.chunks_exact(WORDS).flat_map(|view| &view[..VALUES]);
        values.map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
    }

    /// Cameras that went along with the scene stay where they were given; what else was found of them stays; words of other
    /// views and of the optimiser too.
    #[test]
    fn what_all_share_goes_and_the_rest_stays() {
        let mut random = SplitMix64::new(9);
        for count in [2, 3, 40] {
            let cameras = cameras(count, &mut random);
            let motion = CommonMotion::new(cameras.iter(), EXTENT);
            let common = along(&cameras, [1e-3, -2e-3, 1.5e-3], [2e-3, 1e-3, -3e-3], 2e-3);
            let mut none = [&common[..], &[5.0; WORDS]].concat();
            motion.remove(&mut none);
            // Turns of this size add up to first order.
            assert!(
                length(&none[..WORDS * count]) < 0.01 * length(&common),
                "{count}: {none:?}"
            );
            assert!(none[WORDS * count..].iter().all(|word| *word == 5.0));
            assert!(
                none.chunks_exact(WORDS)
                    .take(count)
                    .all(|view| view[VALUES..].iter().all(|word| *word == 7.0))
            );

            let mut own: Vec<f32> = common.iter().map(|_| 0.01 * (random.next_f32() - 0.5)).collect();
            motion.remove(&mut own);
            let mut both: Vec<f32> = own.iter().zip(&common).map(|(own, common)| own + common).collect();
            motion.remove(&mut both);
            for (k, (both, own)) in both.iter().zip(&own).enumerate().filter(|(k, _)| k % WORDS < VALUES) {
                assert!((both - own).abs() < 5e-5, "{count}, word {k}: {both} {own}");
            }
            assert!(count == 2 || length(&own) > 0.001, "{count}");
        }
    }

    /// No camera, one, and several at one place: numbers all the same.
    #[test]
    fn cameras_that_tell_little() {
        let one = cameras(1, &mut SplitMix64::new(1));
        let same = [one[0].clone(), one[0].clone(), one[0].clone()];
        for cameras in [&[][..], &one, &same] {
            let mut words = vec![0.01; WORDS * cameras.len()];
            CommonMotion::new(cameras.iter(), EXTENT).remove(&mut words);
            assert!(length(&words) < 1e-6, "{words:?}");
        }
    }
}
