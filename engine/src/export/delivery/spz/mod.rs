//! SPZ, versions 2 to 4: 20 bytes a Gaussian and one a further SH coefficient, then general compression.
//!
//! All versions hold the same values, attribute after attribute ([`Part`]), but for rotations: version 2 has x, y and z in
//! a byte each, later ones the three smallest components in ten bits each. Versions 2 and 3 are a header of 16 bytes and
//! the attributes in one gzip stream. Version 4 is a plain header of 32 bytes, a table of sizes, and a zstd frame for each
//! attribute. Axes are those of the format (y up, z backward).

mod pack;
mod version;

use std::io::{self, Seek as _, SeekFrom, Write};

use flate2::{Compression, write::GzEncoder};
use kiln_formats::sog::Splats;

use super::super::{PlyComments, RenderMode};
use super::cut::Ends;
use super::quantize::bounds;
use super::stop::File;
use kiln_scene::math::Real;
pub(super) use pack::steps_of;
use pack::{Packed, Part};
pub use version::SpzVersion;

/// `NGSP`
const MAGIC: u32 = 0x5053_474e;
/// Flag: trained with the screen-space filter of Mip-Splatting.
const ANTIALIASED: u8 = 1;
/// Bytes of the header of version 4, where the table of sizes begins.
const HEADER_BYTES: u32 = 32;
/// How hard the compressors try: gzip's usual level, and where more effort of zstd gains little.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 12;
/// Most binary digits after the point of a position, and how many are usual.
const MOST_FRACTION_BITS: u32 = 20;
const USUAL_FRACTION_BITS: u32 = 12;
/// Half of the Gaussians shall be at least this many steps of position wide.
const STEPS_A_GAUSSIAN: f64 = 8.0;
/// Largest number of steps that 24 bits hold.
const MOST_STEPS: f64 = 8_388_607.0;

/// Binary digits after the point of the positions: the usual 12, more where that is coarse for half of the Gaussians,
/// fewer where the farthest Gaussian needs more before the point.
pub(super) fn fraction_bits(splats: &dyn Splats) -> u32 {
    let farthest = bounds(splats).into_iter().flatten().map(f32::abs).fold(0.0, f32::max);
    let fits = |bits: u32| f64::from(farthest) * f64::from(1_u32 << bits) <= MOST_STEPS;
    let typical = f64::from(median_scale(splats));
    let fine = |bits: &u32| typical * f64::from(1_u32 << bits) >= STEPS_A_GAUSSIAN;
    let wanted = (USUAL_FRACTION_BITS..MOST_FRACTION_BITS)
        .find(fine)
        .unwrap_or(MOST_FRACTION_BITS);
    (0..=wanted).rev().find(|&bits| fits(bits)).unwrap_or(0)
}

/// What a file with that many binary digits after the point holds of a Gaussian.
pub(super) fn ends(fraction_bits: u32) -> Ends {
    Ends {
        position: MOST_STEPS * 0.5_f64.powi(fraction_bits as i32),
        // Bytes of sixteenths from -10 on.
        log_scale: [-10.0, -10.0 + 255.0 / 16.0],
        color: pack::MOST_COLOR,
        harmonic: 1.0,
    }
}

/// The step of positions, and the median of the largest standard deviations, world units.
pub(super) fn position_step(splats: &dyn Splats, fraction_bits: u32) -> [f64; 2] {
    [0.5_f64.powi(fraction_bits as i32), f64::from(median_scale(splats))]
}

/// Median of the largest standard deviations, world units.
fn median_scale(splats: &dyn Splats) -> f32 {
    let largest = |index| splats.log_scales(index).into_iter().fold(f32::NEG_INFINITY, f32::max);
    let mut logs: Vec<f32> = (0..splats.len()).map(largest).collect();
    let middle = logs.len() / 2;
    match logs.is_empty() {
        true => 0.0,
        false => Real::exp(*logs.select_nth_unstable_by(middle, f32::total_cmp).1),
    }
}

/// Writes the Gaussians in the order they are in.
pub(super) fn write(
    file: &mut File<'_>,
    splats: &dyn Splats,
    version: SpzVersion,
    fraction_bits: u32,
    comments: PlyComments,
) -> io::Result<()> {
    match version {
        SpzVersion::V2 | SpzVersion::V3 => write_stream(file, splats, version, fraction_bits, comments),
        SpzVersion::V4 => {
            let parts = parts(splats, version);
            let mut header = header(splats, version, fraction_bits, comments);
            header.push(parts.len() as u8);
            header.extend(HEADER_BYTES.to_le_bytes());
            header.extend([0; 12]);
            file.write_all(&header)?;
            // The sizes are not known before the streams are written.
            file.write_all(&vec![0; 16 * parts.len()])?;
            let mut table = Vec::new();
            let mut start = file.stream_position()?;
            for part in parts {
                let mut frame = zstd::Encoder::new(&mut *file, ZSTD_LEVEL)?;
                // Readers allocate what the frame says before they decompress.
                frame.set_pledged_src_size(Some(part.bytes(splats)))?;
                io::copy(&mut Packed::new(splats, part, fraction_bits), &mut frame)?;
                frame.finish()?;
                let end = file.stream_position()?;
                table.extend((end - start).to_le_bytes());
                table.extend(part.bytes(splats).to_le_bytes());
                start = end;
            }
            file.seek(SeekFrom::Start(HEADER_BYTES.into()))?;
            file.write_all(&table)
        }
    }
}

/// Writes one gzip stream, which versions 2 and 3 are.
pub(super) fn write_stream(
    out: impl Write,
    splats: &dyn Splats,
    version: SpzVersion,
    fraction_bits: u32,
    comments: PlyComments,
) -> io::Result<()> {
    let mut gzip = GzEncoder::new(out, Compression::new(GZIP_LEVEL));
    gzip.write_all(&header(splats, version, fraction_bits, comments))?;
    gzip.write_all(&[0])?;
    for part in parts(splats, version) {
        io::copy(&mut Packed::new(splats, part, fraction_bits), &mut gzip)?;
    }
    gzip.finish().map(|_| ())
}

/// The first 15 bytes, which all versions have.
fn header(splats: &dyn Splats, version: SpzVersion, fraction_bits: u32, comments: PlyComments) -> Vec<u8> {
    let count = u32::try_from(splats.len()).unwrap_or(u32::MAX);
    let flags = match comments.render_mode {
        Some(RenderMode::Mip) => ANTIALIASED,
        Some(RenderMode::Default) | None => 0,
    };
    let mut header = Vec::new();
    for word in [MAGIC, version.number(), count] {
        header.extend(word.to_le_bytes());
    }
    // Both fit: they are at most 3 and 20.
    header.extend([splats.sh_degree() as u8, fraction_bits as u8, flags]);
    header
}

/// The attributes that have bytes.
fn parts(splats: &dyn Splats, version: SpzVersion) -> Vec<Part> {
    let parts = Part::of(version).into_iter();
    parts.filter(|part| part.bytes(splats) > 0).collect()
}
