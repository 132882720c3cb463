//! Loss `w1 L1 + w2 (1 - SSIM)` with its image gradient, and the metrics of evaluation.
//!
//! SSIM uses an 11-tap Gaussian window (sigma 1.5) with zero padding, per channel, averaged over everything (Wang et al.
//! 2004). The forward pass writes three maps per channel; the gradient pass blurs them again, so no graph is kept.

use super::counters::Args;
use super::views::{Pixels, Shared};
use crate::memory::{Program, Shader, View};
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

/// Words a tile's metric sums take: |d|, SSIM, SSIM inside the border, squared error of r, g, b, two unused.
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
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: View, maps: View) {
    let views = [
        shared.uniforms,
        shared.counters,
        pixels.image,
        pixels.target,
        sums,
        maps,
    ];
    program.pass(&SSIM, &[], &views, &(), shared.groups(Args::Tiles));
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
    program.pass(&GRADIENT, &[], &views, &(), shared.groups(Args::Tiles));
}

/// Appends the evaluation pass: eight sums a tile, added up by the host in f64.
pub fn record_metrics(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: View) {
    let views = [shared.uniforms, shared.counters, pixels.image, pixels.target, sums];
    program.pass(&METRICS, &[], &views, &(), shared.groups(Args::Tiles));
}
