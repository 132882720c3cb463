//! Loss `w1 L1 + w2 (1 - SSIM)` with its image gradient, and the metrics of evaluation.
//!
//! SSIM uses an 11-tap Gaussian window (sigma 1.5) with zero padding, per channel, averaged over everything (Wang et al.
//! 2004). The forward pass writes three maps per channel; the gradient pass blurs them again, so no graph is kept. Both
//! come in two shapes, which differ in the order of sums: a tile a group for software drivers and small devices, a strip
//! of the image a group for the others.
//!
//! With masks, image and target are multiplied by the mask before both terms, which stay means over all pixels: masked
//! pixels carry no loss and no gradient, the others weigh what they weigh without a mask, and SSIM is 1 where a window
//! sees only masked pixels. Evaluation takes its means over the pixels that count.

use super::counters::Args;
use super::views::{Pixels, Shared, Variants};
use crate::program::{Program, Shader, View};
use crate::shader;

/// SSIM maps and sums.
pub static SSIM: Shader = shader!("ssim_maps", r uniforms, r counters, r image, r target, w sums, w ssim_maps);
/// Image gradient.
pub static GRADIENT: Shader =
    shader!("loss_gradient", r uniforms, r counters, r image, r target, r ssim_maps, w image_gradient);
/// Means.
pub static REDUCE: Shader = shader!("loss_reduce", r uniforms, rw counters, r sums);
/// Sums for evaluation.
pub static METRICS: Shader = shader!("ssim_maps.metrics", r uniforms, r counters, r image, r target, w sums);

/// [`SSIM`] of a masked photo.
pub static SSIM_MASKED: Shader =
    shader!("ssim_maps.masked", r uniforms, r counters, r image, r target, w sums, w ssim_maps);
/// [`GRADIENT`] of a masked photo.
pub static GRADIENT_MASKED: Shader =
    shader!("loss_gradient.masked", r uniforms, r counters, r image, r target, r ssim_maps, w image_gradient);
/// [`METRICS`] of a masked photo.
pub static METRICS_MASKED: Shader =
    shader!("ssim_maps.masked_metrics", r uniforms, r counters, r image, r target, w sums);

/// [`SSIM`], walking down strips.
pub static SSIM_STRIP: Shader = shader!("ssim_strip", r uniforms, r counters, r image, r target, w sums, w ssim_maps);
/// [`GRADIENT`], walking down strips.
pub static GRADIENT_STRIP: Shader =
    shader!("loss_gradient_strip", r uniforms, r counters, r image, r target, r ssim_maps, w image_gradient);
/// [`SSIM_STRIP`] of a masked photo.
pub static SSIM_STRIP_MASKED: Shader =
    shader!("ssim_strip.masked", r uniforms, r counters, r image, r target, w sums, w ssim_maps);
/// [`GRADIENT_STRIP`] of a masked photo.
pub static GRADIENT_STRIP_MASKED: Shader =
    shader!("loss_gradient_strip.masked", r uniforms, r counters, r image, r target, r ssim_maps, w image_gradient);

/// Words a tile's metric sums take: |d|, SSIM, SSIM inside the border, squared error of r, g, b, and of masked photos the
/// number of pixels that count, and of those inside the border, both once a channel.
pub const METRIC_WORDS: u32 = 8;

/// Bytes of the per-tile sums of training for `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    8 * u64::from(tiles)
}

/// Bytes of the three maps per channel for `pixels` pixels.
#[must_use]
pub fn maps_bytes(pixels: u32) -> u64 {
    36 * u64::from(pixels)
}

/// Appends the three training passes.
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: View, maps: View, variants: &Variants) {
    let (ssim, gradient) = match (variants.columns, pixels.masked) {
        (true, false) => (&SSIM, &GRADIENT),
        (true, true) => (&SSIM_MASKED, &GRADIENT_MASKED),
        (false, false) => (&SSIM_STRIP, &GRADIENT_STRIP),
        (false, true) => (&SSIM_STRIP_MASKED, &GRADIENT_STRIP_MASKED),
    };
    let views = [
        shared.uniforms,
        shared.counters,
        pixels.image,
        pixels.target,
        sums,
        maps,
    ];
    let spec = [u32::from(variants.jitter)];
    program.pass(ssim, &spec, &views, &(), shared.groups(Args::Tiles));
    let views = [shared.uniforms, shared.counters, sums];
    program.pass(&REDUCE, &[], &views, &(), shared.groups(Args::One));
    let views = [
        shared.uniforms,
        shared.counters,
        pixels.image,
        pixels.target,
        maps,
        pixels.gradient,
    ];
    program.pass(gradient, &spec, &views, &(), shared.groups(Args::Tiles));
}

/// Appends the evaluation pass: eight sums a tile, added up by the host in f64.
pub fn record_metrics(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: View) {
    let views = [shared.uniforms, shared.counters, pixels.image, pixels.target, sums];
    let metrics = if pixels.masked { &METRICS_MASKED } else { &METRICS };
    // Evaluation has no jitter.
    program.pass(metrics, &[0], &views, &(), shared.groups(Args::Tiles));
}
