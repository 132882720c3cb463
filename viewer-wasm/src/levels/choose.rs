//! Which level of each leaf a camera is worth, within a budget of splats.
//!
//! A pure function of leaves, camera and budget. Steps towards finer levels stand in a line that the budget does not change: first
//! every leaf at its coarsest level, then steps by how coarse what they replace looks. The budget says how far along the line
//! one comes, so that a larger one never shows anything coarser.

use super::index::Leaf;
use super::room;
use crate::math::{Vec3, dot, length, scale, sub};
use crate::order::rising;
use crate::sort::{NEAR, Sight};

/// A level whose splats lie closer together than this in the picture need not be finer, pixels.
const FINE_PX: f32 = 1.0;
/// What a leaf beside or behind the picture counts, for when one turns.
const BESIDE: f32 = 0.1;

/// What is chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choice {
    /// Of each leaf the level that it is to be shown in, 0 for its finest; none where not even the coarsest fits.
    pub(crate) levels: Vec<Option<usize>>,
    /// Leaves that have one, the most visible first.
    pub(crate) order: Vec<usize>,
}

/// Chooses levels so that they and the coarsest levels, which are held as well, have room in the budget. Without a camera
/// all leaves count alike, and coarsest levels are chosen only.
pub(crate) fn choose(leaves: &[Leaf], sight: Option<&Sight>, budget: u32) -> Choice {
    let mut choice = Choice {
        levels: vec![None; leaves.len()],
        order: Vec::new(),
    };
    let seen: Vec<f32> = leaves
        .iter()
        .map(|leaf| sight.map_or(0.0, |sight| size_px(leaf, sight)))
        .collect();
    let mut left = i64::from(budget);
    let order = rising((0..leaves.len()).collect(), |leaf| {
        -f64::from(if leaves[*leaf].always { f32::MAX } else { seen[*leaf] })
    });
    for leaf in order {
        let Some(coarsest) = leaves[leaf].runs.len().checked_sub(1) else {
            continue;
        };
        left -= cost(&leaves[leaf], coarsest);
        if left < 0 {
            return choice;
        }
        choice.levels[leaf] = Some(coarsest);
        choice.order.push(leaf);
    }
    let mut steps = Vec::new();
    for (at, leaf) in leaves.iter().enumerate() {
        let mut before = f32::MAX;
        for level in (1..leaf.runs.len()).rev() {
            // A step never comes before one that leads to it.
            before = before.min(seen[at] / (leaf.runs[level].count as f32).sqrt());
            if before > FINE_PX {
                steps.push((before, at, level - 1));
            }
        }
    }
    for (_, leaf, level) in rising(steps, |(px, ..)| -f64::from(*px)) {
        // The coarsest level stays; any other makes room.
        let replaced = if level + 2 < leaves[leaf].runs.len() {
            cost(&leaves[leaf], level + 1)
        } else {
            0
        };
        left -= cost(&leaves[leaf], level) - replaced;
        if left < 0 {
            break;
        }
        choice.levels[leaf] = Some(level);
    }
    choice
}

fn cost(leaf: &Leaf, level: usize) -> i64 {
    room(leaf.runs[level].count).into()
}

/// How large a leaf looks, pixels: with n splats on its surfaces, a splat has the square root of n in that.
fn size_px(leaf: &Leaf, sight: &Sight) -> f32 {
    let eye = sight
        .rows
        .iter()
        .fold([0.0; 3], |eye: Vec3, [a, b, c, d]| sub(eye, scale([*a, *b, *c], *d)));
    let nearest = std::array::from_fn(|axis| eye[axis].max(leaf.min[axis]).min(leaf.max[axis]));
    let distance = length(sub(nearest, eye)).max(NEAR);
    let extent = sub(leaf.max, leaf.min);
    let radius = 0.5 * length(extent);
    let middle: Vec3 = std::array::from_fn(|axis| 0.5 * (leaf.min[axis] + leaf.max[axis]));
    let [right, down, depth] = sight.rows.map(|[a, b, c, d]| dot([a, b, c], middle) + d);
    let mut inside = depth + radius > NEAR;
    for (at, [low, high]) in [right, down].into_iter().zip(sight.slopes) {
        // How far the ball around the box reaches across either border.
        let reach = |slope: f32| radius * (1.0 + slope * slope).sqrt();
        inside &= at + reach(low) > low * depth && at - reach(high) < high * depth;
    }
    let share = if inside { 1.0 } else { BESIDE };
    share * 2.0 * radius * sight.focal / distance
}

#[cfg(test)]
mod tests {
    use super::super::index::Run;
    use super::*;
    use crate::camera::{Lens, Pose};

    /// A street of equal leaves along z, four levels each.
    fn street(n: usize) -> Vec<Leaf> {
        let leaf = |at: usize| Leaf {
            min: [-1.0, -1.0, at as f32 * 2.0],
            max: [1.0, 1.0, at as f32 * 2.0 + 2.0],
            runs: [8000, 4000, 2000, 1000]
                .into_iter()
                .enumerate()
                .map(|(file, count)| Run { file, offset: 0, count })
                .collect(),
            always: false,
        };
        (0..n).map(leaf).collect()
    }

    fn sight(z: f32) -> Sight {
        Pose::looking_at([0.3, 0.1, z], [0.3, 0.1, z + 1.0], [0.0, -1.0, 0.0]).sight(&Lens::plain([1600, 1000]), 1.0)
    }

    /// Splats that a choice holds: what is shown, and the coarsest level below it.
    fn held(leaves: &[Leaf], choice: &Choice) -> u32 {
        let of = |(leaf, level): (&Leaf, &Option<usize>)| {
            let last = leaf.runs.len() - 1;
            level.map_or(0, |level| {
                let shown = if level == last { 0 } else { room(leaf.runs[level].count) };
                shown + room(leaf.runs[last].count)
            })
        };
        leaves.iter().zip(&choice.levels).map(of).sum()
    }

    #[test]
    fn the_budget_is_never_exceeded_and_more_of_it_is_never_coarser() {
        let leaves = street(40);
        for z in [-3.0, 30.0, 90.0] {
            let mut before: Option<Choice> = None;
            for budget in (0..420_000).step_by(3_700) {
                let choice = choose(&leaves, Some(&sight(z)), budget);
                assert!(held(&leaves, &choice) <= budget, "{budget}");
                assert_eq!(choice.order.len(), choice.levels.iter().flatten().count());
                if let Some(before) = before {
                    for (old, new) in before.levels.iter().zip(&choice.levels) {
                        assert!(old.is_none_or(|old| new.is_some_and(|new| new <= old)), "{budget}");
                    }
                }
                before = Some(choice);
            }
        }
        assert_eq!(choose(&leaves, Some(&sight(-3.0)), 0).order, [0; 0]);
    }

    #[test]
    fn the_coarsest_level_of_everything_comes_first() {
        let leaves = street(40);
        let coarsest = 40 * room(1000);
        let choice = choose(&leaves, Some(&sight(-3.0)), coarsest);
        assert!(choice.levels.iter().all(|level| *level == Some(3)));
        let choice = choose(&leaves, Some(&sight(-3.0)), coarsest + room(2000));
        assert_eq!(choice.levels.iter().filter(|level| **level == Some(2)).count(), 1);
        let choice = choose(&leaves, Some(&sight(-3.0)), coarsest - 1);
        assert_eq!(choice.levels.iter().flatten().count(), 39);
        assert_eq!(choice.levels[39], None, "the farthest goes without");
        let blind = choose(&leaves, None, u32::MAX);
        assert!(blind.levels.iter().all(|level| *level == Some(3)));
    }

    #[test]
    fn what_is_nearer_is_finer_and_what_is_seen_comes_before_what_is_not() {
        let leaves = street(40);
        for budget in [60_000, 120_000, 250_000] {
            let levels = choose(&leaves, Some(&sight(-3.0)), budget).levels;
            assert!(levels.windows(2).all(|pair| pair[0] <= pair[1]), "{levels:?}");
            assert!(levels[0] < levels[39], "{levels:?}");
        }
        // From the middle of the street forward: behind is coarser than as far ahead.
        let levels = choose(&leaves, Some(&sight(40.0)), 120_000).levels;
        assert!(levels[25] < levels[14], "{levels:?}");
    }

    #[test]
    fn what_is_finer_than_pixels_is_not_chosen_and_the_environment_is_always() {
        let mut leaves = street(2);
        let far = choose(&leaves, Some(&sight(-5000.0)), u32::MAX);
        assert_eq!(far.levels, [Some(3), Some(3)]);
        let near = choose(&leaves, Some(&sight(-0.5)), u32::MAX);
        assert_eq!(near.levels, [Some(0), Some(0)]);
        leaves.push(Leaf {
            always: true,
            runs: vec![Run {
                file: 0,
                offset: 0,
                count: 500,
            }],
            ..leaves[0].clone()
        });
        let choice = choose(&leaves, Some(&sight(-5000.0)), 600);
        assert_eq!((choice.order, choice.levels[2]), (vec![2], Some(0)));
    }
}
