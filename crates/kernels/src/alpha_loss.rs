//! Loss of coverage: `w mean |(1 - T) - mask|`, where `T` is what every pixel lets through and the mask says where
//! something is. Its gradient goes into the fourth component of the image gradient, which the backward rasteriser reads
//! in steps with [`super::uniforms::flags::ALPHA_GRADIENT`].

use super::counters::Args;
use super::generated::alpha_loss;
use super::views::{IMAGE_BYTES, Pixels, Shared};
use kiln_program::{Program, Span};

/// Bytes of the per-tile sums for `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    4 * u64::from(tiles)
}

/// Appends both passes; the colour's image gradient is made and the loss is reduced already. The photo has a mask.
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, sums: Span) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        let (target, target_base) = swath.target(pixels);
        program.pass(
            &alpha_loss::KERNEL,
            (),
            alpha_loss::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                image: swath.part(pixels.image, IMAGE_BYTES),
                target,
                image_gradient: swath.part(pixels.gradient, IMAGE_BYTES),
                alpha_sums: sums,
            },
            alpha_loss::Push {
                swath_begin: swath.begin,
                swath_end: swath.end,
                swath_base: swath.base,
                target_base,
            },
            shared.groups(Args::Tiles),
        );
    }
    program.pass(
        &alpha_loss::REDUCE,
        (),
        alpha_loss::ReduceBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            alpha_sums: sums,
        },
        (),
        shared.groups(Args::One),
    );
}
