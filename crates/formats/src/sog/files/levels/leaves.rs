//! Levels of leaves, a few leaves at a time.

use std::thread;

use super::{Cloud, Tree, reduce};
use crate::{Error, sog::Splats as _};

/// Gaussians of a leaf at level 0, at most.
pub const LEAF: usize = 1 << 14;
/// Leaves in memory at a time, at most: a machine with many cores has no more memory for it.
const AT_ONCE: usize = 16;

/// Passes the levels of each leaf to `take`, finest first, leaf after leaf.
///
/// `gather` gives the Gaussians of a leaf by its number; it is called once for each, in order. Level `k` has `1 / 2^k` of
/// them, at least one.
///
/// # Errors
/// Those of `gather` and `take`.
pub fn each_leaf(
    tree: &Tree,
    n_levels: usize,
    gather: &mut dyn FnMut(usize) -> Result<Cloud, Error>,
    take: &mut dyn FnMut(usize, Vec<Cloud>) -> Result<(), Error>,
) -> Result<(), Error> {
    let at_once = thread::available_parallelism().map_or(1, |n| n.get()).min(AT_ONCE);
    for first in (0..tree.n_leaves()).step_by(at_once) {
        let clouds = (first..tree.n_leaves().min(first + at_once))
            .map(|leaf| gather(leaf).map(|cloud| cloud.in_morton_order()))
            .collect::<Result<Vec<Cloud>, Error>>()?;
        for (leaf, levels) in (first..).zip(halve_all(clouds, n_levels)) {
            take(leaf, levels)?;
        }
    }
    Ok(())
}

/// All levels of some leaves, a thread for each.
fn halve_all(leaves: Vec<Cloud>, n_levels: usize) -> Vec<Vec<Cloud>> {
    let halved = |cloud: Cloud| {
        let mut levels = vec![cloud];
        for level in 1..n_levels {
            let most = levels[0].len() >> level;
            let coarser = reduce(&levels[level - 1], most);
            levels.push(coarser);
        }
        levels
    };
    let mut all: Vec<Vec<Cloud>> = vec![Vec::new(); leaves.len()];
    thread::scope(|scope| {
        for (cloud, place) in leaves.into_iter().zip(&mut all) {
            scope.spawn(move || *place = halved(cloud));
        }
    });
    all
}
