//! Exposure as EXIF has it: a time, a sensitivity and an aperture.

use kiln_twins::rng::uniform;
use serde::Serialize;

use super::stream;

/// Light of the mean exposure: seconds at ISO 100.
const SECONDS: f64 = 0.01;
/// Nanoseconds of a second, the denominator of exposure times.
const NANOSECONDS: u32 = 1_000_000_000;
/// Tenths of the aperture's number, which all photos have.
const APERTURE_TENTHS: u32 = 80;

/// What a photo says of its exposure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Exposure {
    /// Exposure time.
    pub(super) seconds: f64,
    /// Sensitivity.
    pub(super) iso: u16,
    /// What both amount to, against the mean exposure.
    pub(super) stops: f64,
}

impl Exposure {
    /// Time and sensitivity of so many stops more light than the mean; a photo's sensitivity is one of a camera's first three.
    pub(super) fn of(seed: u32, view: u32, stops: f64) -> Self {
        let draw = uniform::<f64>(seed, stream::EXIF, view, 100);
        let iso: u16 = if draw < 1.0 / 3.0 {
            100
        } else if draw < 2.0 / 3.0 {
            200
        } else {
            400
        };
        Self {
            seconds: SECONDS * stops.exp2() * 100.0 / f64::from(iso),
            iso,
            stops,
        }
    }

    /// As a TIFF directory, little-endian.
    pub(super) fn bytes(&self) -> Vec<u8> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below 4 s, as drifts are bounded"
        )]
        let nanoseconds = (self.seconds * f64::from(NANOSECONDS)).round() as u32;
        let entry = |tag: u16, kind: u16, value: u32| {
            let mut bytes = [tag.to_le_bytes(), kind.to_le_bytes()].concat();
            bytes.extend(1_u32.to_le_bytes());
            bytes.extend(value.to_le_bytes());
            bytes
        };
        // the header and a directory of one entry are 26 bytes; the directory of three behind them ends at 68
        let mut bytes = b"II*\0\x08\0\0\0\x01\0".to_vec();
        bytes.extend(entry(0x8769, 4, 26));
        bytes.extend([0; 4]);
        bytes.extend(3_u16.to_le_bytes());
        bytes.extend(entry(0x829a, 5, 68));
        bytes.extend(entry(0x829d, 5, 76));
        bytes.extend(entry(0x8827, 3, u32::from(self.iso)));
        bytes.extend([0; 4]);
        for value in [nanoseconds, NANOSECONDS, APERTURE_TENTHS, 10] {
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_sensitivity_lie_where_the_directory_says() {
        for view in 0..8 {
            let exposure = Exposure::of(1, view, 0.7);
            let bytes = exposure.bytes();
            assert_eq!(bytes.len(), 84);
            let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            assert_eq!([word(18), word(36), word(48)], [26, 68, 76]);
            let seconds = f64::from(word(68)) / f64::from(word(72));
            let light = seconds * f64::from(word(60)) / 100.0;
            assert!(((light / SECONDS).log2() - 0.7).abs() < 1e-5, "{light}");
            assert!((seconds - exposure.seconds).abs() < 1e-9);
        }
    }
}
