//! The two ends of LPIPS (Zhang et al. 2018): images to network input, and features to a distance.

use super::conv3x3::Rows;
use crate::program::{Groups, Program, Shader, View, fold_groups};
use crate::shader;

/// Images to planes.
pub static INPUT: Shader = shader!("lpips_input", r image, r target, r constants, w planes);
/// Features to sums.
pub static DIFFERENCE: Shader = shader!("lpips_difference", r features, r constants, w sums);

/// Most groups, and so sums, of one difference pass.
const MAX_SUMS: u32 = 256;

/// Tensors of the input pass.
#[derive(Clone, Copy, Debug)]
pub struct InputIo {
    /// Rendered image, three floats a pixel.
    pub image: View,
    /// Photograph, three bytes a pixel.
    pub target: View,
    /// Shift and scale among other floats.
    pub constants: View,
    /// Six planes.
    pub planes: View,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct InputPush {
    pixels: u32,
    scaling_at: u32,
    gain: f32,
    offset: f32,
}

/// Appends the pass that makes `(v gain + offset - shift) / scale` of both images. Floats `scaling_at..scaling_at + 6`
/// of the constants are shift and scale.
pub fn record_input(program: &mut Program, io: &InputIo, pixels: u32, scaling_at: u32, [gain, offset]: [f32; 2]) {
    let push = InputPush {
        pixels,
        scaling_at,
        gain,
        offset,
    };
    let groups = Groups::Direct(fold_groups(pixels.div_ceil(64)));
    let views = [io.image, io.target, io.constants, io.planes];
    program.pass(&INPUT, &[], &views, &push, groups);
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

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct DifferencePush {
    channels: u32,
    width: u32,
    stored: [u32; 2],
    from: [u32; 2],
    size: [u32; 2],
    linear_at: u32,
    sums_at: u32,
}

/// Appends the pass that sums the difference of both images' features over a rectangle.
pub fn record_difference(program: &mut Program, features: View, constants: View, sums: View, tap: &Tap) {
    let push = DifferencePush {
        channels: tap.channels,
        width: tap.width_px,
        stored: [tap.stored.first, tap.stored.count],
        from: [tap.columns.first, tap.rows.first],
        size: [tap.columns.count, tap.rows.count],
        linear_at: tap.linear_at,
        sums_at: tap.sums_at,
    };
    let groups = tap.sums();
    if groups > 0 {
        let views = [features, constants, sums];
        program.pass(&DIFFERENCE, &[], &views, &push, Groups::Direct([groups, 1, 1]));
    }
}
