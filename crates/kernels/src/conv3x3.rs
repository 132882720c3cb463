//! 3x3 convolution, stride 1, zero padding 1, bias, ReLU, on both images of a pair at once.
//!
//! Activations are f32 planes `[image][channel][row][column]`. A buffer may hold only some rows of its level
//! ([`Rows`]), so that a level need not exist as a whole. Weights are halves, unpacked to f32 in the shader; sums are
//! f32.

use super::generated::conv3x3;
use kiln_program::{Groups, Program, Span};

/// Pixels across and down that one group makes.
const TILE: [u32; 2] = [32, 16];

/// Output channels that one group makes; channel counts are multiples of it.
pub const BLOCK: u32 = 8;

/// Rows of a level that a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// First row.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Rows {
    /// One past the last row.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.first + self.count
    }
}

/// One convolution of one strip.
#[derive(Clone, Copy, Debug)]
pub struct Conv {
    /// Input and output channels.
    pub channels: [u32; 2],
    /// Width and height of the level, px.
    pub size_px: [u32; 2],
    /// Rows in the input buffer: the output's and one more on either side where the level has them.
    pub input_rows: Rows,
    /// Rows to make.
    pub output_rows: Rows,
    /// Word at which the packed weights begin.
    pub weights_at: u32,
    /// Float at which the biases begin.
    pub bias_at: u32,
}

/// Tensors of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct ConvIo {
    /// Input planes.
    pub features: Span,
    /// Packed weights, see [`pack`].
    pub weights: Span,
    /// Biases among other floats.
    pub constants: Span,
    /// Output planes.
    pub convolved: Span,
}

/// Words of packed weights from `input` to `output` channels.
#[must_use]
pub fn packed_words(input: u32, output: u32) -> u32 {
    input * output * 9 / 2
}

/// Reorders halves `[output][input][3][3]` to what the shader reads: two a word,
/// `[output / 8][input][3][3][output % 8]`.
#[must_use]
pub fn pack(halves: &[u16], input: u32, output: u32) -> Vec<u32> {
    let (input, block) = (input as usize, BLOCK as usize);
    let at = |o: usize, rest: usize| u32::from(halves.get(o * input * 9 + rest).copied().unwrap_or(0));
    let mut words = Vec::with_capacity(halves.len() / 2);
    for first in (0..output as usize).step_by(block) {
        for rest in 0..input * 9 {
            words.extend(
                (first..first + block)
                    .step_by(2)
                    .map(|o| at(o, rest) | at(o + 1, rest) << 16),
            );
        }
    }
    words
}

/// Appends the pass.
pub fn record(program: &mut Program, io: &ConvIo, conv: &Conv) {
    let [width, height] = conv.size_px.map(u32::cast_signed);
    let push = conv3x3::Push {
        in_channels: conv.channels[0],
        out_channels: conv.channels[1],
        width,
        height,
        in_row0: conv.input_rows.first.cast_signed(),
        in_rows: conv.input_rows.count.cast_signed(),
        out_row0: conv.output_rows.first.cast_signed(),
        out_rows: conv.output_rows.count.cast_signed(),
        weights_at: conv.weights_at,
        bias_at: conv.bias_at,
    };
    let tiles = conv.size_px[0].div_ceil(TILE[0]) * conv.output_rows.count.div_ceil(TILE[1]);
    let groups = Groups::Direct([conv.channels[1] / BLOCK, tiles, 2]);
    program.pass(
        &conv3x3::KERNEL,
        (),
        conv3x3::Bind {
            features: io.features,
            weights: io.weights,
            constants: io.constants,
            convolved: io.convolved,
        },
        push,
        groups,
    );
}
