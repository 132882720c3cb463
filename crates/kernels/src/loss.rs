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
//!
//! Where the maps are larger than a binding, one swath of the image after the other is taken to its gradient, and the maps
//! of all are the same bytes; those at the edges of a swath are made for its neighbour once more.

use super::counters::Args;
use super::generated::{loss_gradient, loss_gradient_strip, loss_reduce, ssim_maps, ssim_strip};
use super::swaths::Swaths;
use super::views::{IMAGE_BYTES, Pixels, Shared, Threads, Variants};
use kiln_program::{Program, Span};

/// Words a tile's metric sums take: |d|, SSIM, SSIM inside the border, squared error of r, g, b, and of masked photos the
/// number of pixels that count, and of those inside the border, both once a channel.
pub const METRIC_WORDS: u32 = 8;

/// Bytes of the per-tile sums of training for `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    8 * u64::from(tiles)
}

/// Bytes of a pixel's three maps per channel.
const MAPS_BYTES: u64 = 36;

/// Bytes of the three maps per channel, of as many pixels as passes bind at once.
#[must_use]
pub fn maps_bytes(swaths: &Swaths) -> u64 {
    MAPS_BYTES * u64::from(swaths.most_pixels(MAPS_BYTES))
}

/// Appends the three training passes.
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: Span, maps: Span, variants: &Variants) {
    let masked = pixels.masked.into();
    let (ssim, gradient) = match variants.threads {
        Threads::Pixels => (&ssim_strip::KERNEL, &loss_gradient_strip::KERNEL),
        Threads::Columns | Threads::Lanes => (&ssim_maps::KERNEL, &loss_gradient::KERNEL),
    };
    let swaths = pixels.swaths.of(MAPS_BYTES);
    for (index, swath) in swaths.iter().enumerate() {
        let (target, target_base) = swath.target(pixels);
        let image = swath.part(pixels.image, IMAGE_BYTES);
        let push = ssim_maps::Push {
            swath_begin: swath.begin,
            swath_end: swath.end,
            swath_base: swath.base,
            target_base,
            map_pixels: pixels.swaths.most_pixels(MAPS_BYTES),
        };
        program.pass(
            ssim,
            ssim_maps::Spec { masked },
            ssim_maps::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                image,
                target,
                sums,
                ssim_maps: maps,
            },
            push,
            shared.groups(Args::Tiles),
        );
        if index + 1 == swaths.len() {
            record_reduce(program, shared, sums);
        }
        program.pass(
            gradient,
            loss_gradient::Spec { masked },
            loss_gradient::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                image,
                target,
                ssim_maps: maps,
                image_gradient: swath.part(pixels.gradient, IMAGE_BYTES),
            },
            bytemuck::cast(push),
            shared.groups(Args::Tiles),
        );
    }
}

/// Appends the pass that adds up the sums of all tiles.
fn record_reduce(program: &mut Program, shared: &Shared, sums: Span) {
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
}

/// Appends the evaluation pass: eight sums a tile, added up by the host in f64.
pub fn record_metrics(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: Span) {
    let masked = pixels.masked.into();
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        let (target, target_base) = swath.target(pixels);
        program.pass(
            &ssim_maps::METRICS,
            ssim_maps::Spec { masked },
            ssim_maps::MetricsBind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                image: swath.part(pixels.image, IMAGE_BYTES),
                target,
                sums,
            },
            ssim_maps::Push {
                swath_begin: swath.begin,
                swath_end: swath.end,
                swath_base: swath.base,
                target_base,
                map_pixels: 0,
            },
            shared.groups(Args::Tiles),
        );
    }
}
