//! The order in which points go in.

use robust::{Coord, orient2d};

use super::space::orient;
use crate::curve::Curve;
use crate::random::Random;
use crate::vector::wide;

/// Most rounds.
const ROUNDS: u32 = 24;
/// Seed of the rounds.
const SEED: u64 = 0x6b69_6c6e;

/// These points, in rounds of which each has about half of those that are left, the last the most; within a round along
/// a Hilbert curve.
pub(super) fn insertion(points: &[[f32; 3]], chosen: &[u32]) -> Vec<u32> {
    let Some(curve) = Curve::around(points) else {
        return Vec::new();
    };
    let random = Random::new(SEED);
    let key = |point: u32| {
        let round = random.bits(u64::from(point)).trailing_zeros().min(ROUNDS);
        (ROUNDS - round, curve.place(points[point as usize]), point)
    };
    let mut keys: Vec<(u32, u64, u32)> = chosen.iter().map(|&point| key(point)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, _, point)| point).collect()
}

/// The first four of distinct points that do not lie in a plane, positively oriented.
pub(super) fn first_four(points: &[[f32; 3]], order: &[u32]) -> Option<[u32; 4]> {
    let at = |point: u32| wide(points[point as usize]);
    let (&[a, b], rest) = order.split_first_chunk()?;
    // Points are on a line when they are so in all three views along an axis.
    let aligned = |c: u32| {
        [(0, 1), (1, 2), (2, 0)].into_iter().all(|(i, j)| {
            let flat = |point: u32| Coord {
                x: at(point)[i],
                y: at(point)[j],
            };
            orient2d(flat(a), flat(b), flat(c)) == 0.0
        })
    };
    let c = rest.iter().copied().find(|&c| !aligned(c))?;
    rest.iter().find_map(|&d| match orient(at(a), at(b), at(c), at(d)) {
        volume if volume > 0.0 => Some([a, b, c, d]),
        volume if volume < 0.0 => Some([b, a, c, d]),
        _ => None,
    })
}
