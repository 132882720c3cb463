//! How much light a photo took, as its camera wrote it into the Exif segment.
//!
//! Owns the little of TIFF that this needs. Takes any bytes: what is damaged, missing or absurd gives nothing.

/// Tags of the directory that the first one points to, and of what stands in it.
const EXIF_DIRECTORY: u16 = 0x8769;
const EXPOSURE_TIME: u16 = 0x829a;
const F_NUMBER: u16 = 0x829d;
const ISO: u16 = 0x8827;
/// Types of values: 16 and 32 bits, and two of the latter as a fraction.
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;
/// Most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 512;
/// What cameras have: seconds, f-numbers, ISO.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=1e4;
const F_NUMBERS: std::ops::RangeInclusive<f64> = 0.5..=128.0;
const SPEEDS: std::ops::RangeInclusive<f64> = 1.0..=1e7;

/// A TIFF structure.
struct Tiff<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl<'a> Tiff<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let is_little = match bytes.first_chunk::<4>()? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        Some(Self { bytes, is_little })
    }

    fn short(&self, at: usize) -> Option<u16> {
        let bytes = *self.bytes.get(at..)?.first_chunk::<2>()?;
        Some(match self.is_little {
            true => u16::from_le_bytes(bytes),
            false => u16::from_be_bytes(bytes),
        })
    }

    fn long(&self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at..)?.first_chunk::<4>()?;
        Some(match self.is_little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        })
    }

    /// Where the entry of a tag begins in the directory at `directory`.
    fn entry(&self, directory: usize, tag: u16) -> Option<usize> {
        let count = usize::from(self.short(directory)?).min(MOST_ENTRIES);
        let entries = (0..count).map(|k| directory + 2 + 12 * k);
        entries
            .take_while(|at| at + 12 <= self.bytes.len())
            .find(|at| self.short(*at) == Some(tag))
    }

    /// The first number of a tag's.
    fn number(&self, directory: usize, tag: u16) -> Option<f64> {
        let at = self.entry(directory, tag)?;
        let (kind, count) = (self.short(at + 2)?, self.long(at + 4)?);
        let value = at + 8;
        let elsewhere = || Some(self.long(value)? as usize);
        match kind {
            SHORT if count <= 2 => Some(f64::from(self.short(value)?)),
            SHORT => Some(f64::from(self.short(elsewhere()?)?)),
            LONG if count <= 1 => Some(f64::from(self.long(value)?)),
            LONG => Some(f64::from(self.long(elsewhere()?)?)),
            RATIONAL => {
                let from = elsewhere()?;
                let (over, under) = (self.long(from)?, self.long(from.checked_add(4)?)?);
                (under > 0).then(|| f64::from(over) / f64::from(under))
            }
            _ => None,
        }
    }
}

/// Light of a photo in thousandths of a stop: twice the exposure time or the sensitivity is a stop more, twice the f-number two less. From
/// the TIFF structure of an Exif segment; `None` without an exposure time. What else is missing counts as if all photos had the same.
pub(super) fn milli_stops(tiff: &[u8]) -> Option<i32> {
    let tiff = Tiff::of(tiff)?;
    let first = tiff.long(4)? as usize;
    let at = tiff.entry(first, EXIF_DIRECTORY)?;
    let directory = tiff.long(at + 8)? as usize;
    let seconds = tiff
        .number(directory, EXPOSURE_TIME)
        .filter(|value| SECONDS.contains(value))?;
    let f_number = tiff
        .number(directory, F_NUMBER)
        .filter(|value| F_NUMBERS.contains(value));
    let speed = tiff.number(directory, ISO).filter(|value| SPEEDS.contains(value));
    let stops = (seconds * speed.unwrap_or(100.0)).log2() - 2.0 * f_number.unwrap_or(1.0).log2();
    #[expect(clippy::cast_possible_truncation, reason = "some dozens of stops")]
    let thousandths = (1000.0 * stops).round() as i32;
    Some(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure with these numbers, in either byte order.
    fn exif(seconds: [u32; 2], f_number: [u32; 2], iso: u16, is_little: bool) -> Vec<u8> {
        let short = |value: u16| {
            if is_little {
                value.to_le_bytes()
            } else {
                value.to_be_bytes()
            }
        };
        let long = |value: u32| {
            if is_little {
                value.to_le_bytes()
            } else {
                value.to_be_bytes()
            }
        };
        let mut out = if is_little {
            b"II*\0".to_vec()
        } else {
            b"MM\0*".to_vec()
        };
        out.extend(long(8));
        let entry = |out: &mut Vec<u8>, tag: u16, kind: u16, value: [u8; 4]| {
            out.extend(short(tag));
            out.extend(short(kind));
            out.extend(long(1));
            out.extend(value);
        };
        out.extend(short(1));
        entry(&mut out, EXIF_DIRECTORY, LONG, long(26));
        out.extend(long(0));
        assert_eq!(out.len(), 26);
        out.extend(short(3));
        entry(&mut out, EXPOSURE_TIME, RATIONAL, long(68));
        entry(&mut out, F_NUMBER, RATIONAL, long(76));
        let [high, low] = short(iso);
        entry(&mut out, ISO, SHORT, [high, low, 0, 0]);
        out.extend(long(0));
        assert_eq!(out.len(), 68);
        for value in seconds.into_iter().chain(f_number) {
            out.extend(long(value));
        }
        out
    }

    #[test]
    fn stops_are_of_time_aperture_and_sensitivity() {
        for is_little in [true, false] {
            let stops = |seconds, f_number, iso| milli_stops(&exif(seconds, f_number, iso, is_little));
            let base = stops([1, 100], [2, 1], 100);
            assert_eq!(base, Some(-2000));
            assert_eq!(stops([1, 50], [2, 1], 100), Some(-1000));
            assert_eq!(stops([1, 100], [4, 1], 100), Some(-4000));
            assert_eq!(stops([1, 100], [2, 1], 800), Some(1000));
            // What no camera has counts as missing.
            assert_eq!(stops([0, 100], [2, 1], 100), None);
            assert_eq!(stops([1, 0], [2, 1], 100), None);
            assert_eq!(stops([1, 100], [0, 1], 100), Some(0));
        }
    }

    #[test]
    fn hostile_bytes_give_nothing_and_never_panic() {
        let whole = exif([1, 100], [2, 1], 100, true);
        for end in 0..whole.len() {
            let _ = milli_stops(&whole[..end]);
        }
        assert_eq!(milli_stops(&whole[..68]), None);
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = milli_stops(&bytes);
            }
        }
        // A directory that is its own, and offsets beyond all bytes.
        let mut own = whole.clone();
        own[18..22].copy_from_slice(&8_u32.to_le_bytes());
        assert_eq!(milli_stops(&own), None);
        let mut far = whole;
        far[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(milli_stops(&far), None);
        assert_eq!(milli_stops(&[]), None);
    }
}
