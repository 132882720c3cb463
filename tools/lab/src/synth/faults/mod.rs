//! What is wrong with photos, with exact truth: things that move, exposures that drift, vignetting, response, motion blur.
//!
//! All of them change photos of solids and nothing else: poses, points, depth and normal maps are those of the world at rest. Beside
//! the photos lie those of a camera and a world without faults (`clean`), how much of each pixel stands still (`movers`), and what
//! was done to each photo (`truth.json`). A photo is `curve(gain * vignetting * light)`, where light is the clean photo decoded from
//! sRGB, or with movement the mean of the light over the exposure.

mod blur;
mod camera;
mod drift;
mod exif;
mod figure;
mod movers;
mod record;
mod settings;
mod shot;
#[cfg(test)]
mod tests;

pub(super) use figure::Figure;
pub(super) use record::write_truth;
pub use settings::{ExifKind, Faults};
pub(super) use shot::shots;

/// Folder of the photos without faults.
pub(super) const CLEAN: &str = "clean";
/// Folder of the masks of what moves: white where nothing of it shows.
pub(super) const MOVERS: &str = "movers";
/// File of what was done to each photo.
pub(super) const TRUTH: &str = "truth.json";

/// Streams of random numbers, one a fault, so that none changes with another.
mod stream {
    pub(super) const DRIFT: u32 = 4;
    pub(super) const BLUR: u32 = 5;
    pub(super) const MOVERS: u32 = 6;
    pub(super) const EXIF: u32 = 7;
}
