//! An order of Gaussians by place: along a Morton curve (Morton 1966), on which neighbours are near each other.
//!
//! Owns the code of a place, the order that codes give, and a model put in that order. Space is contracted so that every
//! place has a code: with `q` the offset from the scene's centre in units of its extent, an axis is cut into 1024 by
//! `q / (1 + |q|)`, finely where the cameras are and coarsely far away. A centre that is not finite comes after all that are
//! on the axis. `shaders/common/morton.glsl` has the same in the same order of operations.

/// Bits of a code.
pub const CODE_BITS: u32 = 30;
/// Cells of an axis.
const CELLS: f32 = 1024.0;

/// The frame of the codes: the middle of a scene and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// World units.
    pub center: [f32; 3],
    /// One over the extent, in world units.
    pub inverse_extent: f32,
}

impl Frame {
    /// A scene around `center` that reaches `extent` far, both in world units. An extent that is no positive number counts
    /// as 1.
    #[must_use]
    pub fn new(center: [f32; 3], extent: f32) -> Self {
        let inverse = extent.recip();
        let usable = inverse.is_normal() && inverse > 0.0;
        Self {
            center: center.map(|x| if x.is_finite() { x } else { 0.0 }),
            inverse_extent: if usable { inverse } else { 1.0 },
        }
    }

    fn cell(&self, offset: f32) -> u32 {
        let q = offset * self.inverse_extent;
        if !q.is_finite() {
            return CELLS as u32 - 1;
        }
        let part = q / (1.0 + q.abs());
        let cells = part * (0.5 * CELLS) + 0.5 * CELLS;
        cells.clamp(0.0, CELLS - 1.0) as u32
    }

    /// The code of a place: bits of x, y and z in turn, those of x lowest.
    #[must_use]
    pub fn code(&self, place: [f32; 3]) -> u32 {
        (0..3).fold(0, |code, axis| {
            code | spread(self.cell(place[axis] - self.center[axis])) << axis
        })
    }
}

/// Ten bits, two zeros between each and the next.
fn spread(x: u32) -> u32 {
    let x = (x | x << 16) & 0x0300_00ff;
    let x = (x | x << 8) & 0x0300_f00f;
    let x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

/// Ids in the order of the codes of `centers`; those of equal codes keep their order.
#[must_use]
pub fn order(frame: &Frame, centers: &[[f32; 3]]) -> Vec<usize> {
    let codes: Vec<u32> = centers.iter().map(|center| frame.code(*center)).collect();
    let mut order: Vec<usize> = (0..centers.len()).collect();
    order.sort_by_key(|&i| codes.get(i).copied());
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gaussians;

    /// A third of the bits, every third one.
    fn every_third(code: u32, axis: u32) -> u32 {
        (0..10).fold(0, |x, bit| x | (code >> (3 * bit + axis) & 1) << bit)
    }

    #[test]
    fn codes_are_the_bits_of_three_cells_in_turn() {
        let frame = Frame::new([1.0, -2.0, 3.0], 4.0);
        assert_eq!(
            frame.code(frame.center),
            0b111 << 27,
            "the middle is the first cell of every upper half"
        );
        for (place, cells) in [
            // One extent away is half way to infinity.
            ([5.0, -6.0, 3.0], [768, 256, 512]),
            ([1.0 + 12.0, -2.0 - 12.0, 3.0 + 1e30], [896, 128, 1023]),
            ([f32::MAX, f32::MIN, f32::INFINITY], [1023, 0, 1023]),
            ([f32::NAN, f32::NEG_INFINITY, 3.0], [1023, 1023, 512]),
        ] {
            let code = frame.code(place);
            assert!(code < 1 << CODE_BITS);
            let found = [0, 1, 2].map(|axis| every_third(code, axis));
            assert_eq!(found, cells, "{place:?}");
        }
    }

    #[test]
    fn frames_of_odd_scenes_tell_places_apart() {
        for extent in [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 4.0] {
            let frame = Frame::new([f32::NAN, 0.0, 0.0], extent);
            assert!(frame.code([1.0; 3]) > frame.code([0.0; 3]), "{extent}");
        }
    }

    #[test]
    fn a_model_in_order_has_the_same_gaussians() {
        let frame = Frame::new([0.0; 3], 1.0);
        let at = |x: f32| [x, 0.0, 0.0];
        let model = Gaussians {
            sh_degree: 1,
            means: vec![at(3.0), at(-1.0), at(3.0), at(f32::NAN), at(0.1)],
            quats: (0..5u8).map(|i| [f32::from(i); 4]).collect(),
            log_scales: (0..5u8).map(|i| [f32::from(i); 3]).collect(),
            logit_opacities: (0..5u8).map(f32::from).collect(),
            sh0: (0..5u8).map(|i| [f32::from(i); 3]).collect(),
            sh_rest: (0..45u8).map(f32::from).collect(),
            filter_3d: (0..5u8).map(f32::from).collect(),
        };
        let sorted = model.taken(&order(&frame, &model.means));
        // Equal places keep their order, what is nowhere comes last.
        assert_eq!(sorted.logit_opacities, [1.0, 4.0, 0.0, 2.0, 3.0]);
        assert_eq!(sorted.quats[1], [4.0; 4]);
        assert_eq!(sorted.log_scales[1], [4.0; 3]);
        assert_eq!(sorted.sh0[1], [4.0; 3]);
        assert_eq!(sorted.filter_3d, sorted.logit_opacities);
        let rest: Vec<f32> = [9u8, 36, 0, 18, 27]
            .iter()
            .flat_map(|&i| (i..i + 9).map(f32::from))
            .collect();
        assert_eq!(sorted.sh_rest, rest);
        assert_eq!(sorted.means[..4], [at(-1.0), at(0.1), at(3.0), at(3.0)]);
    }
}
