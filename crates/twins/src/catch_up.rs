//! Adam's steps without a gradient, many at once: what SH out of view miss when their optimiser steps are deferred.

use kiln_kernels::catch_up::Row;
use kiln_kernels::generated::common::FEW_STEPS;

/// Where the root of a second moment is below this many epsilons, more than the first power of epsilon over the root counts and
/// steps are taken one by one.
const EPSILONS: f32 = 4e3;
/// Share of a first moment that is left when the steps after it no longer count.
const SPENT: f32 = 1.5e-8;

/// The steps that a Gaussian missed.
#[derive(Clone, Copy, Debug)]
pub struct Missed<'a> {
    rows: &'a [Row],
    eps: f32,
    from: u32,
    steps: u32,
    sums: [f32; 2],
    squares: [f32; 2],
    first: f32,
    second: f32,
}

impl<'a> Missed<'a> {
    /// Of a Gaussian that took part in the first `seen` steps of `now`; `rows` is the table, `eps` Adam's.
    #[must_use]
    pub fn since(rows: &'a [Row], eps: f32, seen: u32, now: u32) -> Self {
        let steps = now - seen;
        let row = |n: u32| rows[n as usize];
        let sum = |group: usize| {
            if steps <= FEW_STEPS {
                let (mut sum, mut weight) = (0.0, 1.0);
                for j in 1..=steps {
                    let row = row(seen + j);
                    weight *= rows[1].quotient;
                    sum += weight * (row.step[group] / row.second_scale);
                }
                sum
            } else {
                row(seen).later[group] - row(steps).quotient * row(now).later[group]
            }
        };
        let squares = |group: usize| {
            if steps <= FEW_STEPS {
                let (mut sum, mut weight) = (0.0, 1.0);
                for j in 1..=steps {
                    let row = row(seen + j);
                    weight *= rows[1].quotient_squares;
                    sum += weight * (row.step[group] / row.second_scale / row.second_scale);
                }
                sum
            } else {
                row(seen).later_squares[group] - row(steps).quotient_squares * row(now).later_squares[group]
            }
        };
        Self {
            rows,
            eps,
            from: seen,
            steps,
            sums: [sum(0), sum(1)],
            squares: [squares(0), squares(1)].map(|sum| sum * eps),
            first: row(steps).first,
            second: row(steps).second,
        }
    }

    /// By how much the steps lower a value of degree 0, or of a `higher` one.
    #[must_use]
    pub fn change(&self, higher: bool, m: f32, v: f32) -> f32 {
        let (group, root) = (usize::from(higher), v.sqrt());
        if root >= EPSILONS * self.eps {
            let inverse = 1.0 / root;
            return (self.sums[group] - self.squares[group] * inverse) * (m * inverse);
        }
        let (mut change, mut m_then) = (0.0, m);
        let missed = &self.rows[self.from as usize + 1..][..self.steps as usize];
        for (powers, row) in self.rows[1..].iter().zip(missed) {
            if m_then.abs() <= SPENT * m.abs() {
                break;
            }
            m_then = powers.first * m;
            change += row.step[group] * (m_then / ((powers.second * v).sqrt() * row.second_scale + self.eps));
        }
        change
    }

    /// Brings one value and its moments up to date.
    pub fn catch_up(&self, higher: bool, value: &mut f32, m: &mut f32, v: &mut f32) {
        *value -= self.change(higher, *m, *v);
        *m *= self.first;
        *v *= self.second;
    }
}

#[cfg(test)]
mod tests;
