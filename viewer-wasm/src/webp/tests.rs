#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

/// An image of the reference encoder; `tests/golden/webp/make.py` made it.
fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/golden/webp/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// What another reader makes of it.
fn rgba_of(file: &[u8]) -> Vec<u8> {
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
            let _ = read(&changed, 1 << 16);
        }
    }
    let file = golden("slope.webp");
    assert!(read(&file, 10).err().unwrap().contains("at most 10"));
    let lossy = [&file[..12], b"VP8 ", &file[16..]].concat();
    assert!(read(&lossy, 1 << 16).err().unwrap().contains("not lossless"));
    assert!(read(b"RIFF....WAVE", 9).err().unwrap().contains("no WebP"));
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
