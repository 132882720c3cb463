//! Loss of coverage: `w mean |(1 - T) - mask|`, where `T` is what every pixel lets through and the mask says where
//! something is. Its gradient goes into the fourth component of the image gradient, which the backward rasteriser reads
//! in steps with [`super::uniforms::flags::ALPHA_GRADIENT`].

use super::counters::Args;
use super::views::{Pixels, Shared};
use crate::program::{Program, Shader, View};
use crate::shader;

/// Gradient and sums.
pub static GRADIENT: Shader =
    shader!("alpha_loss", r uniforms, r counters, r image, r target, rw image_gradient, w alpha_sums);
/// Adds the mean to the loss.
pub static REDUCE: Shader = shader!("alpha_loss.reduce", r uniforms, rw counters, r alpha_sums);

/// Bytes of the per-tile sums for `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    4 * u64::from(tiles)
}

/// Appends both passes; the colour's image gradient is made and the loss is reduced already. The photo has a mask.
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: View) {
    let views = [
        shared.uniforms,
        shared.counters,
        pixels.image,
        pixels.target,
        pixels.gradient,
        sums,
    ];
    program.pass(&GRADIENT, &[], &views, &(), shared.groups(Args::Tiles));
    let views = [shared.uniforms, shared.counters, sums];
    program.pass(&REDUCE, &[], &views, &(), shared.groups(Args::One));
}
