//! Compressed PLY: chunks of 256 Gaussians with ranges of their own, 16 bytes a Gaussian in them, and a byte a further SH
//! coefficient.
//!
//! Element `chunk`: smallest and largest position, logarithm of scale and colour, 18 floats. Element `vertex`: four words;
//! positions and scales in 11, 10 and 11 bits between those, the rotation as the place of its largest component in two
//! bits and the three others in ten each, colour and opacity in a byte each. Element `sh`: bytes, channel after channel,
//! steps of 1/32 from -4 to 4. The text of the header names everything, so that the file is a PLY file like any other.

use std::io::{self, Write};

use kiln_formats::compressed_ply::{CHUNK, RANGES, WORDS};
use kiln_ply::{Element, Format, Header, Scalar};

use super::super::PlyComments;
use super::Chosen;
use super::cut::Ends;
use super::quantize::{smallest_three, unorm};
use super::stop::File;
use kiln_formats::ply::names::{SH_REST_PREFIX, rest_slot, rest_values};
use kiln_twins::sh::SH_C0;

/// Logarithms of scales beyond this are cut, so that one of them does not spoil a chunk.
const MOST_LOG_SCALE: f32 = 20.0;
/// What the file holds of a Gaussian.
pub(super) const ENDS: Ends = Ends {
    position: f64::INFINITY,
    log_scale: [-MOST_LOG_SCALE, MOST_LOG_SCALE],
    color: f32::INFINITY,
    harmonic: 4.0,
};

/// Smallest and largest value of each axis.
#[derive(Clone, Copy)]
struct Range([[f32; 3]; 2]);

impl Range {
    const EMPTY: Self = Self([[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]]);

    fn add(&mut self, values: [f32; 3]) {
        for (axis, value) in values.into_iter().enumerate() {
            self.0[0][axis] = self.0[0][axis].min(value);
            self.0[1][axis] = self.0[1][axis].max(value);
        }
    }

    /// Where a value lies between the ends, 0 to 1.
    fn share(&self, values: [f32; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let [low, high] = [0, 1].map(|end| f64::from(self.0[end][axis]));
            match high > low {
                true => (f64::from(values[axis]) - low) / (high - low),
                false => 0.0,
            }
        })
    }
}

/// What the words of a Gaussian are made of.
#[derive(Clone, Copy)]
struct Row {
    mean: [f32; 3],
    log_scales: [f32; 3],
    colour: [f32; 3],
}

impl Row {
    fn of(chosen: &Chosen<'_>, index: usize) -> Self {
        Self {
            mean: chosen.mean(index),
            log_scales: chosen
                .fused(index)
                .log_scales
                .map(|log| log.clamp(-MOST_LOG_SCALE, MOST_LOG_SCALE)),
            colour: chosen.sh0(index).map(|dc| (f64::from(dc) * SH_C0 + 0.5) as f32),
        }
    }
}

/// Ranges of position, scale and colour of the chunk that begins at `start`.
fn ranges(chosen: &Chosen<'_>, start: usize) -> [Range; 3] {
    let mut ranges = [Range::EMPTY; 3];
    for index in start..chosen.len().min(start + CHUNK) {
        let row = Row::of(chosen, index);
        for (range, values) in ranges.iter_mut().zip([row.mean, row.log_scales, row.colour]) {
            range.add(values);
        }
    }
    ranges
}

/// Writes the Gaussians in the order they are in.
pub(super) fn write(file: &mut File<'_>, chosen: &Chosen<'_>, comments: PlyComments) -> io::Result<()> {
    write!(file, "{}", header(chosen, comments))?;
    for start in (0..chosen.len()).step_by(CHUNK) {
        for value in ranges(chosen, start).iter().flat_map(|range| range.0).flatten() {
            file.write_all(&value.to_le_bytes())?;
        }
    }
    for start in (0..chosen.len()).step_by(CHUNK) {
        let ranges = ranges(chosen, start);
        for index in start..chosen.len().min(start + CHUNK) {
            for word in words(chosen, index, &ranges) {
                file.write_all(&word.to_le_bytes())?;
            }
        }
    }
    let coefficients = chosen.rest_coefficients();
    let mut bytes = vec![0; 3 * coefficients];
    if bytes.is_empty() {
        return Ok(());
    }
    for index in 0..chosen.len() {
        let rest = chosen.sh_rest(index);
        for (value, byte) in bytes.iter_mut().enumerate() {
            *byte = harmonic(rest[rest_slot(value, coefficients)]);
        }
        file.write_all(&bytes)?;
    }
    Ok(())
}

fn header(chosen: &Chosen<'_>, comments: PlyComments) -> Header {
    let count = chosen.len();
    let mut elements = vec![
        Element::new("chunk", count.div_ceil(CHUNK) as u64).with(Scalar::F32, RANGES),
        Element::new("vertex", count as u64).with(Scalar::U32, WORDS),
    ];
    let rest = rest_values(chosen.sh_degree());
    if rest > 0 {
        let names = (0..rest).map(|value| format!("{SH_REST_PREFIX}{value}"));
        elements.push(Element::new("sh", count as u64).with(Scalar::U8, names));
    }
    Header {
        format: Format::LittleEndian,
        comments: comments.lines(chosen.sh_degree()),
        elements,
    }
}

fn words(chosen: &Chosen<'_>, index: usize, [means, scales, colours]: &[Range; 3]) -> [u32; 4] {
    let row = Row::of(chosen, index);
    let (largest, others) = smallest_three(chosen.quat(index));
    let rotation = others.iter().fold(largest, |word, other| {
        word << 10 | unorm(other * std::f64::consts::FRAC_1_SQRT_2 + 0.5, 10)
    });
    let [r, g, b] = colours.share(row.colour).map(|share| unorm(share, 8));
    let opacity = unorm(f64::from(chosen.opacity(index)), 8);
    [
        bits_11_10_11(means.share(row.mean)),
        rotation,
        bits_11_10_11(scales.share(row.log_scales)),
        r << 24 | g << 16 | b << 8 | opacity,
    ]
}

fn bits_11_10_11([x, y, z]: [f64; 3]) -> u32 {
    unorm(x, 11) << 21 | unorm(y, 10) << 11 | unorm(z, 11)
}

/// A coefficient as the step it lies in.
fn harmonic(value: f32) -> u8 {
    ((f64::from(value) / 8.0 + 0.5) * 256.0).floor().clamp(0.0, 255.0) as u8
}
