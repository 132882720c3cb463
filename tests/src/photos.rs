//! The photos of the bundled scene as pixels, changed and written as PNG, and masks for them.

use std::fs;
use std::path::Path;

use image::{DynamicImage, GrayImage, Luma, Rgb, RgbImage};

use crate::captures::Model;
use crate::runs;

/// What hidden pixels are painted with: no photo has it.
pub const MAGENTA: [u8; 3] = [255, 0, 255];

/// The model with photos that are called `.png`.
#[must_use]
pub fn rename_to_png(mut model: Model) -> Model {
    for image in &mut model.images {
        image.name = image.text().replace(".jpg", ".png").into_bytes();
    }
    model
}

/// A bundled photo under its name or that as PNG, with each pixel changed.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn bundled(name: &str, change: impl Fn([u32; 2], [u8; 3]) -> [u8; 3]) -> DynamicImage {
    let path = runs::scene().join("images").join(name.replace(".png", ".jpg"));
    let mut photo: RgbImage = image::open(path).expect("a bundled photo").into_rgb8();
    for (x, y, pixel) in photo.enumerate_pixels_mut() {
        *pixel = Rgb(change([x, y], pixel.0));
    }
    photo.into()
}

/// A mask: white where a pixel counts.
#[must_use]
pub fn mask(width: u32, height: u32, counts: impl Fn([u32; 2]) -> bool) -> DynamicImage {
    let value = |x, y| Luma([if counts([x, y]) { 255 } else { 0 }]);
    GrayImage::from_fn(width, height, value).into()
}

/// What is left of a photo without its first columns.
#[must_use]
pub fn crop_left(photo: &DynamicImage, columns: u32) -> DynamicImage {
    photo.crop_imm(columns, 0, photo.width() - columns, photo.height())
}

/// Writes a picture in the format of its ending, making folders.
///
/// # Panics
/// When the disk refuses.
pub fn write(path: &Path, picture: &DynamicImage) {
    fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
    picture.save(path).expect("a picture");
}
