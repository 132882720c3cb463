//! The two ends of LPIPS (Zhang et al. 2018): images to network input, and features to a distance.

use super::conv3x3::Rows;
use super::generated::{lpips_difference, lpips_input};
use kiln_program::{Groups, Program, Span, fold_groups};

/// Most groups, and so sums, of one difference pass.
const MAX_SUMS: u32 = 256;

/// Tensors of the input pass.
#[derive(Clone, Copy, Debug)]
pub struct InputIo {
    /// Rendered image, three floats a pixel.
    pub image: Span,
    /// Photograph, three bytes a pixel.
    pub target: Span,
    /// Shift and scale among other floats.
    pub constants: Span,
    /// Six planes.
    pub planes: Span,
}

/// Appends the pass that makes `(v gain + offset - shift) / scale` of both images. Floats `scaling_at..scaling_at + 6`
/// of the constants are shift and scale.
pub fn record_input(program: &mut Program, io: &InputIo, pixels: u32, scaling_at: u32, [gain, offset]: [f32; 2]) {
    let push = lpips_input::Push {
        pixels,
        scaling_at,
        gain,
        offset,
    };
    let groups = Groups::Direct(fold_groups(pixels.div_ceil(64)));
    program.pass(
        &lpips_input::KERNEL,
        (),
        lpips_input::Bind {
            image: io.image,
            target: io.target,
            constants: io.constants,
            planes: io.planes,
        },
        push,
        groups,
    );
}

/// A rectangle of a tap.
#[derive(Clone, Copy, Debug)]
pub struct Tap {
    /// Channels.
    pub channels: u32,
    /// Width of the level, px.
    pub width_px: u32,
    /// Rows that the features hold.
    pub stored: Rows,
    /// Columns to sum: first and count.
    pub columns: Rows,
    /// Rows to sum, all of them stored.
    pub rows: Rows,
    /// Float at which the channel weights begin.
    pub linear_at: u32,
    /// Float at which the sums go.
    pub sums_at: u32,
}

impl Tap {
    /// Sums that the pass writes; 0 for an empty rectangle.
    #[must_use]
    pub fn sums(&self) -> u32 {
        (self.columns.count * self.rows.count).div_ceil(64).min(MAX_SUMS)
    }
}

/// Appends the pass that sums the difference of both images' features over a rectangle.
pub fn record_difference(program: &mut Program, features: Span, constants: Span, sums: Span, tap: &Tap) {
    let push = lpips_difference::Push {
        channels: tap.channels,
        width: tap.width_px,
        in_row0: tap.stored.first,
        in_rows: tap.stored.count,
        x0: tap.columns.first,
        y0: tap.rows.first,
        columns: tap.columns.count,
        rows: tap.rows.count,
        linear_at: tap.linear_at,
        sums_at: tap.sums_at,
    };
    let groups = tap.sums();
    if groups > 0 {
        program.pass(
            &lpips_difference::KERNEL,
            (),
            lpips_difference::Bind {
                features,
                constants,
                sums,
            },
            push,
            Groups::Direct([groups, 1, 1]),
        );
    }
}
