//! What was done to each photo, as JSON.

use std::io::Write as _;
use std::path::Path;

use kiln::export::{ExportError, write_atomic};
use serde::Serialize;

use super::super::Synthetic;
use super::super::scene::name;
use super::exif::Exposure;
use super::shot::Shot;

/// The file.
#[derive(Serialize)]
struct Truth {
    /// How a pixel of `images` follows from one of `clean`, where nothing moves.
    photo: &'static str,
    seed: u32,
    photos: Vec<Photo>,
}

/// One photo.
#[derive(Serialize)]
struct Photo {
    name: String,
    /// `kiln train` holds it out where nothing else is asked for.
    held_out: bool,
    /// Exposure against the mean, and what red and blue have beside it.
    stops: f64,
    red_stops: f64,
    blue_stops: f64,
    /// Factors of red, green and blue light.
    gains: [f64; 3],
    vignetting: f64,
    response: f64,
    /// The path in the middle of the photo, px to the right and down, and its length; null where it is sharp.
    blur_px: Option<[f64; 2]>,
    blur_length_px: Option<f64>,
    /// Share of the pixels that shows figures.
    movers: f64,
    /// What the file says of its exposure.
    exif: Option<Exposure>,
}

/// Writes what was done to the photos of a scene, all of which are drawn.
pub(in crate::synth) fn write_truth(path: &Path, scene: &Synthetic, shots: &[Shot]) -> Result<(), ExportError> {
    let photo = |shot: &Shot| Photo {
        name: name(shot.view),
        held_out: Synthetic::is_held_out(shot.view),
        stops: shot.drift[0],
        red_stops: shot.drift[1],
        blue_stops: shot.drift[2],
        gains: shot.camera.gains,
        vignetting: shot.camera.vignetting,
        response: shot.camera.response,
        blur_px: shot.path.map(|path| path.0),
        blur_length_px: shot.path.map(|path| path.length_px()),
        movers: shot.movers,
        exif: shot.exposure,
    };
    let truth = Truth {
        photo: "to_srgb(min(1, gain * (1 - vignetting * r^2) * from_srgb(clean)))^response, r = 1 in the corners; \
                blur is a mean of from_srgb(...) along the path",
        seed: scene.seed,
        photos: shots.iter().map(photo).collect(),
    };
    write_atomic(path, |out| {
        serde_json::to_writer_pretty(&mut *out, &truth)?;
        out.write_all(b"\n")
    })
}
