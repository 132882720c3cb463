//! Conjugate gradients, preconditioned by the diagonal.

use super::level::System;
use crate::progress::Ticker;
use crate::{Error, parallel};

/// Most iterations on the dense level, which begins from 0.
const DENSE_ITERATIONS: u64 = 300;
/// Most iterations on a finer one, which begins from the coarser solution and is as thin as its blocks.
const ITERATIONS: u64 = 60;
/// What is left of the right side when the dense level is solved.
const DENSE_TOLERANCE: f64 = 1e-5;
/// The same for finer ones.
const TOLERANCE: f64 = 1e-3;

/// Steps of progress that the solution of a level of so many blocks counts.
pub(super) const fn steps(blocks: u64, is_dense: bool) -> u64 {
    blocks * if is_dense { DENSE_ITERATIONS } else { ITERATIONS }
}

/// Solves a level, and says in how many iterations. Sums are of f64 and in the order of blocks: any number of threads
/// gives the same bytes.
pub(super) fn solve(
    system: &mut System,
    is_dense: bool,
    threads: usize,
    ticker: &mut Ticker<'_>,
) -> Result<u64, Error> {
    let (most, tolerance) = match is_dense {
        true => (DENSE_ITERATIONS, DENSE_TOLERANCE),
        false => (ITERATIONS, TOLERANCE),
    };
    let blocks = system.grid.len();
    let goal = tolerance * tolerance * system.right_side;
    let [mut direction, mut product] = std::mem::take(&mut system.room);
    let mut sums = vec![[0.0_f64; 2]; blocks];
    let total = |sums: &[[f64; 2]]| {
        let add = |a: [f64; 2], b: &[f64; 2]| [a[0] + b[0], a[1] + b[1]];
        sums.iter().fold([0.0; 2], add)
    };

    // Of the residual r with diagonal D: r' r and r' r / D.
    let items = direction.iter_mut().zip(&system.residual).zip(&system.inverse);
    parallel::each(
        threads,
        items.zip(&mut sums),
        |(((direction, residual), inverse), sums)| {
            *sums = [0.0; 2];
            for ((d, &r), &i) in direction.iter_mut().zip(residual).zip(inverse) {
                *d = r * i;
                add(sums, r, i);
            }
        },
    );
    let [mut left, mut scaled] = total(&sums);
    let mut done = 0;
    while done < most && left > goal {
        let items = product.iter_mut().zip(&mut sums).enumerate();
        parallel::each(threads, items, |(block, (product, sums))| {
            *product = system.times(block, &direction);
            let products = direction[block].iter().zip(&*product);
            *sums = [products.map(|(&d, &q)| f64::from(d) * f64::from(q)).sum(), 0.0];
        });
        let [curvature, _] = total(&sums);
        if !(curvature > 0.0 && curvature.is_finite()) {
            break;
        }
        let step = (scaled / curvature) as f32;
        let solution = system.chi.iter_mut().zip(&mut system.residual).zip(&system.inverse);
        let items = solution.zip(direction.iter().zip(&product)).zip(&mut sums);
        parallel::each(
            threads,
            items,
            |((((chi, residual), inverse), (direction, product)), sums)| {
                *sums = [0.0; 2];
                for node in 0..chi.len() {
                    chi[node] += step * direction[node];
                    residual[node] -= step * product[node];
                    add(sums, residual[node], inverse[node]);
                }
            },
        );
        let [next, next_scaled] = total(&sums);
        let keep = (next_scaled / scaled) as f32;
        (left, scaled) = (next, next_scaled);
        let items = direction.iter_mut().zip(&system.residual).zip(&system.inverse);
        parallel::each(threads, items, |((direction, residual), inverse)| {
            for ((d, &r), &i) in direction.iter_mut().zip(residual).zip(inverse) {
                *d = r * i + keep * *d;
            }
        });
        done += 1;
        ticker.step(blocks as u64)?;
    }
    ticker.step((most - done) * blocks as u64)?;
    Ok(done)
}

fn add(sums: &mut [f64; 2], residual: f32, inverse: f32) {
    let square = f64::from(residual) * f64::from(residual);
    sums[0] += square;
    sums[1] += square * f64::from(inverse);
}
