//! Histograms of the whole model: 64 bins each of opacity, scale, rotation and distance, counted over all Gaussians.
//!
//! | quantity | of | bins |
//! |---|---|---|
//! | opacity | `sigmoid(logit)` | even over [0, 1] |
//! | scale | `exp(log scale)`, three a Gaussian | 2 an octave from 2^-20 |
//! | rotation | length of the quaternion as stored | 8 an octave from 2^-4 |
//! | distance | length of the mean | 4 an octave from 2^-6 |
//!
//! Edges of the last three are floats that share their leading bits, so that the bin is a shift of the value's bits and
//! host and device agree on it exactly; within an octave the bins are even. Values outside go to the first and last bin,
//! what is not a number to none. All four together are 1 KiB.

use super::counters::Args;
use super::generated::histogram;
use super::views::{Chunk, Shared};
use kiln_program::{Program, Span};

/// Bins of each histogram.
pub const BINS: usize = 64;
/// Bytes of all histograms, one word a bin.
pub const BYTES: u64 = 4 * (BINS * Quantity::ALL.len()) as u64;

/// What is counted, in the order of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Opacity without the 3D filter.
    Opacity,
    /// Standard deviation along each axis, without the 3D filter, scene units.
    Scale,
    /// Length of the quaternion.
    Rotation,
    /// Distance of the mean from the origin, scene units.
    Distance,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Opacity, Self::Scale, Self::Rotation, Self::Distance];

    /// For bins by leading bits: bits dropped from the mantissa's end, and what is left of the first bin's lower edge.
    #[must_use]
    pub const fn leading_bits(self) -> Option<(u32, u32)> {
        match self {
            Self::Opacity => None,
            Self::Scale => Some((22, 214)),
            Self::Rotation => Some((20, 984)),
            Self::Distance => Some((21, 484)),
        }
    }

    /// The 65 ends of the bins, ascending.
    #[must_use]
    pub fn edges(self) -> [f64; BINS + 1] {
        std::array::from_fn(|i| match self.leading_bits() {
            None => i as f64 / BINS as f64,
            Some((shift, least)) => f64::from(f32::from_bits((least + i as u32) << shift)),
        })
    }
}

/// Appends the clearing of `histogram` ([`BYTES`]) and one pass a chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], histogram: Span) {
    program.fill(histogram, 0);
    for chunk in chunks {
        let push = histogram::Push {
            stride: chunk.stride,
            first: chunk.first,
        };
        program.pass(
            &histogram::KERNEL,
            (),
            histogram::Bind {
                counters: shared.counters,
                geometry: chunk.geometry,
                histogram,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_powers_of_two_and_what_lies_evenly_between() {
        for (quantity, first, last, second) in [
            (Quantity::Opacity, 0.0, 1.0, 1.0 / 64.0),
            (Quantity::Scale, 2f64.powi(-20), 2f64.powi(12), 1.5 * 2f64.powi(-20)),
            (Quantity::Rotation, 2f64.powi(-4), 2f64.powi(4), 1.125 / 16.0),
            (Quantity::Distance, 2f64.powi(-6), 2f64.powi(10), 1.25 / 64.0),
        ] {
            let edges = quantity.edges();
            assert_eq!([edges[0], edges[1], edges[BINS]], [first, second, last]);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(BYTES, 1024);
    }
}
