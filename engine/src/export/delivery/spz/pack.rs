//! The attributes of SPZ as bytes, made while they are read.

use std::io::{self, Read};

use kiln_formats::sog::Splats;

use super::super::axes;
use super::super::quantize::{byte, smallest_three};
use super::version::SpzVersion;
use kiln_gaussians::layout::sh_coefficients;

/// What a colour coefficient is multiplied with: a byte then spans coefficients from -3.33 to 3.33.
const COLOUR_SCALE: f64 = 0.15;
/// Largest such coefficient.
pub(super) const MOST_COLOR: f32 = 0.5 / COLOUR_SCALE as f32;
/// Bytes are steps of 1/128; those of coefficients of degree 1 are rounded to this many steps, for compression,
const SH1_STEPS: u32 = 8;
/// and those of higher degrees to this many.
const SH_STEPS: u32 = 16;
/// Coefficients of degree 1.
const SH1_COEFFICIENTS: usize = 3;
/// Bytes made ahead.
const BLOCK: usize = 1 << 16;

/// One attribute of all Gaussians, in the order of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Positions,
    Opacities,
    Colours,
    Scales,
    /// x, y and z, of version 2.
    ShortRotations,
    /// The three smallest components, of later versions.
    Rotations,
    Harmonics,
}

impl Part {
    /// The attributes of a version.
    pub(super) const fn of(version: SpzVersion) -> [Self; 6] {
        let rotations = match version {
            SpzVersion::V2 => Self::ShortRotations,
            SpzVersion::V3 | SpzVersion::V4 => Self::Rotations,
        };
        [
            Self::Positions,
            Self::Opacities,
            Self::Colours,
            Self::Scales,
            rotations,
            Self::Harmonics,
        ]
    }

    /// Bytes of all Gaussians.
    pub(super) fn bytes(self, splats: &dyn Splats) -> u64 {
        let each = match self {
            Self::Positions => 9,
            Self::Opacities => 1,
            Self::Colours | Self::Scales | Self::ShortRotations => 3,
            Self::Rotations => 4,
            Self::Harmonics => 3 * (sh_coefficients(splats.sh_degree()) - 1),
        };
        (each * splats.len()) as u64
    }

    fn append(self, splats: &dyn Splats, index: usize, fraction_bits: u32, out: &mut Vec<u8>) {
        match self {
            Self::Positions => {
                for value in axes::point(splats.mean(index)) {
                    out.extend(&steps_of(value, fraction_bits).to_le_bytes()[..3]);
                }
            }
            Self::Opacities => out.push(byte(f64::from(splats.opacity(index)) * 255.0)),
            Self::Colours => {
                let colour = splats.sh0(index);
                out.extend(colour.map(|dc| byte((f64::from(dc) * COLOUR_SCALE + 0.5) * 255.0)));
            }
            Self::Scales => {
                let log_scales = splats.log_scales(index);
                out.extend(log_scales.map(|log| byte((f64::from(log) + 10.0) * 16.0)));
            }
            Self::ShortRotations => out.extend(short_rotation(axes::rotation(splats.quat(index)))),
            Self::Rotations => out.extend(rotation(axes::rotation(splats.quat(index))).to_le_bytes()),
            Self::Harmonics => {
                for (coefficient, rgb) in splats.rest(index).chunks_exact(3).enumerate() {
                    let steps = if coefficient < SH1_COEFFICIENTS {
                        SH1_STEPS
                    } else {
                        SH_STEPS
                    };
                    let sign = axes::sh_sign(coefficient);
                    out.extend(rgb.iter().map(|value| harmonic(sign * value, steps)));
                }
            }
        }
    }
}

/// A coordinate in steps, in 24 bits.
pub(in super::super) fn steps_of(value: f32, fraction_bits: u32) -> i32 {
    let steps = f64::from(value) * f64::from(1_u32 << fraction_bits);
    steps.round().clamp(-8_388_608.0, 8_388_607.0) as i32
}

/// The place of the largest component of (x, y, z, w), and sign and nine bits of size of each of the others.
fn rotation(quat: [f32; 4]) -> u32 {
    let (largest, others) = smallest_three(quat);
    others.iter().fold(largest, |word, other| {
        let size = (511.0 * other.abs() * std::f64::consts::SQRT_2).round().min(511.0) as u32;
        word << 10 | u32::from(*other < 0.0) << 9 | size
    })
}

/// x, y and z of (x, y, z, w) from -1 to 1 as bytes, with the sign that makes w positive.
fn short_rotation([x, y, z, w]: [f32; 4]) -> [u8; 3] {
    let sign = if w < 0.0 { -1.0 } else { 1.0 };
    [x, y, z].map(|value| byte((f64::from(sign * value) + 1.0) * 127.5))
}

/// A coefficient from -1 to 1 as a byte, 0 at 128, rounded to a multiple of `steps`; the last multiple is cut to 255.
fn harmonic(value: f32, steps: u32) -> u8 {
    let steps = f64::from(steps);
    byte(((f64::from(value) * 128.0 + 128.0) / steps).round() * steps)
}

/// Reads the bytes of an attribute.
pub(super) struct Packed<'a> {
    splats: &'a dyn Splats,
    part: Part,
    fraction_bits: u32,
    next: usize,
    block: Vec<u8>,
    taken: usize,
}

impl<'a> Packed<'a> {
    pub(super) fn new(splats: &'a dyn Splats, part: Part, fraction_bits: u32) -> Self {
        Self {
            splats,
            part,
            fraction_bits,
            next: 0,
            block: Vec::new(),
            taken: 0,
        }
    }
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() {
            self.block.clear();
            self.taken = 0;
            while self.block.len() < BLOCK && self.next < self.splats.len() {
                self.part
                    .append(self.splats, self.next, self.fraction_bits, &mut self.block);
                self.next += 1;
            }
        }
        let left = &self.block[self.taken..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_meet_the_nearest_step_and_zero_stays() {
        for steps in [SH1_STEPS, SH_STEPS] {
            assert_eq!(harmonic(0.0, steps), 128);
            let bound = f64::from(steps) / 256.0 + 1e-9;
            for step in -1000..=990_i16 {
                let value = f32::from(step) / 1000.0;
                let back = (f64::from(harmonic(value, steps)) - 128.0) / 128.0;
                assert!((back - f64::from(value)).abs() <= bound, "{value} {back}");
            }
        }
        assert_eq!([-9.0, 9.0, f32::NAN].map(|v| harmonic(v, SH_STEPS)), [0, 255, 0]);
    }

    #[test]
    fn rotations_in_ten_bits_a_component() {
        assert_eq!(rotation([0.0, 0.0, 0.0, 1.0]), 3 << 30);
        // the largest is negative: all signs change
        let word = rotation([-0.8, 0.6, 0.0, 0.0]);
        let size = (511.0_f64 * 0.6 * std::f64::consts::SQRT_2).round() as u32;
        assert_eq!(word, 1 << 29 | size << 20);
    }

    #[test]
    fn rotations_in_a_byte_a_component() {
        assert_eq!(short_rotation([0.0, 0.0, 0.0, 1.0]), [128; 3]);
        assert_eq!(short_rotation([1.0, -1.0, 0.6, 0.0]), [255, 0, 204]);
        assert_eq!(short_rotation([0.6, 0.0, 0.0, -0.8]), [51, 128, 128]);
    }
}
