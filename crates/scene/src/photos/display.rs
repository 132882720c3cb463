//! Decoded values as the 8 bits that screens show, which is what models are trained on.
//!
//! Values of 16 bits are rounded. Floating-point ones are linear light, as OpenEXR has it: they are cut off at white and encoded
//! as sRGB (IEC 61966-2-1); what is no number becomes black.

use image::{DynamicImage, RgbImage, RgbaImage};

/// The same picture with 8 bits a channel, and alpha where it had some.
pub(crate) fn to_8_bits(picture: DynamicImage) -> DynamicImage {
    let (width, height) = (picture.width(), picture.height());
    let made = match picture {
        DynamicImage::ImageLuma16(_) => Some(picture.into_luma8().into()),
        DynamicImage::ImageLumaA16(_) => Some(picture.into_luma_alpha8().into()),
        DynamicImage::ImageRgb16(_) => Some(picture.into_rgb8().into()),
        DynamicImage::ImageRgba16(_) => Some(picture.into_rgba8().into()),
        DynamicImage::ImageRgb32F(picture) => {
            let values = picture.into_raw().into_iter().map(srgb).collect();
            RgbImage::from_raw(width, height, values).map(DynamicImage::from)
        }
        DynamicImage::ImageRgba32F(picture) => {
            let pixels = picture.as_raw().as_chunks::<4>().0.iter();
            let values = pixels.flat_map(|&[r, g, b, a]| [srgb(r), srgb(g), srgb(b), byte(a)]);
            RgbaImage::from_raw(width, height, values.collect()).map(DynamicImage::from)
        }
        eight_bits => Some(eight_bits),
    };
    // as many values as before, so there is always a picture
    made.unwrap_or_default()
}

/// Linear light, 1 for white, as sRGB.
fn srgb(linear: f32) -> u8 {
    let encoded = match linear {
        dark if dark <= 0.003_130_8 => 12.92 * dark,
        bright => 1.055 * (f64::from(bright).powf(1.0 / 2.4) as f32) - 0.055,
    };
    byte(encoded)
}

fn byte(share: f32) -> u8 {
    // a cast takes NaN to 0
    (share * 255.0).round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, Rgba};

    #[test]
    fn floats_are_encoded_and_cut_off() {
        let of = |value: f32| {
            let picture = image::Rgb32FImage::from_pixel(2, 1, Rgb([value; 3]));
            to_8_bits(picture.into()).into_rgb8().into_raw()
        };
        for (linear, byte) in [(0.0, 0), (0.003, 10), (0.215_861, 128), (1.0, 255)] {
            assert_eq!(of(linear), [byte; 6], "{linear}");
        }
        for (odd, byte) in [
            (-1.0, 0),
            (f32::NAN, 0),
            (7.5, 255),
            (f32::INFINITY, 255),
            (f32::NEG_INFINITY, 0),
        ] {
            assert_eq!(of(odd), [byte; 6], "{odd}");
        }
        let picture = image::Rgba32FImage::from_pixel(1, 1, Rgba([1.0, 0.215_861, 0.0, 0.5]));
        assert_eq!(to_8_bits(picture.into()).into_rgba8().into_raw(), [255, 128, 0, 128]);
    }

    #[test]
    fn sixteen_bits_are_rounded() {
        let wide = |value: u16| image::ImageBuffer::<Rgb<u16>, _>::from_pixel(1, 1, Rgb([value; 3]));
        for (value, byte) in [(0, 0), (128, 0), (129, 1), (257, 1), (0x8000, 128), (u16::MAX, 255)] {
            assert_eq!(
                to_8_bits(wide(value).into()).into_rgb8().into_raw(),
                [byte; 3],
                "{value}"
            );
        }
    }
}
