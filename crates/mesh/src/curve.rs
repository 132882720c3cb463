//! A curve through space on which near is mostly near: Hilbert's.

use crate::mesh::bounds;
use crate::vector::{V3, sub, wide};

/// Bits an axis of places along the curve.
const BITS: u32 = 21;

/// The curve in a cube.
pub(crate) struct Curve {
    low: V3,
    /// Cells a scene unit.
    scale: f64,
}

impl Curve {
    /// The curve in a cube around points; `None` without any.
    pub(crate) fn around(points: &[[f32; 3]]) -> Option<Self> {
        let [low, high] = bounds(points)?.map(wide);
        let side = sub(high, low).into_iter().fold(0.0, f64::max);
        let scale = f64::from((1_u32 << BITS) - 1) / side;
        Some(Self {
            low,
            // Points at one place have no size.
            scale: if scale.is_finite() { scale } else { 0.0 },
        })
    }

    /// The place along the curve of a point that it is around.
    pub(crate) fn place(&self, point: [f32; 3]) -> u64 {
        let offset = sub(wide(point), self.low);
        hilbert(offset.map(|x| (x * self.scale) as u32))
    }
}

/// The place of a cell along the Hilbert curve (Skilling 2004, "Programming the Hilbert curve").
fn hilbert(mut x: [u32; 3]) -> u64 {
    let mut q = 1 << (BITS - 1);
    while q > 1 {
        let p = q - 1;
        for i in 0..3 {
            if x[i] & q != 0 {
                x[0] ^= p;
            } else {
                let t = (x[0] ^ x[i]) & p;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
        q >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let mut t = 0;
    q = 1 << (BITS - 1);
    while q > 1 {
        if x[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let x = x.map(|x| x ^ t);
    (0..BITS).rev().fold(0, |place, bit| {
        x.iter().fold(place, |place, x| place << 1 | u64::from(x >> bit & 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_goes_from_neighbor_to_neighbor() {
        // The cells of the lowest 8 x 8 x 8 lie one after the other at its beginning.
        let mut cells: Vec<(u64, [u32; 3])> = (0..512_u32)
            .map(|i| [i & 7, i >> 3 & 7, i >> 6])
            .map(|cell| (hilbert(cell), cell))
            .collect();
        cells.sort_unstable();
        assert_eq!((cells[0].0, cells[511].0), (0, 511));
        for pair in cells.windows(2) {
            let steps: u32 = (0..3).map(|i| pair[0].1[i].abs_diff(pair[1].1[i])).sum();
            assert_eq!(steps, 1, "{pair:?}");
        }
    }
}
