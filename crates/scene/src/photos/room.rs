//! How much memory a picture's file justifies.
//!
//! A header may ask for any size, and some formats pack a picture of one colour into nothing. What decoding takes has to be in
//! proportion to the file's bytes, beside an allowance that is large enough for flat pictures of ordinary cameras. The figures are above
//! what formats reach with pictures that are worth training on: a JPEG of one colour has 2040 bytes of its decoder for one of its file.

/// Memory that decoding may take however few bytes the file has,
const FREE_BYTES: u64 = 160 << 20;
/// and how much more for each byte.
const GROWTH: u64 = 2048;
/// How often a pixel's bytes are there while it is decoded: in the decoder, in its picture and in what is made of that.
const COPIES: u64 = 3;

/// Memory that a file of so many bytes may take while it is decoded.
pub(super) const fn room(file_bytes: u64) -> u64 {
    FREE_BYTES.saturating_add(GROWTH.saturating_mul(file_bytes))
}

/// Refuses a picture that takes more than its file justifies; `pixel_bytes` are those of a pixel as the decoder gives it.
///
/// # Errors
/// What is wrong with it, for people.
pub(super) fn check(file_bytes: u64, (width, height): (u32, u32), pixel_bytes: u32) -> Result<(), String> {
    let pixels = u64::from(width) * u64::from(height);
    let wanted = pixels.saturating_mul(COPIES * u64::from(pixel_bytes));
    match wanted <= room(file_bytes) {
        true => Ok(()),
        false => Err(format!(
            "its header asks for {width}x{height} pixels, and its {file_bytes} bytes hold no such picture; if it is one of few colours, \
             save it with less compression"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_one_colour_are_let_in_and_bombs_are_not() {
        // As small as the formats get: JPEG (4:2:0) has 12 bits in 256 pixels, deflate one byte for 1032.
        let flat = |pixels: u64, pixel_bytes: u64| pixels * pixel_bytes / 1032;
        for (name, size_px, pixel_bytes, file_bytes) in [
            ("JPEG of 150 megapixels", (14_204, 10_652), 4, 14_204 * 10_652 / 170),
            ("grey PNG of 100", (11_608, 8708), 1, flat(101_082_464, 1)),
            (
                "mask of 1 bit and 45 megapixels",
                (8256, 5504),
                1,
                flat(45_441_024, 1) / 8,
            ),
            ("PNG of 45 megapixels", (8256, 5504), 3, flat(45_441_024, 3)),
            ("WebP of 16 megapixels", (4928, 3264), 3, 40),
            ("depths of 4 megapixels", (2464, 1632), 4, 500),
        ] {
            assert_eq!(check(file_bytes, size_px, pixel_bytes), Ok(()), "{name}");
        }
        for (name, size_px, pixel_bytes, file_bytes) in [
            ("WebP", (16_383, 16_383), 4, 40),
            ("JPEG", (16_384, 16_384), 4, 4000),
            ("PNG of 1 bit", (16_384, 16_384), 1, 33_000),
            ("EXR", (8192, 8192), 16, 2000),
            ("TIFF", (16_384, 16_384), 16, 400_000),
        ] {
            assert!(check(file_bytes, size_px, pixel_bytes).is_err(), "{name}");
        }
    }
}
