//! SPZ, versions 2 to 4; [`super::super::spz`] says what is in them.

use std::io::{BufRead, Read};

use flate2::bufread::GzDecoder;
use kiln_formats::Error;

use super::super::super::{Notes, PlyComments, PlyError, RenderMode};
use super::super::axes;
use super::room::Room;
use super::{logit, with_largest};
use crate::gaussians::Gaussians;
use crate::gaussians::layout::sh_coefficients;

/// Flag: trained with the screen-space filter of Mip-Splatting.
const ANTIALIASED: u8 = 1;
/// What colour coefficients were multiplied with.
const COLOUR_SCALE: f64 = 0.15;
/// Highest degree that files have; what is above the engine's is passed over.
const MOST_DEGREE: u8 = 4;
/// The engine's.
const KEPT_DEGREE: u32 = 3;
/// Most Gaussians that are read.
const MOST_GAUSSIANS: u32 = 1 << 28;
/// Most binary digits after the point of a position.
const MOST_FRACTION_BITS: u8 = 30;
/// Bytes of the header of version 4 that are read.
const HEADER_BYTES: u64 = 20;

/// What a file says of itself.
struct Header {
    version: u32,
    count: u32,
    degree: u8,
    fraction_bits: u8,
    flags: u8,
    /// The last byte: frames, of version 4.
    frames: u8,
}

/// Reads the header of a file of any version.
pub(super) fn check(mut file: impl BufRead) -> Result<(), PlyError> {
    let start = file.fill_buf().map_err(PlyError::Io)?;
    let header = match start.starts_with(b"NGSP") {
        true => Header::read(&mut file, 4..=4),
        false => Header::read(&mut GzDecoder::new(file), 2..=3),
    };
    header.map(|_| ())
}

/// Reads a file that is one gzip stream, versions 2 and 3.
pub(super) fn read_gzip(
    file: impl BufRead,
    room: &mut Room,
    notes: &mut Notes,
) -> Result<(Gaussians, PlyComments), PlyError> {
    let mut stream = GzDecoder::new(file);
    let header = Header::read(&mut stream, 2..=3)?;
    let sizes = header.sizes();
    room.take(sizes.iter().sum())?;
    let mut parts: [Vec<u8>; 6] = Default::default();
    for (part, size) in parts.iter_mut().zip(sizes) {
        *part = exactly(&mut stream, size)?;
    }
    // to the end, where the checksum of all that came before stands
    let behind = std::io::copy(&mut stream.take(room.left()), &mut std::io::sink());
    room.take(behind.map_err(|e| damaged(&e.to_string()))?.saturating_add(1))?;
    header.note(notes);
    Ok(header.model(&parts))
}

/// Reads a file of version 4: a zstd frame for each attribute.
pub(super) fn read_frames(
    mut file: impl BufRead,
    room: &mut Room,
    notes: &mut Notes,
) -> Result<(Gaussians, PlyComments), PlyError> {
    let header = Header::read(&mut file, 4..=4)?;
    room.take(header.sizes().iter().sum())?;
    let mut table = [0; 4];
    file.read_exact(&mut table).map_err(|e| damaged(&e.to_string()))?;
    let gap = u64::from(u32::from_le_bytes(table)).checked_sub(HEADER_BYTES);
    let gap = gap.ok_or_else(|| damaged("its table of sizes makes no sense"))?;
    let passed = std::io::copy(&mut file.by_ref().take(gap), &mut std::io::sink());
    if passed.map_err(|e| damaged(&e.to_string()))? < gap {
        return Err(damaged("it is truncated"));
    }
    let entries = exactly(&mut file, 16 * u64::from(header.frames))?;
    let mut entries = entries.as_chunks::<16>().0.iter();
    let mut parts: [Vec<u8>; 6] = Default::default();
    for (part, size) in parts.iter_mut().zip(header.sizes()) {
        // an attribute without bytes has no frame
        if size == 0 {
            continue;
        }
        let entry = entries.next().ok_or_else(|| damaged("it lacks an attribute"))?;
        let packed = entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut packed = file.by_ref().take(packed);
        let mut frame = zstd::Decoder::with_buffer(&mut packed).map_err(|e| damaged(&e.to_string()))?;
        *part = exactly(&mut frame, size)?;
        std::io::copy(&mut packed, &mut std::io::sink()).map_err(|e| damaged(&e.to_string()))?;
    }
    header.note(notes);
    Ok(header.model(&parts))
}

impl Header {
    fn read(file: &mut impl Read, versions: std::ops::RangeInclusive<u32>) -> Result<Self, PlyError> {
        let mut bytes = [0; 16];
        file.read_exact(&mut bytes).map_err(|e| damaged(&e.to_string()))?;
        let [
            m,
            a,
            g,
            i,
            v0,
            v1,
            v2,
            v3,
            n0,
            n1,
            n2,
            n3,
            degree,
            fraction_bits,
            flags,
            frames,
        ] = bytes;
        if &[m, a, g, i] != b"NGSP" {
            return Err(damaged("what it holds is no SPZ"));
        }
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if !versions.contains(&version) {
            return Err(damaged(&format!(
                "it is SPZ of version {version}; versions 2 to 4 are read"
            )));
        }
        let count = u32::from_le_bytes([n0, n1, n2, n3]);
        if count > MOST_GAUSSIANS {
            return Err(Error::TooMany(count.into()).into());
        }
        if degree > MOST_DEGREE || fraction_bits > MOST_FRACTION_BITS {
            return Err(damaged(&format!(
                "its header says degree {degree} and {fraction_bits} binary digits, which is no SPZ"
            )));
        }
        Ok(Self {
            version,
            count,
            degree,
            fraction_bits,
            flags,
            frames,
        })
    }

    /// Notes what of the file is not read.
    fn note(&self, notes: &mut Notes) {
        if u32::from(self.degree) > KEPT_DEGREE {
            let degree = self.degree;
            notes.remark(format!(
                "its harmonics are of degree {degree}; those above degree {KEPT_DEGREE} are left out"
            ));
        }
    }

    /// Coefficients above degree 0 in the file.
    fn file_coefficients(&self) -> usize {
        sh_coefficients(self.degree.into()) - 1
    }

    /// Bytes of positions, opacities, colours, scales, rotations and coefficients.
    fn sizes(&self) -> [u64; 6] {
        let rotation = if self.version == 2 { 3 } else { 4 };
        let harmonics = 3 * self.file_coefficients() as u64;
        [9, 1, 3, 3, rotation, harmonics].map(|each| each * u64::from(self.count))
    }

    fn model(
        &self,
        [positions, opacities, colours, scales, rotations, harmonics]: &[Vec<u8>; 6],
    ) -> (Gaussians, PlyComments) {
        let step = 0.5_f64.powi(self.fraction_bits.into());
        let coordinate = |bytes: &[u8; 3]| {
            // the sign is in the last byte
            let fixed = i32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]) >> 8;
            (f64::from(fixed) * step) as f32
        };
        let means = positions.as_chunks::<9>().0.iter();
        let means = means.map(|nine| {
            let [x, y, z] = [0, 1, 2].map(|axis| coordinate(&[nine[3 * axis], nine[3 * axis + 1], nine[3 * axis + 2]]));
            axes::point([x, y, z])
        });
        let quats: Vec<[f32; 4]> = match self.version {
            2 => rotations
                .as_chunks::<3>()
                .0
                .iter()
                .map(|bytes| short_rotation(*bytes))
                .collect(),
            _ => rotations
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| rotation(u32::from_le_bytes(*bytes)))
                .collect(),
        };
        let sh_degree = u32::from(self.degree).min(KEPT_DEGREE);
        let kept = sh_coefficients(sh_degree) - 1;
        let of_one = (3 * self.file_coefficients()).max(1);
        let mut sh_rest = Vec::with_capacity(3 * kept * self.count as usize);
        for values in harmonics.chunks_exact(of_one) {
            let coefficients = values.as_chunks::<3>().0.iter().take(kept).enumerate();
            sh_rest.extend(coefficients.flat_map(|(coefficient, rgb)| {
                let sign = axes::sh_sign(coefficient);
                rgb.map(|byte| sign * (f32::from(byte) - 128.0) / 128.0)
            }));
        }
        let model = Gaussians {
            sh_degree,
            means: means.collect(),
            quats,
            log_scales: threes(scales, |byte| f64::from(byte) / 16.0 - 10.0),
            logit_opacities: opacities.iter().map(|steps| logit(*steps)).collect(),
            sh0: threes(colours, |byte| (f64::from(byte) / 255.0 - 0.5) / COLOUR_SCALE),
            sh_rest,
            filter_3d: vec![0.0; self.count as usize],
        };
        let comments = PlyComments {
            // files of writers that know of no such filter look like those of others
            render_mode: (self.flags & ANTIALIASED != 0).then_some(RenderMode::Mip),
            ..PlyComments::default()
        };
        (model, comments)
    }
}

fn threes(bytes: &[u8], value: impl Fn(u8) -> f64) -> Vec<[f32; 3]> {
    let rows = bytes.as_chunks::<3>().0.iter();
    rows.map(|row| row.map(|byte| value(byte) as f32)).collect()
}

/// The next `size` bytes.
fn exactly(file: &mut impl Read, size: u64) -> Result<Vec<u8>, PlyError> {
    let mut bytes = Vec::new();
    let read = file.by_ref().take(size).read_to_end(&mut bytes);
    read.map_err(|e| damaged(&e.to_string()))?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(damaged("it is truncated")),
    }
}

fn damaged(what: &str) -> PlyError {
    Error::Damaged(what.to_owned()).into()
}

/// (w, x, y, z) in the scene's axes of (x, y, z, w) in those of the format.
fn turned([x, y, z, w]: [f64; 4]) -> [f32; 4] {
    // half a turn about x is its own inverse
    let [x, y, z, w] = axes::rotation([w, x, y, z].map(|value| value as f32));
    [w, x, y, z]
}

fn rotation(word: u32) -> [f32; 4] {
    let others = [20, 10, 0].map(|shift| {
        let size = f64::from(word >> shift & 511) / 511.0 * std::f64::consts::FRAC_1_SQRT_2;
        if word >> shift & 512 == 0 { size } else { -size }
    });
    turned(with_largest((word >> 30) as usize, others))
}

fn short_rotation(bytes: [u8; 3]) -> [f32; 4] {
    turned(with_largest(3, bytes.map(|byte| f64::from(byte) / 127.5 - 1.0)))
}
