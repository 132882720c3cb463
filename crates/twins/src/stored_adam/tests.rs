//! Stored moments against those of f32: over many Gaussians they must agree, and never stop.
#![expect(clippy::float_cmp, reason = "what is left alone keeps its bits")]

use super::*;
use crate::adam::{Adam, GroupStep};
use crate::rng;

const SEED: u32 = 11;

fn empty(bits: usize, colors: &[f32]) -> Words {
    let quads = colors.len().div_ceil(4);
    let moments = quads * bits / 8;
    Words {
        sh: color_words(colors, Rounding::new(SEED, 0, 0)),
        sh_m: vec![0; moments],
        sh_v: vec![0; 1 + moments],
        geometry_m: vec![0; 6],
        geometry_v: vec![0; 6],
    }
}

fn factors(rate: f64, step: u32) -> Factors<f32> {
    Adam::default().factors(GroupStep { rate, step })
}

/// The same values and moments in f32.
struct Exact {
    values: Vec<f32>,
    moments: Vec<[f32; 2]>,
}

impl Exact {
    fn new(values: &[f32]) -> Self {
        Self {
            values: values.to_vec(),
            moments: vec![[0.0; 2]; values.len()],
        }
    }

    fn update(&mut self, factors: &Factors<f32>, gradients: &[f32]) {
        for ((value, [m, v]), gradient) in self.values.iter_mut().zip(&mut self.moments).zip(gradients) {
            update(factors, value, m, v, *gradient);
        }
    }
}

fn rms(list: impl Iterator<Item = f64> + Clone) -> f64 {
    (list.clone().map(|x| x * x).sum::<f64>() / list.count() as f64).sqrt()
}

/// Colours that are pulled to targets by noisy gradients, some far weaker than others, seen every third step, end as near
/// to their targets as with f32 moments.
#[test]
fn noisy_descent_ends_where_f32_does() {
    for bits in [16, 8] {
        let (mut stored_error, mut exact_error) = (Vec::new(), Vec::new());
        for id in 0..40 {
            let start: Vec<f32> = (0..12).map(|p| 0.3 * rng::normal::<f32>(SEED, 1, id, p)).collect();
            let target: Vec<f32> = (0..12).map(|p| rng::normal::<f32>(SEED, 2, id, p)).collect();
            let mut words = empty(bits, &start);
            let mut exact = Exact::new(&start);
            for step in 1..=1500 {
                let rate = 2e-2 * 0.05_f64.powf(f64::from(step) / 1500.0);
                let of = factors(rate, step);
                let gradients = |values: &dyn Fn(usize) -> f32| -> Vec<f32> {
                    let seen = if step % 3 == 0 { 1.0 } else { 0.0 };
                    (0..12_usize)
                        .map(|p| {
                            // From 1e-6 down to 1e-9.
                            let strength = 1e-6 * 10.0_f32.powf(-(p as f32) / 4.0);
                            let noise = rng::normal::<f32>(SEED, 1000 + step, id, p as u32);
                            seen * strength * (values(p) - target[p] + noise)
                        })
                        .collect()
                };
                let of_stored = gradients(&|p| color_value(&words.sh, p));
                let rounding = Rounding::new(SEED, step, id);
                words.update_colors(bits, [Some(of); 2], &of_stored, rounding);
                let of_exact = gradients(&|p| exact.values[p]);
                exact.update(&of, &of_exact);
            }
            for (p, target) in target.iter().enumerate() {
                stored_error.push(f64::from(color_value(&words.sh, p) - target));
                exact_error.push(f64::from(exact.values[p] - target));
            }
        }
        let (stored, exact) = (rms(stored_error.iter().copied()), rms(exact_error.iter().copied()));
        assert!(
            exact < 0.2 && stored < 1.05 * exact,
            "{bits} bits: {stored}, f32 {exact}"
        );
    }
}

/// Nothing sees these Gaussians for 700 steps: moments must fade as they do in f32, not stay or vanish.
#[test]
fn moments_fade_as_in_f32() {
    for bits in [16, 8] {
        let (mut stored, mut exact) = ([0.0_f64; 2], [0.0_f64; 2]);
        for id in 0..300 {
            let mut words = empty(bits, &[0.5; 12]);
            let mut f32s = Exact::new(&[0.5; 12]);
            for step in 1..=702 {
                let gradient = if step <= 2 { 3e-7 } else { 0.0 };
                let of = factors(1e-4, step);
                words.update_colors(bits, [Some(of); 2], &[gradient; 12], Rounding::new(SEED, step, id));
                f32s.update(&of, &[gradient; 12]);
            }
            for ([m, v], [exact_m, exact_v]) in words.color_moments(bits).into_iter().zip(f32s.moments) {
                assert!(m.abs() < 1e-9, "{m}");
                assert!(exact_m.abs() < 1e-9, "{exact_m}");
                stored[0] += f64::from(v);
                exact[0] += f64::from(exact_v);
            }
            for (i, value) in f32s.values.iter().enumerate() {
                stored[1] += f64::from(color_value(&words.sh, i) - 0.5);
                exact[1] += f64::from(value - 0.5);
            }
        }
        let ratios = [stored[0] / exact[0], stored[1] / exact[1]];
        assert!(ratios.iter().all(|r| (r - 1.0).abs() < 0.02), "{bits} bits: {ratios:?}");
    }
}

/// Steps of a group stay near its learning rate also where gradients are a ten-thousandth of the largest.
#[test]
fn weak_gradients_take_steps_of_the_usual_size() {
    for bits in [16, 8] {
        let mut words = empty(bits, &[0.0; 12]);
        let mut exact = Exact::new(&[0.0; 12]);
        for step in 1..=400 {
            let of = factors(1e-2, step);
            let gradients: Vec<f32> = (0..12)
                .map(|p| rng::normal::<f32>(SEED, step, 0, p) * if p % 3 == 0 { 1e-4 } else { 1e-8 })
                .collect();
            let before: Vec<f32> = (0..12).map(|p| color_value(&words.sh, p)).collect();
            words.update_colors(bits, [Some(of); 2], &gradients, Rounding::new(SEED, step, 0));
            exact.update(&of, &gradients);
            for (p, before) in before.into_iter().enumerate() {
                let moved = (color_value(&words.sh, p) - before).abs();
                assert!(moved < 0.04, "step {step}, value {p}: {moved}");
            }
        }
        let path = |values: &dyn Fn(usize) -> f32| rms((0..12).map(|p| f64::from(values(p))));
        let (stored, f32s) = (path(&|p| color_value(&words.sh, p)), path(&|p| exact.values[p]));
        assert!(
            (0.6..1.6).contains(&(stored / f32s)),
            "{bits} bits: {stored}, f32 {f32s}"
        );
    }
}

#[test]
fn what_was_never_seen_and_what_is_left_out_stays() {
    let of = factors(1e-2, 1);
    for bits in [16, 8] {
        let start: Vec<f32> = (0..12).map(|p| 0.1 * p as f32).collect();
        let rounding = Rounding::new(SEED, 1, 7);
        let mut words = empty(bits, &start);
        let before = words.clone();
        words.update_colors(bits, [Some(of); 2], &[0.0; 12], rounding);
        words.update_colors(bits, [None; 2], &[1e-6; 12], rounding);
        words.update_geometry(&[None; 11], &mut [1.0; 11], &[1.0; 11], rounding);
        assert_eq!(words, before);
        // Degree 0 alone is active, then alone left out.
        words.update_colors(bits, [Some(of); 2], &[1e-6; 3], rounding);
        let moved = |words: &Words, p: usize| color_value(&words.sh, p) != color_value(&before.sh, p);
        assert!((0..12).all(|p| moved(&words, p) == (p < 3)));
        let mut words = before.clone();
        words.update_colors(bits, [None, Some(of)], &[1e-6; 12], rounding);
        assert!((0..12).all(|p| moved(&words, p) == (p >= 3)));
        let moments = words.color_moments(bits);
        assert!(moments[..3].iter().all(|m| *m == [0.0; 2]) && moments[3..].iter().all(|m| m[1] > 0.0));
    }
}

/// Geometry moments of 16 bits stay within half a percent of f32 over a thousand steps.
#[test]
fn moments_of_the_geometry_follow_f32() {
    let mut words = empty(8, &[0.0; 12]);
    let (mut values, mut exact) = ([0.0_f32; 11], Exact::new(&[0.0; 11]));
    let mut off = Vec::new();
    for step in 1..=1000 {
        let of = factors(1e-3, step);
        let size = [1e-12_f32, 1e-6, 3e-3, 50.0];
        let gradients: Vec<f32> = (0..11)
            .map(|p| rng::normal::<f32>(SEED, step, 1, p) * size[p as usize % 4])
            .collect();
        words.update_geometry(&[Some(of); 11], &mut values, &gradients, Rounding::new(SEED, step, 1));
        exact.update(&of, &gradients);
        if step > 100 {
            for ([_, v], [_, exact_v]) in words.geometry_moments().into_iter().zip(&exact.moments) {
                off.push(f64::from(v / exact_v) - 1.0);
            }
        }
    }
    assert!(rms(off.iter().copied()) < 0.06, "{}", rms(off.iter().copied()));
    assert!((off.iter().sum::<f64>() / off.len() as f64).abs() < 0.03);
    for (value, wanted) in values.iter().zip(exact.values) {
        assert!((value - wanted).abs() < 5e-3, "{value}, f32 {wanted}");
    }
}
