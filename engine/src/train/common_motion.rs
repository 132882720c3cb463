//! What the corrections of all cameras share: a motion of the whole scene, and its size. No photo distinguishes it from a scene that lies
//! elsewhere, so nothing holds it, and steps that are noisy carry it away.

use kiln_kernels::pose::{VALUES, WORDS};
use kiln_scene::math::{Mat3, Vec3, add, cross, dot, mat_vec, scale, sub};
use kiln_scene::{Camera, Fisheye, SceneIndex};

/// Iterations after which the common motion is taken out of the corrections.
pub(super) const EVERY: u32 = 100;

/// Most points of the scene that are looked at.
const POINTS: usize = 512;
/// Numbers of a common motion: turn, shift, growth.
const MOTION: usize = 7;
/// Share of the normal matrix's mean diagonal that is added to it: what cameras do not determine stays as it is.
const RIDGE: f64 = 1e-6;
/// Half a step of the differences that say how a lens moves a place, of a direction of length 1.
const STEP: f64 = 1e-5;

type Row<const N: usize> = [f64; N];

/// How the given training cameras answer a common motion, for its fit.
///
/// A scene that is turned by a small `a` about the mean of the cameras, moved by `b` and grown by a share `g` takes with it a
/// camera `W` at `d` from that mean: its correction is a turn `W a` and a shift `W (b + a x d + g d)`, up to one sign for all.
/// Lengths are extents. The common motion of some corrections is the one that moves the points of the scene as these do, in the
/// least squares of where they are seen: what a camera cannot distinguish, a turn and a shift to the side, counts as one.
#[derive(Clone, Debug, Default)]
pub(super) struct CommonMotion {
    cameras: Vec<Answer>,
    /// Inverse of the normal matrix.
    inverse: [Row<MOTION>; MOTION],
}

#[derive(Clone, Debug)]
struct Answer {
    /// Correction by common motion.
    motion: [Row<MOTION>; VALUES],
    /// The normal equations' right side by correction.
    side: [Row<VALUES>; MOTION],
}

impl CommonMotion {
    /// Of the training cameras of `scene` and its points; without points, of places before the cameras.
    pub(super) fn of(scene: &SceneIndex) -> Self {
        let cameras: Vec<&Camera> = scene.train.iter().map(|view| &view.camera).collect();
        let every = scene.points.len().div_ceil(POINTS).max(1);
        let mut points: Vec<[f32; 3]> = scene.points.iter().step_by(every).map(|point| point.position).collect();
        if points.is_empty() {
            let before = |camera: &&Camera| {
                let position = camera.position();
                std::array::from_fn(|axis| position[axis] + scene.extent * camera.rotation[2][axis])
            };
            let every = cameras.len().div_ceil(POINTS).max(1);
            points = cameras.iter().step_by(every).map(before).collect();
        }
        Self::new(&cameras, &points, scene.extent, scene.near_z())
    }

    fn new(cameras: &[&Camera], points: &[[f32; 3]], extent: f32, near_z: f32) -> Self {
        let unit = f64::from(extent).max(f64::MIN_POSITIVE).recip();
        let positions: Vec<Vec3<f64>> = cameras
            .iter()
            .map(|camera| camera.position().map(|value| f64::from(value) * unit))
            .collect();
        let share = (cameras.len().max(1) as f64).recip();
        let mean = scale(positions.iter().copied().fold([0.0; 3], add), share);
        let mut normal = [[0.0; MOTION]; MOTION];
        let answers = cameras.iter().zip(&positions).map(|(camera, position)| {
            let motion = by_motion(camera, sub(*position, mean));
            let seen = seen(camera, points, unit, near_z);
            let side: [Row<VALUES>; MOTION] = std::array::from_fn(|m| {
                std::array::from_fn(|to| (0..VALUES).map(|from| motion[from][m] * seen[from][to]).sum())
            });
            for (row, side) in normal.iter_mut().zip(&side) {
                for (at, value) in row.iter_mut().enumerate() {
                    *value += (0..VALUES).map(|k| side[k] * motion[k][at]).sum::<f64>();
                }
            }
            Answer { motion, side }
        });
        Self {
            cameras: answers.collect(),
            inverse: inverse(normal),
        }
    }

    /// Takes it out of the corrections of the training views, which come first among `words`; [`WORDS`] a view.
    pub(super) fn remove(&self, words: &mut [f32]) {
        let mut side = [0.0; MOTION];
        for (camera, view) in self.cameras.iter().zip(words.chunks_exact(WORDS)) {
            for (sum, row) in side.iter_mut().zip(&camera.side) {
                *sum += row.iter().zip(view).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
            }
        }
        let product = |row: &Row<MOTION>, with: &Row<MOTION>| row.iter().zip(with).map(|(a, b)| a * b).sum::<f64>();
        let motion = self.inverse.map(|row| product(&row, &side));
        for (camera, view) in self.cameras.iter().zip(words.chunks_exact_mut(WORDS)) {
            for (value, row) in view.iter_mut().zip(&camera.motion) {
                #[expect(clippy::cast_possible_truncation, reason = "corrections are f32")]
                let rest = (f64::from(*value) - product(row, &motion)) as f32;
                *value = rest;
            }
        }
    }
}

/// The correction of a camera at `offset` from the mean by each number of a common motion.
fn by_motion(camera: &Camera, offset: Vec3<f64>) -> [Row<MOTION>; VALUES] {
    let rotation: Mat3<f64> = camera.rotation.map(|row| row.map(f64::from));
    let axis = |k: usize| std::array::from_fn(|at| f64::from(u8::from(at == k)));
    let columns: [[Vec3<f64>; 2]; MOTION] = std::array::from_fn(|k| match k {
        0..3 => [axis(k), cross(axis(k), offset)],
        3..6 => [[0.0; 3], axis(k - 3)],
        _ => [[0.0; 3], offset],
    });
    let columns = columns.map(|parts| parts.map(|part| mat_vec(rotation, part)));
    std::array::from_fn(|value| std::array::from_fn(|k| columns[k].as_flattened()[value]))
}

/// Sum over the points that a camera sees of the squares of where they are seen, in focal lengths, by its correction. What lies before
/// the near plane is not drawn and does not count: points may lie in the cameras themselves, and one would outweigh all others.
fn seen(camera: &Camera, points: &[[f32; 3]], unit: f64, near_z: f32) -> [Row<VALUES>; VALUES] {
    let mut sum = [[0.0; VALUES]; VALUES];
    let lens = camera.lens.map(|lens| lens.to::<f64>());
    let seen = points.iter().filter_map(|point| Some((camera.sees(*point)?, *point)));
    for ([column, row, depth], point) in seen.filter(|([.., depth], _)| *depth >= near_z) {
        let [x, y] = [(column - camera.cx) / camera.fx, (row - camera.cy) / camera.fy].map(f64::from);
        let near = (f64::from(depth) * unit).recip();
        let by = match &lens {
            // A turn w moves the point by w x (x, y, 1) depths, a shift s by s.
            None => [
                [-x * y, 1.0 + x * x, -y, near, 0.0, -x * near],
                [-1.0 - y * y, x * y, x, 0.0, near, -y * near],
            ],
            Some(lens) => through(lens, camera.in_axes(point).map(f64::from), near),
        };
        for by in by {
            for (row, a) in sum.iter_mut().zip(by) {
                for (value, b) in row.iter_mut().zip(by) {
                    *value += a * b;
                }
            }
        }
    }
    sum
}

/// How a place in a fisheye's picture, in focal lengths, moves by turn and shift of a camera that has the point at `at`, `near` the
/// inverse of its distance in extents.
fn through(lens: &Fisheye<f64>, at: Vec3<f64>, near: f64) -> [Row<VALUES>; 2] {
    let ray = scale(at, dot(at, at).sqrt().recip());
    let axis = |k: usize| -> Vec3<f64> { std::array::from_fn(|at| f64::from(u8::from(at == k))) };
    // Places depend on directions alone: how far the point is does not matter but to shifts.
    let by = |motion: Vec3<f64>| {
        let [there, back] = [STEP, -STEP].map(|step| lens.place(add(ray, scale(motion, step))));
        [0, 1].map(|k| (there[k] - back[k]) / (2.0 * STEP))
    };
    let turns = [0, 1, 2].map(|k| by(cross(axis(k), ray)));
    let shifts = [0, 1, 2].map(|k| by(axis(k)).map(|value| value * near));
    [0, 1].map(|row| std::array::from_fn(|k| if k < 3 { turns[k][row] } else { shifts[k - 3][row] }))
}

/// Inverse of a symmetric matrix without negative eigenvalues, a little ridge added; none of one that is all zeros.
fn inverse(mut normal: [Row<MOTION>; MOTION]) -> [Row<MOTION>; MOTION] {
    let mut inverse = [[0.0; MOTION]; MOTION];
    let trace: f64 = (0..MOTION).map(|k| normal[k][k]).sum();
    if !trace.is_finite() || trace <= 0.0 {
        return inverse;
    }
    for k in 0..MOTION {
        normal[k][k] += RIDGE * trace / MOTION as f64;
        inverse[k][k] = 1.0;
    }
    // Gauss and Jordan; no pivot is smaller than the ridge.
    for k in 0..MOTION {
        let factor = normal[k][k].recip();
        let (pivot, other) = (normal[k].map(|v| v * factor), inverse[k].map(|v| v * factor));
        for row in 0..MOTION {
            let factor = normal[row][k];
            for at in 0..MOTION {
                let (a, b) = if row == k {
                    (pivot[at], other[at])
                } else {
                    (
                        normal[row][at] - factor * pivot[at],
                        inverse[row][at] - factor * other[at],
                    )
                };
                (normal[row][at], inverse[row][at]) = (a, b);
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scene::SplitMix64;
    use kiln_scene::math::{rotation, transpose};

    const EXTENT: f32 = 2.5;
    const NEAR: f32 = 1.0;

    /// Points about the origin.
    fn points(random: &mut SplitMix64) -> Vec<[f32; 3]> {
        (0..100).map(|_| [(); 3].map(|()| random.next_f32() - 0.5)).collect()
    }

    /// Cameras around the origin that look at it, more or less.
    fn cameras(count: usize, random: &mut SplitMix64) -> Vec<Camera> {
        let mut value = |size: f32| size * (random.next_f32() - 0.5);
        (0..count)
            .map(|k| {
                let angle = 2.4 * k as f32;
                Camera {
                    width_px: 16,
                    height_px: 12,
                    fx: 10.0,
                    fy: 10.0,
                    cx: 8.0,
                    cy: 6.0,
                    rotation: rotation([angle.cos(), value(0.2), angle.sin(), value(0.2)]),
                    translation: [value(0.5), value(0.5), 3.0 + value(1.0)],
                    lens: None,
                }
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

    fn of(cameras: &[Camera], points: &[[f32; 3]]) -> CommonMotion {
        CommonMotion::new(&cameras.iter().collect::<Vec<_>>(), points, EXTENT, NEAR)
    }

    /// Cameras that went along with the scene go back to where they were given, what else was found of them stays, and so do
    /// words of other views and of the optimiser.
    #[test]
    fn what_all_share_goes_and_the_rest_stays() {
        let mut random = SplitMix64::new(9);
        let points = points(&mut random);
        for count in [3, 40] {
            let cameras = cameras(count, &mut random);
            let motion = of(&cameras, &points);
            let common = along(&cameras, [1e-3, -2e-3, 1.5e-3], [2e-3, 1e-3, -3e-3], 2e-3);
            let mut none = [&common[..], &[5.0; WORDS]].concat();
            motion.remove(&mut none);
            // Turns of this size add up to first order.
            let left = length(&none[..WORDS * count]) / length(&common);
            assert!(left < 0.01, "{count}: {left}");
            assert!(none[WORDS * count..].iter().all(|word| *word == 5.0));
            let mut views = none.chunks_exact(WORDS).take(count);
            assert!(views.all(|view| view[VALUES..].iter().all(|word| *word == 7.0)));

            let mut own: Vec<f32> = common.iter().map(|_| 0.01 * (random.next_f32() - 0.5)).collect();
            motion.remove(&mut own);
            let mut both: Vec<f32> = own.iter().zip(&common).map(|(own, common)| own + common).collect();
            motion.remove(&mut both);
            for (k, (both, own)) in both.iter().zip(&own).enumerate().filter(|(k, _)| k % WORDS < VALUES) {
                assert!((both - own).abs() < 5e-5, "{count}, word {k}: {both} {own}");
            }
            assert!(length(&own) > 0.01, "{count}");
        }
    }

    /// Cameras around a scene that all look down a little more see it where one that is lower would be: that is a motion too.
    #[test]
    fn turns_that_look_like_a_shift_are_one() {
        let mut random = SplitMix64::new(4);
        let (points, cameras) = (points(&mut random), cameras(40, &mut random));
        let mut words = vec![0.0; WORDS * cameras.len()];
        for view in words.chunks_exact_mut(WORDS) {
            view[0] = 0.003;
        }
        let seen_of = |words: &[f32]| -> f64 {
            let views = cameras.iter().zip(words.chunks_exact(WORDS));
            let of_view = |(camera, view): (&Camera, &[f32])| {
                let square = seen(camera, &points, f64::from(EXTENT).recip(), NEAR);
                let value = |k: usize| f64::from(view[k]);
                (0..VALUES)
                    .map(|i| (0..VALUES).map(|j| value(i) * square[i][j] * value(j)).sum::<f64>())
                    .sum::<f64>()
            };
            views.map(of_view).sum()
        };
        let before = seen_of(&words);
        of(&cameras, &points).remove(&mut words);
        let after = seen_of(&words);
        assert!(after < 0.1 * before, "{before} {after}");
    }

    /// A fisheye in whose middle a place moves as a pinhole's does, and one far from it as places around.
    #[test]
    fn fisheyes_answer_like_pinholes_in_the_middle() {
        let mut random = SplitMix64::new(3);
        let mut cameras = cameras(2, &mut random);
        let lens = Fisheye {
            radial: [0.02, 0.0, 0.0, 0.0],
            tangential: [0.0; 2],
            prism: [0.0; 2],
            reach: 1.9,
        };
        let middle = |camera: &Camera| -> [f32; 3] {
            let position = camera.position();
            std::array::from_fn(|axis| position[axis] + 2.0 * camera.rotation[2][axis])
        };
        let points = [middle(&cameras[0])];
        let unit = f64::from(EXTENT).recip();
        let pinhole = seen(&cameras[0], &points, unit, NEAR);
        cameras[0].lens = Some(lens);
        let fisheye = seen(&cameras[0], &points, unit, NEAR);
        for (a, b) in pinhole.as_flattened().iter().zip(fisheye.as_flattened()) {
            assert!((a - b).abs() < 1e-4, "{pinhole:?} {fisheye:?}");
        }
        // Beside the camera and a little behind it: a turn about y moves the place along x by the slope of the radius.
        let wide = lens.to::<f64>();
        let by = through(&wide, [3.0 * 1.7_f64.sin(), 0.0, 3.0 * 1.7_f64.cos()], 0.5);
        let [radius, slope] = wide.radius(1.7);
        assert!((by[0][1] - slope).abs() < 1e-6 && by[1][1].abs() < 1e-6, "{by:?}");
        assert!((by[1][2] - radius).abs() < 1e-6, "{by:?}");
        let across = [0.5 * slope * 1.7_f64.cos(), 0.5 * radius / 1.7_f64.sin()];
        assert!(
            (by[0][3] - across[0]).abs() < 1e-6 && (by[1][4] - across[1]).abs() < 1e-6,
            "{by:?}"
        );
    }

    /// A point right before one camera, which the picture does not show, does not outvote what all others see.
    #[test]
    fn points_in_cameras_do_not_count() {
        let mut random = SplitMix64::new(6);
        let (mut points, cameras) = (points(&mut random), cameras(40, &mut random));
        let before: Vec<f32> = (0..WORDS * 40).map(|_| 0.01 * (random.next_f32() - 0.5)).collect();
        let [mut wanted, mut found] = [before.clone(), before];
        of(&cameras, &points).remove(&mut wanted);
        let position = cameras[0].position();
        points.push(std::array::from_fn(|axis| {
            position[axis] + 1e-4 * cameras[0].rotation[2][axis]
        }));
        of(&cameras, &points).remove(&mut found);
        // Cameras on the other side see it as one point more.
        let off: Vec<f32> = found.iter().zip(&wanted).map(|(a, b)| a - b).collect();
        assert!(
            length(&off) < 0.1 * length(&wanted),
            "{} of {}",
            length(&off),
            length(&wanted)
        );
    }

    /// No camera, one, several at one place, none that sees a point: numbers all the same.
    #[test]
    fn cameras_that_tell_little() {
        let mut random = SplitMix64::new(1);
        let (points, one) = (points(&mut random), cameras(1, &mut random));
        let same = [one[0].clone(), one[0].clone(), one[0].clone()];
        for (cameras, points, left) in [
            (&[][..], &points[..], 0.0),
            (&one, &points, 0.1),
            (&same, &points, 0.1),
            (&one, &[[0.0, 0.0, 1e6]], 1.0),
        ] {
            let mut words = vec![0.01; WORDS * cameras.len()];
            let before = length(&words);
            of(cameras, points).remove(&mut words);
            assert!(length(&words) <= left * before, "{words:?}");
        }
    }
}
