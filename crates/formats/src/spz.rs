//! SPZ, versions 2 to 4: attribute after attribute in few bits, compressed.
//!
//! All versions hold the same values, but for rotations: version 2 has x, y and z in a byte each, later ones the three smallest
//! components in ten bits each. Versions 2 and 3 are a header of 16 bytes and the attributes in one gzip stream. Version 4 is a
//! plain header, a table of sizes, and a zstd frame for each attribute. Unpacking is for the caller, who knows how: browsers bring it.

use std::ops::RangeInclusive;

use crate::splat::{REST_MAX, with_largest};
use crate::{Error, Opacity, Splat, rest_count};

/// Bytes of the header of versions 2 and 3.
pub const HEADER_BYTES: usize = 16;
/// Bytes of the header of version 4 that are read: behind the same 16 the place of the table of sizes.
pub const LONG_HEADER_BYTES: u32 = 20;
/// Bytes of an entry of that table, which begins with the bytes of a frame.
pub const ENTRY_BYTES: usize = 16;
/// Versions that are read.
pub const VERSIONS: RangeInclusive<u32> = 2..=4;
/// Highest degree that comes out; what is above is passed over.
pub const KEPT_DEGREE: u32 = 3;
/// Flag: trained with the screen-space filter of Mip-Splatting.
const ANTIALIASED: u8 = 1;
/// What colour coefficients were multiplied with.
const COLOUR_SCALE: f64 = 0.15;
/// Highest degree that files have.
const MOST_DEGREE: u8 = 4;
/// Most Gaussians that are read.
const MOST_GAUSSIANS: u32 = 1 << 28;
/// Most binary digits after the point of a position.
const MOST_FRACTION_BITS: u8 = 30;

/// What a file says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    version: u32,
    count: u32,
    degree: u8,
    fraction_bits: u8,
    flags: u8,
    /// The last byte: frames, of version 4.
    frames: u8,
}

impl Header {
    /// Reads what a file of one of `versions` begins with.
    ///
    /// # Errors
    /// [`Error`] where it is another one, or announces what no file has.
    pub fn parse(bytes: &[u8; HEADER_BYTES], versions: RangeInclusive<u32>) -> Result<Self, Error> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (version, count) = (word(4), word(8));
        let [.., degree, fraction_bits, flags, frames] = *bytes;
        if !bytes.starts_with(b"NGSP") {
            return Err(Error::damaged("what it holds is no SPZ"));
        }
        if !versions.contains(&version) {
            return Err(Error::damaged(format!(
                "it is SPZ of version {version}; versions 2 to 4 are read"
            )));
        }
        if count > MOST_GAUSSIANS {
            return Err(Error::TooMany(count.into()));
        }
        if degree > MOST_DEGREE || fraction_bits > MOST_FRACTION_BITS {
            return Err(Error::damaged(format!(
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

    /// 2, 3 or 4.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Splats.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// SH degree in the file, which may be above [`KEPT_DEGREE`].
    #[must_use]
    pub const fn degree_of_file(&self) -> u32 {
        self.degree as u32
    }

    /// SH degree that comes out, 0 to 3.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.degree_of_file().min(KEPT_DEGREE)
    }

    /// Made for the screen-space filter of Mip-Splatting. Files of writers that know of none look like those of others.
    #[must_use]
    pub const fn is_antialiased(&self) -> bool {
        self.flags & ANTIALIASED != 0
    }

    /// Bytes of positions, opacities, colours, scales, rotations and coefficients.
    #[must_use]
    pub fn sizes(&self) -> [u64; 6] {
        let rotation = if self.version == 2 { 3 } else { 4 };
        let harmonics = 3 * rest_count(self.degree_of_file()) as u64;
        [9, 1, 3, 3, rotation, harmonics].map(|each| each * u64::from(self.count))
    }

    /// Bytes of the table of version 4.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        ENTRY_BYTES * usize::from(self.frames)
    }

    /// Bytes of the frame of each attribute, out of that table; an attribute without bytes has no frame.
    ///
    /// # Errors
    /// [`Error::Damaged`] where it has fewer frames than there are attributes.
    pub fn frames(&self, table: &[u8]) -> Result<[u64; 6], Error> {
        let mut entries = table.as_chunks::<ENTRY_BYTES>().0.iter();
        let mut frames = [0; 6];
        for (frame, size) in frames.iter_mut().zip(self.sizes()) {
            if size > 0 {
                let entry = entries.next().ok_or_else(|| Error::damaged("it lacks an attribute"))?;
                *frame = entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            }
        }
        Ok(frames)
    }

    /// Hands out the splats of attributes that have [`Self::sizes`].
    pub fn splats<P: AsRef<[u8]>>(&self, parts: &[P; 6], mut each: impl FnMut(&Splat)) {
        let [positions, opacities, colours, scales, rotations, harmonics] = parts.each_ref().map(AsRef::as_ref);
        let step = f64::from_bits((1023 - u64::from(self.fraction_bits)) << 52);
        let file_rest = rest_count(self.degree_of_file());
        let kept = rest_count(self.degree());
        for at in 0..self.count as usize {
            let mean = std::array::from_fn(|axis| {
                let first = 9 * at + 3 * axis;
                // the sign is in the last byte
                let fixed = i32::from_le_bytes([0, positions[first], positions[first + 1], positions[first + 2]]) >> 8;
                (f64::from(fixed) * step) as f32
            });
            let three = |part: &[u8]| -> [f64; 3] { std::array::from_fn(|i| part[3 * at + i].into()) };
            // (x, y, z, w) in the file.
            let [x, y, z, w] = match self.version {
                2 => with_largest(3, three(rotations).map(|byte| byte / 127.5 - 1.0)),
                _ => rotation(u32::from_le_bytes(std::array::from_fn(|i| rotations[4 * at + i]))),
            };
            let mut rest = [[0.0; 3]; REST_MAX];
            for (k, coefficient) in rest.iter_mut().take(kept).enumerate() {
                let first = 3 * (file_rest * at + k);
                *coefficient = std::array::from_fn(|channel| (f32::from(harmonics[first + channel]) - 128.0) / 128.0);
            }
            let splat = Splat {
                mean,
                quat: [w, x, y, z].map(|value| value as f32),
                log_scale: three(scales).map(|byte| (byte / 16.0 - 10.0) as f32),
                opacity: Opacity::Steps(opacities[at]),
                sh0: three(colours).map(|byte| ((byte / 255.0 - 0.5) / COLOUR_SCALE) as f32),
                rest,
            };
            each(&splat.turned());
        }
    }
}

/// (x, y, z, w) of the place of the largest, and sign and nine bits of each of the others.
fn rotation(word: u32) -> [f64; 4] {
    let others = [20, 10, 0].map(|shift| {
        let size = f64::from(word >> shift & 511) / 511.0 * std::f64::consts::FRAC_1_SQRT_2;
        if word >> shift & 512 == 0 { size } else { -size }
    });
    with_largest((word >> 30) as usize, others)
}
