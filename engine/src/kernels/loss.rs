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
use super::generated::{loss_gradient, loss_gradient_strip, loss_reduce, ssim_maps, ssim_strip};
use super::views::{Pixels, Shared, Variants};
use crate::program::{Program, Span};

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
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: Span, maps: Span, variants: &Variants) {
    let (ssim, gradient) = match (variants.columns, pixels.masked) {
        (true, false) => (&ssim_maps::KERNEL, &loss_gradient::KERNEL),
        (true, true) => (&ssim_maps::MASKED, &loss_gradient::MASKED),
        (false, false) => (&ssim_strip::KERNEL, &loss_gradient_strip::KERNEL),
        (false, true) => (&ssim_strip::MASKED, &loss_gradient_strip::MASKED),
    };
    program.pass(
        ssim,
        (),
        ssim_maps::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            image: pixels.image,
            target: pixels.target,
            sums,
            ssim_maps: maps,
        },
        (),
        shared.groups(Args::Tiles),
    );
    program.pass(
        &loss_reduce::KERNEL,
        (),
        loss_reduce::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            sums,
        },
        (),
        shared.groups(Args::One),
    );
    program.pass(
        gradient,
        (),
        loss_gradient::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            image: pixels.image,
            target: pixels.target,
            ssim_maps: maps,
            image_gradient: pixels.gradient,
        },
        (),
        shared.groups(Args::Tiles),
    );
}

/// Appends the evaluation pass: eight sums a tile, added up by the host in f64.
pub fn record_metrics(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: Span) {
    let metrics = if pixels.masked {
        &ssim_maps::MASKED_METRICS
    } else {
        &ssim_maps::METRICS
    };
    program.pass(
        metrics,
        (),
        ssim_maps::MetricsBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            image: pixels.image,
            target: pixels.target,
            sums,
        },
        (),
        shared.groups(Args::Tiles),
    );
}
