//! Exposure of each training photo: an affine map of colours `e(x) = A x + b` between the rendered image and the loss,
//! with an Adam optimiser (Kingma and Ba 2015) of its own. It takes up what differs between photos of one scene and is
//! no property of the scene: shutter, gain, white balance.
//!
//! The map, its moments and its number of steps live on the device. Maps and the model's colours may drift away together at
//! no loss: what all maps share says nothing about photos, and views that were held out have no map that takes it up. So
//! every [`CENTRE_EVERY`] iterations the mean of all maps is put back to [`IDENTITY`], by taking its difference from each. A
//! map is also pulled towards doing nothing, by a weight in the loss times half its squared distance from that.

use super::counters::Args;
use super::generated::exposure;
use super::swaths::Swath;
use super::views::{IMAGE_BYTES, Pixels, Shared};
use kiln_program::{Program, Span};

/// Numbers of a map: three rows of four.
pub const VALUES: usize = 12;
/// Words of a view: the map, two moments, the number of steps, and three of no use.
pub const WORDS: usize = exposure::EXPOSURE_WORDS as usize;
/// The map that does nothing.
pub const IDENTITY: [f32; VALUES] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
pub use super::generated::exposure::CENTRE_EVERY;

/// Tensors of the exposures.
#[derive(Clone, Copy, Debug)]
pub struct Exposures {
    /// [`WORDS`] words a training view, and where cameras are corrected a test view; lives as long as the run.
    pub state: Span,
    /// The image after the map.
    pub image: Span,
    /// [`VALUES`] sums a tile, from the loss to the update.
    pub sums: Span,
}

/// Bytes of the state of `views` views.
#[must_use]
pub fn state_bytes(views: u32) -> u64 {
    4 * WORDS as u64 * u64::from(views)
}

/// Bytes of the sums of `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    4 * VALUES as u64 * u64::from(tiles)
}

/// The state of `views` views that were never updated.
#[must_use]
pub fn start(views: u32) -> Vec<f32> {
    let mut one = [0.0; WORDS];
    one[..VALUES].copy_from_slice(&IDENTITY);
    one.repeat(views as usize)
}

/// Appends the map; the loss is to be taken of [`Exposures::image`].
pub fn record_apply(program: &mut Program, shared: &Shared, pixels: &Pixels, exposures: &Exposures) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        program.pass(
            &exposure::KERNEL,
            (),
            exposure::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                exposures: exposures.state,
                image: swath.part(pixels.image, IMAGE_BYTES),
                exposed_image: swath.part(exposures.image, IMAGE_BYTES),
            },
            push(&swath),
            shared.groups(Args::Tiles),
        );
    }
}

fn push(swath: &Swath) -> exposure::Push {
    exposure::Push {
        swath_begin: swath.begin,
        swath_end: swath.end,
        swath_base: swath.base,
    }
}

/// Appends what turns the gradient of the mapped image into that of the image, and into the sums.
pub fn record_gradient(program: &mut Program, shared: &Shared, pixels: &Pixels, exposures: &Exposures) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        program.pass(
            &exposure::GRADIENT,
            (),
            exposure::GradientBind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                exposures: exposures.state,
                image: swath.part(pixels.image, IMAGE_BYTES),
                image_gradient: swath.part(pixels.gradient, IMAGE_BYTES),
                exposure_sums: exposures.sums,
            },
            push(&swath),
            shared.groups(Args::Tiles),
        );
    }
}

/// Appends the step of the view's map, and what keeps the mean of the first `views` maps in its place.
pub fn record_update(program: &mut Program, shared: &Shared, exposures: &Exposures, views: u32) {
    program.pass(
        &exposure::UPDATE,
        (),
        exposure::UpdateBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            exposures: exposures.state,
            exposure_sums: exposures.sums,
        },
        exposure::UpdatePush { views },
        shared.groups(Args::One),
    );
}
