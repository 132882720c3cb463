//! Gives the spherical harmonics of all Gaussians the optimiser steps that they missed out of view.
//!
//! Where `optimizer.deferred_sh` is on, `update` leaves the colours of Gaussians out of view alone, and the last plane of the
//! second moments says in how many optimiser steps of SH a Gaussian took part. Adam goes on without a gradient, so what is
//! missed over k steps after the first n has a closed form as long as epsilon is small beside the root of the second moment
//! (Kingma & Ba 2015, algorithm 1, with g = 0):
//!
//! `dp = -(m / sqrt(v)) (S1 - eps / sqrt(v) S2)`, `S1 = sum_{j=1..k} q^j A(n + j)`, `S2 = sum_{j=1..k} p^j A2(n + j)` with
//! `A(n) = lr(n) sqrt(1 - b2^n) / (1 - b1^n)`, `A2(n) = lr(n) (1 - b2^n) / (1 - b1^n)`, `q = b1 / sqrt(b2)`, `p = b1 / b2`,
//! up to `(eps / sqrt(v))^2`; then `m *= b1^k`, `v *= b2^k`.
//!
//! Both sums are differences of two entries of a table, see [`rows`]. `project` takes colours with the missed steps,
//! `update` makes up for them before its own, both for Gaussians in view; this pass does it for all of them, before anything
//! else reads SH: a densification, a checkpoint, an export.

use super::counters::Args;
use super::generated::catch_up;
use super::views::{Chunk, Shared};
use kiln_program::Program;

/// Entry of the table for `n`, a step of the optimiser or a number of them; pairs are for degree 0 and for all others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Row {
    /// `B(n) = sum_{j>0} q^j A(n + j)` over the steps there are, where `A` is [`Row::step`] over [`Row::second_scale`].
    pub later: [f32; 2],
    /// `b1^n`.
    pub first: f32,
    /// `b2^n`.
    pub second: f32,
    /// Learning rate over `1 - b1^n` of step `n`.
    pub step: [f32; 2],
    /// `1 / sqrt(1 - b2^n)` of step `n`.
    pub second_scale: f32,
    /// `q^n`.
    pub quotient: f32,
    /// `B2(n) = sum_{j>0} p^j A2(n + j)`, where `A2` is [`Row::step`] over the square of [`Row::second_scale`].
    pub later_squares: [f32; 2],
    /// `p^n`.
    pub quotient_squares: f32,
    unused: f32,
}

/// Bytes of a row.
pub const ROW_BYTES: u64 = size_of::<Row>() as u64;

/// The table for decays `betas` and the learning rates of steps 1, 2, ..., computed backwards in f64; one row more than there
/// are steps. The sum over the `k` steps after the first `n` is `B(n) - q^k B(n + k)`, whatever comes after them, and likewise
/// for squares.
#[must_use]
pub fn rows(betas: [f32; 2], rates: &[[f64; 2]]) -> Vec<Row> {
    let [b1, b2] = betas.map(f64::from);
    let (q, p) = (b1 / b2.sqrt(), b1 / b2);
    let (mut later, mut later_squares) = ([0.0; 2], [0.0; 2]);
    let mut rows = vec![Row::default(); rates.len() + 1];
    for (n, row) in rows.iter_mut().enumerate().rev() {
        let power = |base: f64| base.powf(n as f64);
        let (first, second) = (power(b1), power(b2));
        let rate = n
            .checked_sub(1)
            .and_then(|at| rates.get(at))
            .copied()
            .unwrap_or_default();
        // Row 0 is no step: only its sums and powers are read.
        let scale = if n == 0 { 1.0 } else { (1.0 - second).sqrt() };
        let step = rate.map(|rate| if n == 0 { 0.0 } else { rate / (1.0 - first) });
        #[expect(clippy::cast_possible_truncation, reason = "the device computes in f32")]
        {
            *row = Row {
                later: later.map(|sum| sum as f32),
                first: first as f32,
                second: second as f32,
                step: step.map(|step| step as f32),
                second_scale: (1.0 / scale) as f32,
                quotient: power(q) as f32,
                later_squares: later_squares.map(|sum| sum as f32),
                quotient_squares: power(p) as f32,
                unused: 0.0,
            };
        }
        for (sum, step) in later.iter_mut().zip(step) {
            *sum = q * (step * scale + *sum);
        }
        for (sum, step) in later_squares.iter_mut().zip(step) {
            *sum = p * (step * scale * scale + *sum);
        }
    }
    rows
}

/// Appends one pass per chunk; the group counts are those of [`super::prepare_args`]. Nothing where nothing is deferred.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], sh_coefficients: u32) {
    for chunk in chunks {
        let Some(seen_plane) = chunk.planes.seen_plane() else {
            continue;
        };
        program.pass(
            &catch_up::KERNEL,
            (),
            catch_up::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                sh: chunk.sh,
                sh_m: chunk.sh_m,
                sh_v: chunk.sh_v,
            },
            catch_up::Push {
                stride: chunk.stride,
                first: chunk.first,
                sh_coefficients,
                seen_plane,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learning rates that fall to a hundredth over the run.
    fn rates(steps: u32) -> Vec<[f64; 2]> {
        let share = |n: u32| 0.01_f64.powf(f64::from(n) / f64::from(steps));
        (1..=steps)
            .map(|n| [2.5e-3, 1.25e-4].map(|rate| rate * share(n)))
            .collect()
    }

    #[test]
    fn differences_of_the_table_are_the_sums_of_the_steps() {
        for betas in [[0.9, 0.999], [0.0, 0.99], [0.95, 0.9999]] {
            let rates = rates(3000);
            let table = rows(betas, &rates);
            assert_eq!(table.len(), 3001);
            let [b1, b2] = betas.map(f64::from);
            let q = b1 / b2.sqrt();
            for n in [0, 1, 2, 7, 100, 1999] {
                for k in [1, 2, 9, 30, 200, 1000] {
                    for group in [0, 1] {
                        let term = |j: usize| {
                            let step = (n + j) as f64;
                            let bias = (1.0 - b2.powf(step)).sqrt() / (1.0 - b1.powf(step));
                            q.powf(j as f64) * rates[n + j - 1][group] * bias
                        };
                        let wanted: f64 = (1..=k).map(term).sum();
                        let (from, to) = (&table[n], &table[n + k]);
                        let found =
                            f64::from(from.later[group]) - f64::from(table[k].quotient) * f64::from(to.later[group]);
                        // Steps of one alone are taken without a difference, see `FEW_STEPS`.
                        let most = if k < 9 { 2e-6 } else { 4e-7 };
                        assert!(
                            (found - wanted).abs() <= most * wanted,
                            "{betas:?}, {k} steps after {n}: {found}, not {wanted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rows_hold_what_a_dense_step_uses() {
        let table = rows([0.9, 0.999], &rates(10));
        let [b1, b2] = [0.9_f32, 0.999].map(f64::from);
        assert_eq!((table[0].first, table[0].second, table[0].quotient), (1.0, 1.0, 1.0));
        for (n, (row, rates)) in (1..).zip(table[1..].iter().zip(rates(10))) {
            let close = |found: f32, wanted: f64| (f64::from(found) / wanted - 1.0).abs() < 1e-7;
            let step = f64::from(n);
            assert!(close(row.first, b1.powf(step)) && close(row.second, b2.powf(step)));
            assert!(close(row.step[0], rates[0] / (1.0 - b1.powf(step))));
            assert!(close(row.second_scale, 1.0 / (1.0 - b2.powf(step)).sqrt()));
        }
        assert_eq!(table[10].later, [0.0; 2]);
    }
}
