#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

/// An image of the reference encoder; `tests/golden/webp/make.py` made it.
fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../tests/golden/webp/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// What another reader makes of it.
pub(super) fn rgba_of(file: &[u8]) -> Vec<u8> {
    let mut reader = image_webp::WebPDecoder::new(std::io::Cursor::new(file)).unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.read_image(&mut bytes).unwrap();
    match reader.has_alpha() {
        true => bytes,
        false => bytes
            .as_chunks::<3>()
            .0
            .iter()
            .flat_map(|[r, g, b]| [*r, *g, *b, 255])
            .collect(),
    }
}

/// Bits of an image, the lowest of a byte first.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    n: usize,
}

impl Writer {
    /// An image of opaque pixels, up to its transforms.
    fn of(width: usize, height: usize) -> Self {
        let mut writer = Self::default();
        writer.put(&[(8, 0x2f), (14, width - 1), (14, height - 1), (4, 0)]);
        writer
    }

    /// Adds values of so many bits each.
    fn put(&mut self, values: &[(usize, usize)]) {
        for (n, value) in values {
            for bit in 0..*n {
                if self.n.is_multiple_of(8) {
                    self.bytes.push(0);
                }
                *self.bytes.last_mut().unwrap() |= ((value >> bit & 1) as u8) << (self.n % 8);
                self.n += 1;
            }
        }
    }

    /// Five codes of one symbol each: pixels take no bits.
    fn codes(&mut self, symbol: usize) {
        (0..5).for_each(|code| self.put(&[(3, 0b101), (8, if code < 4 { symbol } else { 0 })]));
    }

    /// A transform of a kind; those with data have `data` bits before an image of nothing.
    fn transform(&mut self, kind: usize) {
        self.put(&[(1, 1), (2, kind), ([3, 3, 0, 8][kind], 0)]);
        if kind != 2 {
            self.put(&[(1, 0)]);
            self.codes(0);
        }
    }

    fn file(&self) -> Vec<u8> {
        let size = |n: usize| (n as u32).to_le_bytes();
        let n = self.bytes.len();
        [b"RIFF", &size(n + 12)[..], b"WEBPVP8L", &size(n), &self.bytes].concat()
    }
}

/// A second one of a kind would make the image of the first as often as a file likes.
#[test]
fn each_transform_comes_once() {
    for kinds in [
        &[][..],
        &[0, 1, 2, 3],
        &[3, 2],
        &[3, 3],
        &[3, 2, 3],
        &[2, 2],
        &[0, 0],
        &[1, 3, 1],
    ] {
        let mut writer = Writer::of(20, 10);
        kinds.iter().for_each(|kind| writer.transform(*kind));
        // No transform, no cache, no parts.
        writer.put(&[(3, 0)]);
        writer.codes(0);
        let once = (0..4).all(|kind| kinds.iter().filter(|other| **other == kind).count() < 2);
        match read(&writer.file(), 200) {
            Ok(image) => assert!(once && image.pixels.len() == 200, "{kinds:?}"),
            Err(why) => assert!(!once && why.to_string() == damaged().to_string(), "{kinds:?}: {why}"),
        }
    }
}

/// Groups of codes that no part uses are passed over, and not more are kept than encoders make.
#[test]
fn groups_of_codes_are_bounded() {
    let mut writer = Writer::of(20, 10);
    writer.put(&[(2, 0), (1, 1), (3, 0), (1, 0)]);
    // All parts use the last of all groups there can be.
    writer.codes(255);
    (0..0xffff).for_each(|_| writer.codes(9));
    writer.codes(7);
    let image = read(&writer.file(), 200).unwrap();
    assert_eq!((image.width, image.pixels), (20, vec![0xff07_0707; 200]));
    let groups = |n: u32| groups_of(&(0..n).map(|group| (3 * group) << 8).collect::<Vec<_>>());
    assert_eq!(groups(2).unwrap(), [true, false, false, true]);
    assert!(groups(4096).is_ok());
    assert!(groups(4097).unwrap_err().to_string().contains("4097 groups"));
}

/// Every pixel is read, those under a low alpha too: slopes, palettes of each size, noise, repeats, parts with codes of their own.
#[test]
fn pixels_are_those_that_another_reader_finds() {
    let names = [
        "slope", "two", "four", "sixteen", "many", "noise", "repeats", "parts", "near", "alpha", "lone",
    ];
    for name in names {
        let file = golden(&format!("{name}.webp"));
        let wanted = rgba_of(&file);
        let image = read(&file, 1 << 16).map_err(|why| format!("{name}: {why}")).unwrap();
        let found: Vec<u8> = image.pixels.iter().flat_map(|pixel| channels(*pixel)).collect();
        let off = found.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!((found.len(), off), (wanted.len(), None), "{name}, {} wide", image.width);
    }
}

#[test]
fn damaged_and_foreign_images_are_refused_and_none_panics() {
    for name in ["parts", "many", "slope"] {
        let file = golden(&format!("{name}.webp"));
        for kept in (0..file.len()).step_by(11) {
            assert!(read(&file[..kept], 1 << 16).is_err(), "{name} {kept}");
        }
        for at in (12..file.len()).step_by(3) {
            let mut changed = file.clone();
            changed[at] ^= 0x35;
            // What is not read from an image has as many pixels as it says.
            if let Ok(image) = read(&changed, 1 << 16) {
                let rows = image.pixels.len() / image.width;
                assert!(rows > 0 && image.pixels.len() == rows * image.width && image.pixels.len() <= 1 << 16);
            }
        }
    }
    let file = golden("slope.webp");
    let refused = |file: &[u8], most: usize| read(file, most).err().unwrap().to_string();
    assert!(refused(&file, 10).contains("larger than what it can hold"));
    let lossy = [&file[..12], b"VP8 ", &file[16..]].concat();
    assert!(refused(&lossy, 1 << 16).contains("not lossless"));
    assert!(refused(b"RIFF....WAVE", 9).contains("no WebP"));
    // What stands before the image in a container with more in it is passed over.
    let more = [&file[..12], b"VP8X\x0a\0\0\0..........ICCP\x01\0\0\0x\0", &file[12..]].concat();
    assert_eq!(
        read(&more, 1 << 16).unwrap().pixels,
        read(&file, 1 << 16).unwrap().pixels
    );
}

#[test]
fn neighbours_begin_with_the_one_above() {
    let width = 1000;
    let near = neighbours(width);
    assert_eq!(near.len(), NEIGHBOURS);
    assert_eq!(near[..6], [1000, 1, 1001, 999, 2000, 2]);
    assert_eq!(near[118..], [6008, 7008]);
}
