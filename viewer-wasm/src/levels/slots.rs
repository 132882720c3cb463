//! Places in the textures: given out in grains, taken back, never twice at a time.

use std::ops::Range;

use super::{GRAIN, room};

/// Places of a model.
#[derive(Debug, Default)]
pub(super) struct Slots {
    taken: Vec<bool>,
    n_free: usize,
}

impl Slots {
    /// So many places, whole grains of them.
    pub(super) fn new(count: u32) -> Self {
        let n_free = (count / GRAIN) as usize;
        Self {
            taken: vec![false; n_free],
            n_free,
        }
    }

    /// Splats that would still fit.
    pub(super) fn free(&self) -> u32 {
        self.n_free as u32 * GRAIN
    }

    /// Places for so many splats, as few ranges as there may be; none when they do not fit.
    pub(super) fn take(&mut self, count: u32) -> Option<Vec<Range<u32>>> {
        let mut left = room(count) / GRAIN;
        self.n_free = self.n_free.checked_sub(left as usize)?;
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for (taken, at) in self.taken.iter_mut().zip((0_u32..).map(|grain| grain * GRAIN)) {
            if left == 0 {
                break;
            }
            if std::mem::replace(taken, true) {
                continue;
            }
            left -= 1;
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end += GRAIN,
                _ => ranges.push(at..at + GRAIN),
            }
        }
        // What is left of the last grain is nobody's.
        if let Some(last) = ranges.last_mut() {
            last.end -= room(count) - count;
        }
        Some(ranges)
    }

    /// Takes places back.
    pub(super) fn give_back(&mut self, ranges: &[Range<u32>]) {
        for range in ranges {
            let grains = range.start / GRAIN..range.end.div_ceil(GRAIN);
            self.n_free += grains.len();
            self.taken[grains.start as usize..grains.end as usize].fill(false);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn places_are_given_out_once() {
        let mut slots = Slots::new(640);
        let [a, b, c] = [100, 64, 300].map(|count| slots.take(count).unwrap());
        let one = |range: Range<u32>| std::iter::once(range).collect::<Vec<_>>();
        assert_eq!([a, b.clone(), c], [one(0..100), one(128..192), one(192..492)]);
        assert_eq!((slots.free(), slots.take(129)), (128, None));
        slots.give_back(&b);
        assert_eq!(slots.take(150), Some(vec![128..192, 512..598]));
        assert_eq!((slots.free(), slots.take(0)), (0, Some(vec![])));
    }
}
