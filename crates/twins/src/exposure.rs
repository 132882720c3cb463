//! The affine map of colours of a photo, its gradients and its step.

use kiln_kernels::exposure::{IDENTITY, VALUES};
use kiln_scene::math::{Real, Vec3};

/// Three rows of four: `A` and `b` of `e(x) = A x + b`.
pub type Map<R> = [R; VALUES];

/// The map that does nothing.
#[must_use]
pub fn identity<R: Real>() -> Map<R> {
    IDENTITY.map(|value| R::of(f64::from(value)))
}

/// Colours after the map.
#[must_use]
pub fn apply<R: Real>(map: &Map<R>, image: &[Vec3<R>]) -> Vec<Vec3<R>> {
    let row =
        |x: &Vec3<R>, r: usize| map[4 * r] * x[0] + map[4 * r + 1] * x[1] + map[4 * r + 2] * x[2] + map[4 * r + 3];
    image.iter().map(|x| [0, 1, 2].map(|r| row(x, r))).collect()
}

/// From the gradient of the mapped colours: that of the colours, and that of the map without what holds it.
#[must_use]
pub fn gradients<R: Real>(map: &Map<R>, image: &[Vec3<R>], by_mapped: &[Vec3<R>]) -> (Vec<Vec3<R>>, Map<R>) {
    let mut by_map = [R::ZERO; VALUES];
    let by_image = image
        .iter()
        .zip(by_mapped)
        .map(|(x, g)| {
            for (k, sum) in by_map.iter_mut().enumerate() {
                *sum += g[k / 4] * x.get(k % 4).copied().unwrap_or(R::ONE);
            }
            [0, 1, 2].map(|c| g[0] * map[c] + g[1] * map[4 + c] + g[2] * map[8 + c])
        })
        .collect();
    (by_image, by_map)
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
        }
    }

    /// One step of Adam with decays `betas` and learning rate `rate` along the gradient of the loss and of `hold` times half the
    /// squared distance from doing nothing.
    pub fn step(&mut self, by_map: &Map<R>, hold: R, rate: R, betas: [R; 2]) {
        self.steps += 1;
        let n = f64::from(self.steps);
        let corrections = betas.map(|beta| R::of(1.0 - beta.to_f64().powf(n)));
        let rest = identity::<R>();
        for k in 0..VALUES {
            let g = by_map[k] + hold * (self.map[k] - rest[k]);
            self.m[k] = betas[0] * self.m[k] + (R::ONE - betas[0]) * g;
            self.v[k] = betas[1] * self.v[k] + (R::ONE - betas[1]) * g * g;
            let second = (self.v[k] / corrections[1]).sqrt() + R::of(1e-8);
            self.map[k] -= rate * (self.m[k] / corrections[0]) / second;
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

    #[test]
    fn gradients_match_differences() {
        let size = [13, 11];
        let (mut image, target, mut map) = (noise(143, 1), noise(143, 2), odd_map());
        let value =
            |map: &Map<f64>, image: &[Vec3<f64>]| loss_value(size, &apply(map, image), &target, Weights::default());
        let mapped = loss(size, &apply(&map, &image), &target, Weights::default());
        let (by_image, by_map) = gradients(&map, &image, &mapped.gradient);
        let eps = 1e-6;
        for k in 0..VALUES {
            let kept = map[k];
            map[k] = kept + eps;
            let high = value(&map, &image);
            map[k] = kept - eps;
            let low = value(&map, &image);
            map[k] = kept;
            let numeric = (high - low) / (2.0 * eps);
            assert!(
                (numeric - by_map[k]).abs() < 1e-6 + 1e-5 * by_map[k].abs(),
                "{k}: {numeric} {}",
                by_map[k]
            );
        }
        for i in (0..143).step_by(7) {
            for c in 0..3 {
                let kept = image[i][c];
                image[i][c] = kept + eps;
                let high = value(&map, &image);
                image[i][c] = kept - eps;
                let low = value(&map, &image);
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
            let mapped = loss([20, 20], &apply(&state.map, &image), &target, Weights::default());
            let (_, by_map) = gradients(&state.map, &image, &mapped.gradient);
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
}
