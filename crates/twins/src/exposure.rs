//! Colours of a photo as its camera takes them, their gradients and their step.

use kiln_kernels::exposure::{CAMERA_HOLD, CAMERA_RATE, IDENTITY, MOST_RESPONSE, MOST_VIGNETTING, OF_CAMERA, VALUES};
use kiln_scene::math::{Real, Vec3};

/// Three rows of four: `A` and `b` of `e(x) = A x + b`.
pub type Map<R> = [R; VALUES];
/// Three numbers of vignetting, and two of the response for each channel.
pub type OfCamera<R> = [R; OF_CAMERA];

/// Means of the powers of the distance from the principal point over a picture.
const MEANS: [f64; 3] = [1.0 / 3.0, 0.16, 0.09];

/// The map that does nothing.
#[must_use]
pub fn identity<R: Real>() -> Map<R> {
    IDENTITY.map(|value| R::of(f64::from(value)))
}

/// A photo and the camera that took it.
#[derive(Clone, Copy, Debug)]
pub struct Taken<R> {
    /// The photo's map.
    pub map: Map<R>,
    /// The camera's numbers.
    pub camera: OfCamera<R>,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// The principal point, pixel centres on integers.
    pub center: [R; 2],
}

/// What a pixel goes through.
struct Steps<R> {
    /// Powers of the distance from the principal point, less their means.
    powers: Vec3<R>,
    mapped: Vec3<R>,
    bright: R,
    /// Behind the vignetting, and the same within 0 and 1.
    dimmed: Vec3<R>,
    t: Vec3<R>,
}

impl<R: Real> Taken<R> {
    fn steps(&self, pixel: usize, x: &Vec3<R>) -> Steps<R> {
        let row = |r: usize| {
            let m = &self.map[4 * r..4 * r + 4];
            m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + m[3]
        };
        let mapped = [0, 1, 2].map(row);
        let width = self.size[0] as usize;
        let at = [pixel % width, pixel / width].map(|place| R::of(place as f64));
        let (mut near, mut far) = (R::ZERO, R::ZERO);
        for ((at, center), size) in at.into_iter().zip(self.center).zip(self.size) {
            let other = R::of(f64::from(size) - 1.0) - center;
            let farthest = if center > other { center } else { other } + R::of(0.5);
            let off = at - center;
            near += off * off;
            far += farthest * farthest;
        }
        let r2 = near / far;
        let [first, second, third] = MEANS.map(R::of);
        let powers = [r2 - first, r2 * r2 - second, r2 * r2 * r2 - third];
        let bright = R::ONE + self.camera[0] * powers[0] + self.camera[1] * powers[1] + self.camera[2] * powers[2];
        let dimmed = mapped.map(|value| bright * value);
        let within = |value: R| match () {
            () if value < R::ZERO => R::ZERO,
            () if value > R::ONE => R::ONE,
            () => value,
        };
        Steps {
            powers,
            mapped,
            bright,
            dimmed,
            t: dimmed.map(within),
        }
    }

    /// What the photo shows of an image.
    #[must_use]
    pub fn shown(&self, image: &[Vec3<R>]) -> Vec<Vec3<R>> {
        let pixels = image.iter().enumerate();
        let shown = pixels.map(|(pixel, x)| {
            let steps = self.steps(pixel, x);
            [0, 1, 2].map(|c| {
                let (hump, bend) = curves(steps.t[c]);
                steps.dimmed[c] + self.camera[3 + c] * hump + self.camera[6 + c] * bend
            })
        });
        shown.collect()
    }

    /// From the gradient of what the photo shows: that of the image, that of the map and that of the camera, without what holds them.
    #[must_use]
    pub fn gradients(&self, image: &[Vec3<R>], by_shown: &[Vec3<R>]) -> (Vec<Vec3<R>>, Map<R>, OfCamera<R>) {
        let (mut by_map, mut by_camera) = ([R::ZERO; VALUES], [R::ZERO; OF_CAMERA]);
        let pixels = image.iter().zip(by_shown).enumerate();
        let by_image = pixels.map(|(pixel, (x, g))| {
            let steps = self.steps(pixel, x);
            let (one, two, six) = (R::ONE, R::of(2.0), R::of(6.0));
            let of_dimmed: Vec3<R> = [0, 1, 2].map(|c| {
                let (value, t) = (steps.dimmed[c], steps.t[c]);
                let slope =
                    one + self.camera[3 + c] * (one - two * t) + self.camera[6 + c] * (one - six * t * (one - t));
                g[c] * if value > R::ZERO && value < R::ONE { slope } else { one }
            });
            let of_bright =
                of_dimmed[0] * steps.mapped[0] + of_dimmed[1] * steps.mapped[1] + of_dimmed[2] * steps.mapped[2];
            for k in 0..3 {
                let (hump, bend) = curves(steps.t[k]);
                by_camera[k] += of_bright * steps.powers[k];
                by_camera[3 + k] += g[k] * hump;
                by_camera[6 + k] += g[k] * bend;
            }
            let of_mapped = of_dimmed.map(|value| steps.bright * value);
            for (k, sum) in by_map.iter_mut().enumerate() {
                *sum += of_mapped[k / 4] * x.get(k % 4).copied().unwrap_or(R::ONE);
            }
            let map = &self.map;
            [0, 1, 2].map(|c| of_mapped[0] * map[c] + of_mapped[1] * map[4 + c] + of_mapped[2] * map[8 + c])
        });
        (by_image.collect(), by_map, by_camera)
    }
}

/// The two shapes that a response is made of, 0 at the ends.
fn curves<R: Real>(t: R) -> (R, R) {
    let hump = t * (R::ONE - t);
    (hump, hump * (R::ONE - R::of(2.0) * t))
}

/// First and second moments, learning rate, and decays of Adam.
fn adam<R: Real>(value: &mut R, [m, v]: [&mut R; 2], g: R, rate: R, betas: [R; 2], steps: u32) {
    let n = f64::from(steps);
    let corrections = betas.map(|beta| R::of(1.0 - beta.to_f64().powf(n)));
    *m = betas[0] * *m + (R::ONE - betas[0]) * g;
    *v = betas[1] * *v + (R::ONE - betas[1]) * g * g;
    let second = (*v / corrections[1]).sqrt() + R::of(1e-8);
    *value -= rate * (*m / corrections[0]) / second;
}

/// State of a view's optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State<R> {
    /// The map.
    pub map: Map<R>,
    /// First moments.
    pub m: Map<R>,
    /// Second moments.
    pub v: Map<R>,
    /// Steps taken.
    pub steps: u32,
    /// The diagonal that the map is held to.
    pub held: Vec3<R>,
}

impl<R: Real> State<R> {
    /// Never updated.
    #[must_use]
    pub fn new() -> Self {
        Self {
            map: identity(),
            m: [R::ZERO; VALUES],
            v: [R::ZERO; VALUES],
            steps: 0,
            held: [R::ONE; 3],
        }
    }

    /// One step of Adam with decays `betas` and learning rate `rate` along the gradient of the loss and of `hold` times half the
    /// squared distance from what the map is held to.
    pub fn step(&mut self, by_map: &Map<R>, hold: R, rate: R, betas: [R; 2]) {
        self.steps += 1;
        for (k, by_value) in by_map.iter().enumerate() {
            let rest = if k % 5 == 0 { self.held[k / 5] } else { R::ZERO };
            let g = *by_value + hold * (self.map[k] - rest);
            let moments = [&mut self.m[k], &mut self.v[k]];
            adam(&mut self.map[k], moments, g, rate, betas, self.steps);
        }
    }
}

/// State of a camera's optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraState<R> {
    /// Its numbers.
    pub values: OfCamera<R>,
    /// First moments.
    pub m: OfCamera<R>,
    /// Second moments.
    pub v: OfCamera<R>,
    /// Steps taken.
    pub steps: u32,
}

impl<R: Real> CameraState<R> {
    /// Never updated.
    #[must_use]
    pub fn new() -> Self {
        Self {
            values: [R::ZERO; OF_CAMERA],
            m: [R::ZERO; OF_CAMERA],
            v: [R::ZERO; OF_CAMERA],
            steps: 0,
        }
    }

    /// One step at the maps' learning rate, of one of so many cameras: one alone has no response.
    pub fn step(&mut self, by_camera: &OfCamera<R>, rate: R, betas: [R; 2], cameras: u32) {
        self.steps += 1;
        let (hold, rate) = (R::of(CAMERA_HOLD.into()), rate * R::of(CAMERA_RATE.into()));
        for (k, by_value) in by_camera.iter().enumerate() {
            let is_response = k >= 3;
            if is_response && cameras < 2 {
                continue;
            }
            let g = *by_value + hold * self.values[k];
            let moments = [&mut self.m[k], &mut self.v[k]];
            adam(&mut self.values[k], moments, g, rate, betas, self.steps);
            let most = R::of(if is_response { MOST_RESPONSE } else { MOST_VIGNETTING }.into());
            let value = self.values[k];
            self.values[k] = match () {
                () if value > most => most,
                () if value < -most => -most,
                () => value,
            };
        }
    }
}

impl<R: Real> Default for CameraState<R> {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes from every response what the mean of all differs from doing nothing.
pub fn centre_responses<R: Real>(cameras: &mut [CameraState<R>]) {
    let count = R::of(cameras.len() as f64);
    for k in 3..OF_CAMERA {
        let drift = cameras.iter().map(|camera| camera.values[k]).sum::<R>() / count;
        for camera in &mut *cameras {
            camera.values[k] -= drift;
        }
    }
}

/// Takes from every map what the mean of all differs from doing nothing. The mean is the identity afterwards, and maps differ
/// from each other as before.
pub fn centre<R: Real>(states: &mut [State<R>]) {
    let count = R::of(states.len() as f64);
    for (k, rest) in identity::<R>().into_iter().enumerate() {
        let drift = states.iter().map(|state| state.map[k] - rest).sum::<R>() / count;
        for state in &mut *states {
            state.map[k] -= drift;
        }
    }
}

impl<R: Real> Default for State<R> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Weights, loss, loss_value};
    use crate::rng::uniform;

    fn noise(n: usize, seed: u32) -> Vec<Vec3<f64>> {
        (0..n)
            .map(|i| std::array::from_fn(|c| uniform(seed, 0, i as u32, c as u32)))
            .collect()
    }

    fn odd_map() -> Map<f64> {
        let mut map = identity::<f64>();
        for (k, value) in map.iter_mut().enumerate() {
            *value += 0.3 * uniform::<f64>(9, 1, k as u32, 0) - 0.15;
        }
        map
    }

    fn taken(map: Map<f64>, size: [u32; 2]) -> Taken<f64> {
        Taken {
            map,
            camera: [0.0; OF_CAMERA],
            size,
            center: size.map(|side| 0.5 * f64::from(side) - 0.5),
        }
    }

    fn odd_camera() -> OfCamera<f64> {
        std::array::from_fn(|k| 0.5 * uniform::<f64>(9, 2, k as u32, 0) - 0.25)
    }

    #[test]
    fn gradients_match_differences() {
        for camera in [[0.0; OF_CAMERA], odd_camera()] {
            gradients_match(camera);
        }
    }

    fn gradients_match(camera: OfCamera<f64>) {
        let size = [13, 11];
        let (mut image, target) = (noise(143, 1), noise(143, 2));
        let mut own = Taken {
            camera,
            center: [5.2, 5.9],
            ..taken(odd_map(), size)
        };
        let value =
            |own: &Taken<f64>, image: &[Vec3<f64>]| loss_value(size, &own.shown(image), &target, Weights::default());
        let shown = loss(size, &own.shown(&image), &target, Weights::default());
        let (by_image, by_map, by_camera) = own.gradients(&image, &shown.gradient);
        let eps = 1e-6;
        for (k, by_value) in by_map.iter().enumerate() {
            let kept = own.map[k];
            own.map[k] = kept + eps;
            let high = value(&own, &image);
            own.map[k] = kept - eps;
            let low = value(&own, &image);
            own.map[k] = kept;
            let numeric = (high - low) / (2.0 * eps);
            assert!(
                (numeric - by_value).abs() < 1e-6 + 1e-5 * by_value.abs(),
                "{k}: {numeric} {by_value}"
            );
        }
        for (k, by_value) in by_camera.iter().enumerate() {
            let kept = own.camera[k];
            own.camera[k] = kept + eps;
            let high = value(&own, &image);
            own.camera[k] = kept - eps;
            let low = value(&own, &image);
            own.camera[k] = kept;
            let numeric = (high - low) / (2.0 * eps);
            assert!(
                (numeric - by_value).abs() < 1e-6 + 1e-5 * by_value.abs(),
                "camera {k}: {numeric} {by_value}"
            );
        }
        for i in (0..143).step_by(7) {
            for c in 0..3 {
                let kept = image[i][c];
                image[i][c] = kept + eps;
                let high = value(&own, &image);
                image[i][c] = kept - eps;
                let low = value(&own, &image);
                image[i][c] = kept;
                let numeric = (high - low) / (2.0 * eps);
                assert!(
                    (numeric - by_image[i][c]).abs() < 1e-8 + 1e-5 * by_image[i][c].abs(),
                    "{i} {c}"
                );
            }
        }
    }

    #[test]
    fn a_darker_photo_is_learnt_and_without_a_cause_a_map_returns() {
        let image = noise(400, 3);
        let target: Vec<Vec3<f64>> = image
            .iter()
            .map(|x| [0.7 * x[0], 0.7 * x[1] + 0.05, 0.7 * x[2]])
            .collect();
        let mut state = State::<f64>::new();
        for _ in 0..1500 {
            let own = taken(state.map, [20, 20]);
            let mapped = loss([20, 20], &own.shown(&image), &target, Weights::default());
            let (_, by_map, _) = own.gradients(&image, &mapped.gradient);
            state.step(&by_map, 1e-2, 2e-3, [0.9, 0.999]);
        }
        assert!(
            (state.map[0] - 0.7).abs() < 0.02 && (state.map[7] - 0.05).abs() < 0.02,
            "{:?}",
            state.map
        );
        // Adam forgets how large the gradients were within some thousands of steps.
        for _ in 0..10_000 {
            state.step(&[0.0; VALUES], 1e-2, 2e-3, [0.9, 0.999]);
        }
        assert!((state.map[0] - 1.0).abs() < 0.02, "{:?}", state.map);
    }

    #[test]
    fn the_mean_of_centred_maps_does_nothing_and_differences_stay() {
        let mut states = [State::<f64>::new(); 5];
        for (i, state) in (0..).zip(&mut states) {
            for (k, value) in (0..).zip(&mut state.map) {
                *value += uniform::<f64>(2, i, k, 0) - 0.2;
            }
        }
        let before = states;
        centre(&mut states);
        for (k, rest) in identity::<f64>().into_iter().enumerate() {
            let mean = states.iter().map(|state| state.map[k]).sum::<f64>() / 5.0;
            assert!((mean - rest).abs() < 1e-14, "{k}: {mean}");
            for (old, new) in before.iter().zip(&states) {
                let apart = |state: &State<f64>, first: &State<f64>| state.map[k] - first.map[k];
                assert!((apart(old, &before[0]) - apart(new, &states[0])).abs() < 1e-14);
            }
        }
        let centred = states;
        centre(&mut states);
        for (once, twice) in centred.iter().zip(&states) {
            assert!(once.map.iter().zip(&twice.map).all(|(a, b)| (a - b).abs() < 1e-15));
        }
    }

    /// Vignetting of a camera alone is learnt, its response is not; of two cameras what they differ by is.
    #[test]
    fn a_camera_is_learnt_from_its_photos() {
        let (size, target) = ([20, 20], noise(400, 4));
        let mut dark = taken(identity(), size);
        dark.camera[0] = -0.3;
        let image: Vec<Vec3<f64>> = target.iter().map(|x| x.map(|value| 0.2 + 0.6 * value)).collect();
        let photo = dark.shown(&image);
        let mut state = CameraState::<f64>::new();
        for _ in 0..4000 {
            let own = Taken {
                camera: state.values,
                ..taken(identity(), size)
            };
            let shown = loss(size, &own.shown(&image), &photo, Weights::default());
            let (_, _, by_camera) = own.gradients(&image, &shown.gradient);
            state.step(&by_camera, 5e-3, [0.9, 0.999], 1);
        }
        assert!(
            state.values[3..].iter().all(|value| *value == 0.0),
            "{:?}",
            state.values
        );
        let learnt = Taken {
            camera: state.values,
            ..taken(identity(), size)
        };
        let left = |own: &Taken<f64>| {
            let pairs = own
                .shown(&image)
                .into_iter()
                .zip(&photo)
                .map(|(a, b)| (a[1] - b[1]).abs());
            pairs.sum::<f64>() / 400.0
        };
        let (before, after) = (left(&taken(identity(), size)), left(&learnt));
        assert!(after < 0.25 * before, "{after} of {before}: {:?}", state.values);
        let mut two = [CameraState::<f64>::new(), CameraState::new()];
        for (camera, sign) in two.iter_mut().zip([1.0, -0.5]) {
            for _ in 0..50 {
                camera.step(&[-sign; OF_CAMERA], 0.02, [0.9, 0.999], 2);
            }
        }
        let apart = two[0].values[4] - two[1].values[4];
        centre_responses(&mut two);
        assert!((two[0].values[4] + two[1].values[4]).abs() < 1e-12);
        assert!((two[0].values[4] - two[1].values[4] - apart).abs() < 1e-12 && apart > 0.05);
        assert!(two[0].values[0] > 0.0, "vignetting is not centred");
    }

    #[test]
    fn responses_rise_everywhere() {
        for signs in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            let mut own = taken(identity(), [1, 1]);
            own.camera[3] = signs[0] * f64::from(MOST_RESPONSE);
            own.camera[6] = signs[1] * f64::from(MOST_RESPONSE);
            let values = (-20..120).map(|k| own.shown(&[[f64::from(k) / 100.0, 0.0, 0.0]])[0][0]);
            let values: Vec<f64> = values.collect();
            assert!(values.is_sorted_by(|a, b| a < b), "{signs:?}");
            let end = |x: f64| own.shown(&[[x, 0.0, 0.0]])[0][0];
            assert!(end(0.0).abs() < 1e-12 && (end(1.0) - 1.0).abs() < 1e-12);
        }
    }
}
