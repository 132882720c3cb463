//! Colours of each training photo as its camera takes them, between the rendered image and the loss, with an Adam optimiser (Kingma and Ba
//! 2015) of their own: an affine map `e(x) = A x + b` of the photo, and vignetting and response of the camera. They take up what
//! differs between photos of one scene and is no property of the scene: shutter, gain, white balance, lens.
//!
//! Maps and cameras, their moments and their numbers of steps live on the device. Maps and the model's colours may drift away together at
//! no loss: what all maps share says nothing about photos, and views that were held out have no map that takes it up. So
//! every [`CENTRE_EVERY`] iterations the mean of all maps is put back to [`IDENTITY`], by taking its difference from each, and that of all
//! responses likewise; a camera alone has none. Maps and cameras are also pulled towards doing nothing, or towards what was known of
//! a photo before, by a weight in the loss times half their squared distance from that.

use super::counters::Args;
use super::generated::exposure;
use super::swaths::Swath;
use super::views::{IMAGE_BYTES, Pixels, Shared};
use kiln_program::{Program, Span};

/// Numbers of a map: three rows of four.
pub const VALUES: usize = 12;
/// Numbers of a camera: three of vignetting, and two of the response for each channel.
pub const OF_CAMERA: usize = exposure::CAMERA_VALUES as usize;
/// Words of a view: the map, two moments, the number of steps, where its camera's words begin, and the diagonal that it is held to.
pub const WORDS: usize = exposure::EXPOSURE_WORDS as usize;
/// Words of a camera, which stand behind those of all views.
pub const OF_CAMERA_WORDS: usize = exposure::CAMERA_WORDS as usize;
/// The map that does nothing.
pub const IDENTITY: [f32; VALUES] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
/// Name of the state in tables and checkpoints.
pub const NAME: &str = "exposures";
/// Places in the words of a view.
const CAMERA_AT: usize = 37;
const HELD_AT: usize = 38;
/// Learning rate of a camera's numbers in units of the maps': a camera is seen in many steps, a map in few.
pub const CAMERA_RATE: f32 = 0.1;
/// Weight in the loss of half the squared distance of a camera's numbers from doing nothing.
pub const CAMERA_HOLD: f32 = 0.04;
/// Largest size of a number of vignetting: within it every pixel keeps some light.
pub const MOST_VIGNETTING: f32 = 0.5;
/// Largest size of a number of a response: within it responses rise everywhere.
pub const MOST_RESPONSE: f32 = 0.4;
pub use super::generated::exposure::CENTRE_EVERY;

/// What is known of a photo before the first step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhotoStart {
    /// The camera that took it.
    pub camera: u32,
    /// Factors of red, green and blue that its map begins with and is held to.
    pub gains: [f32; 3],
}

impl Default for PhotoStart {
    fn default() -> Self {
        Self {
            camera: 0,
            gains: [1.0; 3],
        }
    }
}

/// Tensors of the exposures.
#[derive(Clone, Copy, Debug)]
pub struct Exposures {
    /// [`WORDS`] words a training view, and where cameras are corrected a test view; [`OF_CAMERA_WORDS`] a camera behind them; lives as
    /// long as the run.
    pub state: Span,
    /// The image as the photo shows it.
    pub image: Span,
    /// Sums of each tile, from the loss to the update.
    pub sums: Span,
    /// Views that have words.
    pub views: u32,
    /// Cameras that have.
    pub cameras: u32,
}

/// Bytes of the state of `views` views that `cameras` cameras took.
#[must_use]
pub fn state_bytes(views: u32, cameras: u32) -> u64 {
    4 * (WORDS as u64 * u64::from(views) + OF_CAMERA_WORDS as u64 * u64::from(cameras))
}

/// Bytes of the sums of `tiles` tiles.
#[must_use]
pub fn sums_bytes(tiles: u32) -> u64 {
    4 * u64::from(exposure::EXPOSURE_SUMS) * u64::from(tiles)
}

/// The state of views that were never updated.
#[must_use]
pub fn start(photos: &[PhotoStart], cameras: u32) -> Vec<f32> {
    let mut words = Vec::with_capacity(photos.len() * WORDS + cameras as usize * OF_CAMERA_WORDS);
    for photo in photos {
        let mut one = [0.0; WORDS];
        one[..VALUES].copy_from_slice(&IDENTITY);
        for (channel, gain) in photo.gains.into_iter().enumerate() {
            one[5 * channel] = gain;
            one[HELD_AT + channel] = gain;
        }
        // A whole number below 2^24 for 400 000 photos.
        one[CAMERA_AT] = (photos.len() * WORDS + photo.camera as usize * OF_CAMERA_WORDS) as f32;
        words.extend(one);
    }
    words.resize(words.len() + cameras as usize * OF_CAMERA_WORDS, 0.0);
    words
}

/// Appends what the photo shows; the loss is to be taken of [`Exposures::image`].
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

/// Appends what turns the gradient of the shown image into that of the image, and into the sums.
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

/// Appends the step of the view's map and its camera, and what keeps the means of the first `views` maps and of the responses in place.
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
        exposure::UpdatePush {
            views,
            cameras: exposures.cameras,
            cameras_at: exposures.views * exposure::EXPOSURE_WORDS,
            camera_rate: CAMERA_RATE,
            camera_hold: CAMERA_HOLD,
            most_vignetting: MOST_VIGNETTING,
            most_response: MOST_RESPONSE,
        },
        shared.groups(Args::One),
    );
}
