//! OpenEXR files: sizes of their headers, and planes of f32.
//!
//! The first flat part is read, at its full resolution. Promises that a file is decoded whole or not at all, and on the calling
//! thread alone. Refuses parts whose data window is not their display window, channels that are subsampled, and more of them than
//! any photo has.

use std::io::{BufRead, Cursor};

use exr::meta::MetaData;
use exr::meta::header::Header;
use exr::prelude::{AnyChannel, FlatSamples, ReadChannels as _, ReadLayers as _, read};
use image::{DynamicImage, Rgb32FImage, Rgba32FImage};

use super::room;

/// The start of every OpenEXR file.
const START: [u8; 4] = [0x76, 0x2f, 0x31, 0x01];
/// Bytes of a pixel of the picture with alpha: four f32.
const PICTURE_BYTES: u32 = 16;
/// Most bytes that the channels of a pixel may take: sixteen of f32.
const MOST_PIXEL_BYTES: usize = 64;

/// True for the start of an OpenEXR file.
pub(crate) fn is_exr(bytes: &[u8]) -> bool {
    bytes.starts_with(&START)
}

/// Width, height, and bytes of a pixel: of all its channels, or of what they become where that is more.
///
/// # Errors
/// Why the file is not one that is read, for people.
pub(crate) fn size(file: impl BufRead) -> Result<(u32, u32, u32), String> {
    let parts = MetaData::read_from_buffered(file, false).map_err(|e| e.to_string())?;
    let part = parts.headers.iter().find(|part| !part.deep);
    let part = part.ok_or("all its parts are deep; export a flat one")?;
    let bytes = checked_pixel_bytes(part)?.max(PICTURE_BYTES);
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    Ok((side(part.layer_size.width()), side(part.layer_size.height()), bytes))
}

fn checked_pixel_bytes(part: &Header) -> Result<u32, String> {
    let display = part.shared_attributes.display_window;
    if (part.layer_size, part.own_attributes.layer_position) != (display.size, display.position) {
        return Err("its data window is not its display window; export it uncropped".to_owned());
    }
    let channels = &part.channels.list;
    if channels
        .iter()
        .any(|channel| (channel.sampling.x(), channel.sampling.y()) != (1, 1))
    {
        return Err("it has subsampled channels; export RGB".to_owned());
    }
    let bytes: usize = channels
        .iter()
        .map(|channel| channel.sample_type.bytes_per_sample())
        .sum();
    match u32::try_from(bytes) {
        Ok(bytes) if bytes as usize <= MOST_PIXEL_BYTES => Ok(bytes),
        _ => Err(format!(
            "its {} channels are more than a photo has; export RGB alone",
            channels.len()
        )),
    }
}

/// The picture of a file that must have this size: channels `R`, `G`, `B`, or `Y` for all three, and `A` where there is one.
/// Colours are linear; what the file has multiplied with alpha is divided by it again.
///
/// # Errors
/// What is wrong with the file, for people.
pub(crate) fn decode(bytes: &[u8], size_px: (u32, u32)) -> Result<DynamicImage, String> {
    let channels = planes(bytes, size_px)?;
    let of = |name: &str| {
        channels
            .iter()
            .find(|channel| channel.name.eq(name))
            .map(|channel| &channel.sample_data)
    };
    let grey = of("Y");
    let ([Some(r), Some(g), Some(b)], alpha) = (["R", "G", "B"].map(|name| of(name).or(grey)), of("A")) else {
        let names: Vec<String> = channels.iter().map(|channel| channel.name.to_string()).collect();
        return Err(format!(
            "it has neither channels R, G and B nor Y, only {}",
            names.join(", ")
        ));
    };
    let pixels = r.len();
    let (width, height) = size_px;
    let picture = match alpha {
        None => {
            let values = (0..pixels).flat_map(|at| [r, g, b].map(|plane| plane.value_by_flat_index(at).to_f32()));
            Rgb32FImage::from_raw(width, height, values.collect()).map(DynamicImage::from)
        }
        Some(alpha) => {
            let pixel = |at: usize| {
                let alpha = alpha.value_by_flat_index(at).to_f32();
                let share = if alpha > 0.0 { alpha } else { 1.0 };
                let [r, g, b] = [r, g, b].map(|plane| plane.value_by_flat_index(at).to_f32() / share);
                [r, g, b, alpha]
            };
            Rgba32FImage::from_raw(width, height, (0..pixels).flat_map(pixel).collect()).map(DynamicImage::from)
        }
    };
    picture.ok_or_else(|| "its picture data is shorter than its size".to_owned())
}

/// One channel of a file that must have this size: the first of `names` that it has, or the only one.
///
/// # Errors
/// What is wrong with the file, for people.
pub(crate) fn plane(bytes: &[u8], size_px: (u32, u32), names: &[&str]) -> Result<Vec<f32>, String> {
    let channels = planes(bytes, size_px)?;
    let named = names
        .iter()
        .find_map(|name| channels.iter().find(|channel| channel.name.eq(name)));
    let only = || channels.first().filter(|_| channels.len() == 1);
    let channel = named
        .or_else(only)
        .ok_or_else(|| format!("it has none of the channels {}", names.join(", ")))?;
    Ok(channel.sample_data.values_as_f32().collect())
}

/// Three channels of a file that must have this size, a pixel's numbers together: the first of `names` that it has all of.
///
/// # Errors
/// What is wrong with the file, for people.
pub(crate) fn triples(bytes: &[u8], size_px: (u32, u32), names: &[[&str; 3]]) -> Result<Vec<f32>, String> {
    let channels = planes(bytes, size_px)?;
    let of = |name: &str| channels.iter().find(|channel| channel.name.eq(name));
    let found = names.iter().find_map(|[x, y, z]| Some([of(x)?, of(y)?, of(z)?]));
    let found = found.ok_or_else(|| {
        let looked_for: Vec<String> = names.iter().map(|three| three.join(", ")).collect();
        format!("it has none of the channels {}", looked_for.join("; "))
    })?;
    let pixels = size_px.0 as usize * size_px.1 as usize;
    let pixel = |at: usize| found.map(|channel| channel.sample_data.value_by_flat_index(at).to_f32());
    Ok((0..pixels).flat_map(pixel).collect())
}

/// All channels of the first flat part, each a plane of this size.
fn planes(bytes: &[u8], size_px: (u32, u32)) -> Result<Vec<AnyChannel<FlatSamples>>, String> {
    let (width, height, pixel_bytes) = size(Cursor::new(bytes))?;
    if (width, height) != size_px {
        return Err(format!("it is {width}x{height}, expected {}x{}", size_px.0, size_px.1));
    }
    room::check(bytes.len() as u64, size_px, pixel_bytes)?;
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .all_channels()
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_buffered(Cursor::new(bytes))
        .map_err(|e| e.to_string())?;
    Ok(image.layer_data.channel_data.list.into_vec())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use exr::prelude::{AnyChannels, Encoding, Image, Vec2, WritableImage as _, f16};

    const SIZE: (u32, u32) = (5, 3);

    fn plane(name: &str, samples: FlatSamples) -> AnyChannel<FlatSamples> {
        AnyChannel::new(name, samples)
    }

    fn halves(from: f32) -> FlatSamples {
        FlatSamples::F16((0..15_u8).map(|n| f16::from_f32(from + f32::from(n) / 16.0)).collect())
    }

    fn file(planes: Vec<AnyChannel<FlatSamples>>, encoding: Encoding) -> Vec<u8> {
        let channels = AnyChannels::sort(planes.into_iter().collect());
        let mut image = Image::from_channels((SIZE.0 as usize, SIZE.1 as usize), channels);
        image.layer_data.encoding = encoding;
        let mut bytes = Cursor::new(Vec::new());
        image.write().non_parallel().to_buffered(&mut bytes).unwrap();
        bytes.into_inner()
    }

    fn rgb(encoding: Encoding) -> Vec<u8> {
        file(["R", "G", "B"].map(|name| plane(name, halves(0.0))).into(), encoding)
    }

    #[test]
    fn planes_become_pixels() {
        for encoding in [
            Encoding::UNCOMPRESSED,
            Encoding::FAST_LOSSLESS,
            Encoding::SMALL_LOSSLESS,
        ] {
            let bytes = rgb(encoding);
            assert!(is_exr(&bytes));
            assert_eq!(size(Cursor::new(&bytes)), Ok((5, 3, PICTURE_BYTES)));
            let picture = decode(&bytes, SIZE).unwrap().into_rgb32f();
            assert_eq!(picture.get_pixel(1, 2).0, [11.0 / 16.0; 3]);
        }
        let grey = file(
            vec![plane("Y", FlatSamples::F32(vec![0.25; 15]))],
            Encoding::UNCOMPRESSED,
        );
        assert_eq!(decode(&grey, SIZE).unwrap().into_rgb32f().get_pixel(4, 0).0, [0.25; 3]);
    }

    #[test]
    fn alpha_is_divided_out() {
        let colours = ["R", "G", "B"].map(|name| plane(name, FlatSamples::F32(vec![0.25; 15])));
        let mut alpha = vec![0.5; 15];
        alpha[3] = 0.0;
        let planes = colours
            .into_iter()
            .chain([plane("A", FlatSamples::F32(alpha))])
            .collect();
        let picture = decode(&file(planes, Encoding::UNCOMPRESSED), SIZE)
            .unwrap()
            .into_rgba32f();
        assert_eq!(picture.get_pixel(0, 0).0, [0.5, 0.5, 0.5, 0.5]);
        assert_eq!(picture.get_pixel(3, 0).0, [0.25, 0.25, 0.25, 0.0]);
    }

    #[test]
    fn what_is_no_photo_says_so() {
        let depth = file(vec![plane("Z", halves(1.0))], Encoding::UNCOMPRESSED);
        let reported = decode(&depth, SIZE).unwrap_err();
        assert!(reported.contains("only Z"), "{reported}");
        assert!(
            decode(&rgb(Encoding::UNCOMPRESSED), (5, 4))
                .unwrap_err()
                .contains("5x3")
        );
        let many = (0..17)
            .map(|n| plane(&format!("c{n}"), FlatSamples::F32(vec![0.0; 15])))
            .collect();
        let reported = size(Cursor::new(file(many, Encoding::UNCOMPRESSED))).unwrap_err();
        assert!(reported.contains("17 channels"), "{reported}");
        let mut cropped = Image::from_channels(
            (5, 3),
            AnyChannels::sort([plane("Y", halves(0.0))].into_iter().collect()),
        );
        cropped.attributes.display_window.size = Vec2(8, 8);
        let mut bytes = Cursor::new(Vec::new());
        cropped.write().non_parallel().to_buffered(&mut bytes).unwrap();
        let reported = size(Cursor::new(bytes.into_inner())).unwrap_err();
        assert!(reported.contains("uncropped"), "{reported}");
    }

    #[test]
    fn cut_files_are_errors() {
        for encoding in [Encoding::UNCOMPRESSED, Encoding::SMALL_LOSSLESS] {
            let whole = rgb(encoding);
            for kept in 0..whole.len() {
                assert!(decode(&whole[..kept], SIZE).is_err(), "{kept} of {} bytes", whole.len());
            }
        }
    }
}
