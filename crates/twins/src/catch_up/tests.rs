//! Deferred steps against those of a dense optimiser.

use super::*;
use crate::adam::{Adam, Factors, GroupStep, update};
use crate::rng;
use kiln_kernels::catch_up::rows;

const SEED: u32 = 23;

/// What a run chooses of Adam, as the device has it.
#[derive(Clone, Copy, Debug)]
struct Decays {
    betas: [f32; 2],
    eps: f32,
}

/// Learning rates of `steps` steps; they fall to a hundredth.
fn rates(steps: u32) -> Vec<[f64; 2]> {
    let share = |n: u32| 0.01_f64.powf(f64::from(n) / f64::from(steps));
    (1..=steps)
        .map(|n| [2.5e-3, 1.25e-4].map(|rate| rate * share(n)))
        .collect()
}

/// Adam in f64 with the decays that f32 has.
fn wide(decays: Decays) -> Adam {
    Adam {
        beta1: decays.betas[0].into(),
        beta2: decays.betas[1].into(),
        eps: decays.eps.into(),
    }
}

fn narrow(adam: &Adam, rate: f64, step: u32) -> Factors<f32> {
    adam.factors(GroupStep { rate, step })
}

/// One value that is in view now and then, for gaps of 1 to 1000 steps: followed by a dense optimiser in f64, and by one in
/// f32 that makes up for missed steps when it comes into view. Returns the difference at each view, with the length of the
/// way until then.
fn follow(decays: Decays, rates: &[[f64; 2]], id: u32, size: f32) -> Vec<[f64; 2]> {
    let (adam, table) = (wide(decays), rows(decays.betas, rates));
    let higher = id % 2 == 1;
    let group = usize::from(higher);
    let (mut dense, mut m, mut v, mut way) = (0.0_f64, 0.0, 0.0, 0.0);
    let (mut value, mut first, mut second, mut seen) = (0.0_f32, 0.0, 0.0, 0);
    // Most gaps are short, as in training; some are as long as anything is.
    let gap = |step: u32| {
        let share: f64 = rng::uniform(SEED, step, id, 0);
        1 + (999.0 * share.powi(if step.is_multiple_of(7) { 2 } else { 8 })) as u32
    };
    let (mut next, mut found) = (gap(0), Vec::new());
    for step in 1..=rates.len() as u32 {
        let in_view = step == next;
        let rate = rates[step as usize - 1][group];
        let gradient: f32 = if in_view {
            size * rng::normal::<f32>(SEED, step, id, 1)
        } else {
            0.0
        };
        let before = dense;
        update(
            &adam.factors(GroupStep { rate, step }),
            &mut dense,
            &mut m,
            &mut v,
            gradient.into(),
        );
        way += (dense - before).abs();
        if in_view {
            let missed = Missed::since(&table, decays.eps, seen, step - 1);
            missed.catch_up(higher, &mut value, &mut first, &mut second);
            update(
                &narrow(&adam, rate, step),
                &mut value,
                &mut first,
                &mut second,
                gradient,
            );
            (seen, next) = (step, step + gap(step));
            found.push([f64::from(value) - dense, way]);
        }
    }
    let end = Missed::since(&table, decays.eps, seen, rates.len() as u32);
    end.catch_up(higher, &mut value, &mut first, &mut second);
    found.push([f64::from(value) - dense, way]);
    found
}

#[test]
fn deferred_steps_equal_dense_ones_to_a_millionth_of_the_way() {
    let rates = rates(3000);
    for betas in [[0.9, 0.999], [0.8, 0.99]] {
        for eps in [1e-15, 1e-8] {
            let decays = Decays { betas, eps };
            // Gradients of single Gaussians are small; below the last, epsilon is all there is to the denominator.
            for size in [1e-2, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-15] {
                let mut views = 0;
                for id in 0..12 {
                    for [difference, way] in follow(decays, &rates, id, size) {
                        assert!(
                            difference.abs() <= 1e-6 * way,
                            "{decays:?}, gradients of {size:e}, value {id}: {difference:e} after a way of {way:e}"
                        );
                        views += 1;
                    }
                }
                assert!(views > 200, "{views}");
            }
        }
    }
}

#[test]
fn whoever_missed_nothing_or_was_never_seen_stays() {
    let (rates, decays) = (
        rates(500),
        Decays {
            betas: [0.9, 0.999],
            eps: 1e-15,
        },
    );
    let table = rows(decays.betas, &rates);
    for (seen, now, m, v) in [(77, 77, 1e-6, 1e-11), (0, 499, 0.0, 0.0), (3, 400, 0.0, 1e-20)] {
        let (mut value, mut first, mut second) = (0.25_f32, m, v);
        Missed::since(&table, decays.eps, seen, now).catch_up(false, &mut value, &mut first, &mut second);
        assert_eq!((value.to_bits(), first.to_bits()), (0.25_f32.to_bits(), m.to_bits()));
    }
}

/// Two catches up in a row lead where one does.
#[test]
fn to_catch_up_on_the_way_changes_nothing() {
    let (rates, decays) = (
        rates(500),
        Decays {
            betas: [0.9, 0.999],
            eps: 1e-15,
        },
    );
    let table = rows(decays.betas, &rates);
    for (m, v) in [(3e-6, 4e-11), (-2e-9, 1e-18), (1e-14, 1e-29)] {
        for (from, by, to) in [(10, 11, 12), (10, 13, 300), (1, 2, 499), (100, 250, 260)] {
            let once = |stops: &[u32]| {
                let (mut value, mut first, mut second, mut seen) = (0.0_f32, m, v, from);
                for &stop in stops {
                    Missed::since(&table, decays.eps, seen, stop).catch_up(true, &mut value, &mut first, &mut second);
                    seen = stop;
                }
                [value, first, second]
            };
            let (one, two) = (once(&[to]), once(&[by, to]));
            for (one, two) in one.into_iter().zip(two) {
                assert!(
                    (one - two).abs() <= 2e-6 * one.abs().max(1e-30),
                    "{one:e}, in two {two:e}"
                );
            }
        }
    }
}
