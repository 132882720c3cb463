//! The points, in the unit cube and in the order of the Z curve.

use std::ops::Range;

use super::blocks::{SIDE, morton};
use crate::vector::{V3, norm, sub, wide};

/// Levels by which samples are sorted: the deepest that there is.
pub(super) const DEEPEST: u32 = 11;
/// Side of the cube over the largest side of the samples' box, as SuGaR has it.
const SCALE: f64 = 1.1;

/// A point with a normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Place in the unit cube.
    pub(super) at: [f32; 3],
    /// Outward normal, of length 1.
    pub(super) normal: [f32; 3],
    /// Area that the sample stands for, in squared sides of the cube.
    pub(super) area: f32,
    /// Level at which samples lie so densely as the caller asks for.
    pub(super) depth: u32,
}

impl Sample {
    /// Place in units of the nodes' distance at a depth.
    pub(super) fn on(&self, depth: u32) -> [f32; 3] {
        // Exact: a power of two.
        self.at.map(|x| x * (1_u32 << depth) as f32)
    }

    /// The cell that holds the sample.
    pub(super) fn cell(&self, depth: u32) -> [i32; 3] {
        self.on(depth).map(|x| x as i32)
    }

    fn code(&self) -> u64 {
        morton(self.cell(DEEPEST))
    }
}

/// Bytes per point that [`Cloud::new`] takes at its peak.
pub(super) const POINT_BYTES: u64 = (size_of::<Sample>() + size_of::<(u64, u32)>() + size_of::<u32>()) as u64;

/// All samples, and where the cube lies.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) samples: Vec<Sample>,
    /// Which of the caller's points each sample is.
    pub(super) order: Vec<u32>,
    /// Lower corner of the cube, scene units.
    pub(super) origin: V3,
    /// Its side, scene units.
    pub(super) side: f64,
}

impl Cloud {
    /// The `count` points of these numbers with their normals; `None` unless they span a box. All are finite, no normal
    /// is 0.
    pub(super) fn new(
        points: &[[f32; 3]],
        normals: &[[f32; 3]],
        count: usize,
        taken: impl Iterator<Item = u32>,
    ) -> Option<Self> {
        // The iterator does not know its length, and a list that grows takes more.
        let mut coded: Vec<(u64, u32)> = Vec::with_capacity(count);
        coded.extend(taken.map(|index| (0, index)));
        let at = |index: u32| wide(points[index as usize]);
        let first = at(coded.first()?.1);
        let [low, high] = coded.iter().fold([first; 2], |[low, high], &(_, index)| {
            let p = at(index);
            [
                std::array::from_fn(|i| low[i].min(p[i])),
                std::array::from_fn(|i| high[i].max(p[i])),
            ]
        });
        let size = sub(high, low).into_iter().fold(0.0, f64::max);
        let largest = low.iter().chain(&high).fold(0.0_f64, |most, x| most.max(x.abs()));
        // Below this the points' own rounding is as large as cells.
        if size <= largest * 1e-6 || size < f64::from(f32::MIN_POSITIVE) {
            return None;
        }
        let side = SCALE * size;
        let origin: V3 = std::array::from_fn(|i| 0.5 * (low[i] + high[i] - side));
        let sample = |index: u32| {
            let normal = wide(normals[index as usize]);
            let length = norm(normal);
            Sample {
                at: std::array::from_fn(|i| ((at(index)[i] - origin[i]) / side) as f32),
                normal: normal.map(|x| (x / length) as f32),
                area: 0.0,
                depth: 0,
            }
        };
        for (code, index) in &mut coded {
            *code = sample(*index).code();
        }
        coded.sort_unstable();
        Some(Self {
            samples: coded.iter().map(|&(_, index)| sample(index)).collect(),
            order: coded.iter().map(|&(_, index)| index).collect(),
            origin,
            side,
        })
    }

    /// The samples in the cells of a block at a depth.
    pub(super) fn within(&self, block: [i32; 3], depth: u32) -> Range<usize> {
        if block.iter().any(|x| !(0..1 << depth).contains(&(x * SIDE as i32))) {
            return 0..0;
        }
        let shift = DEEPEST - depth;
        let low = morton(block.map(|x| (x * SIDE as i32) << shift));
        self.run(low, 3 * (SIDE.trailing_zeros() + shift))
    }

    /// The samples in a cell at a depth.
    pub(super) fn within_cell(&self, cell: [i32; 3], depth: u32) -> Range<usize> {
        if cell.iter().any(|x| !(0..1 << depth).contains(x)) {
            return 0..0;
        }
        let shift = DEEPEST - depth;
        self.run(morton(cell.map(|x| x << shift)), 3 * shift)
    }

    fn run(&self, low: u64, bits: u32) -> Range<usize> {
        let before = |code: u64| self.samples.partition_point(|sample| sample.code() < code);
        before(low)..before(low + (1 << bits))
    }

    /// Each cell of a depth that holds one of the samples that `keep` names, once, in the order of the curve.
    pub(super) fn cells(&self, depth: u32, keep: impl Fn(&Sample) -> bool) -> impl Iterator<Item = [i32; 3]> {
        let mut last = None;
        let cells = self.samples.iter().filter(move |s| keep(s)).map(move |s| s.cell(depth));
        cells.filter(move |&cell| last.replace(cell) != Some(cell))
    }
}
