//! The order of Gaussians: a Morton code (Morton 1966) of 21 bits an axis.
//!
//! Space is contracted, so that every place has a code: with `q` the offset from the middle in units of the extent, an axis is cut
//! into 2^21 by `q / (1 + |q|)`. Additions, products and quotients of f64 alone: the same code on every machine.

/// Cells of an axis.
const CELLS: f64 = 2_097_152.0;
/// Bits of a code.
pub(super) const CODE_BITS: u32 = 63;

/// The middle of a scene and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// World units.
    pub center: [f64; 3],
    /// World units, above 0.
    pub extent: f64,
}

impl Frame {
    /// The code of a place: bits of x, y and z in turn, those of x lowest.
    #[must_use]
    pub fn code(&self, place: [f32; 3]) -> u64 {
        (0..3).fold(0, |code, axis| {
            let q = (f64::from(place[axis]) - self.center[axis]) / self.extent;
            let part = q / (1.0 + q.abs());
            let cell = (part * (0.5 * CELLS) + 0.5 * CELLS).clamp(0.0, CELLS - 1.0);
            code | spread(cell as u64) << axis
        })
    }
}

/// 21 bits, two zeros between each and the next.
const fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_bits_of_three_cells_in_turn() {
        let frame = Frame {
            center: [1.0, 2.0, 3.0],
            extent: 4.0,
        };
        assert_eq!(frame.code([1.0, 2.0, 3.0]), 0b111 << 60, "the middle");
        let cell = |code: u64, axis: u32| (0..21).fold(0, |x, bit| x | (code >> (3 * bit + axis) & 1) << bit);
        // One extent away is half way to infinity.
        let code = frame.code([5.0, -2.0, f32::MAX]);
        assert_eq!(
            [0, 1, 2].map(|axis| cell(code, axis)),
            [3 << 19, 1 << 19, (1 << 21) - 1]
        );
        assert!(code < 1 << CODE_BITS);
    }
}
