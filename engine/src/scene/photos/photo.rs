//! A decoded image at training resolution, in the bytes that the device reads.

use std::ops::Deref;
use std::sync::Arc;

/// An image: `3 * width * height` bytes of RGB, rows from the top, which is what it dereferences to; then, in scenes with
/// masks, zeros up to a multiple of four bytes and one byte a pixel, 255 where the pixel counts and 0 where it does not.
/// Copies share their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    bytes: Arc<Vec<u8>>,
    rgb_bytes: usize,
}

impl Photo {
    /// Joins colours and, in a scene with masks, the mask.
    #[must_use]
    pub fn new(mut rgb: Vec<u8>, mask: Option<&[u8]>) -> Self {
        let rgb_bytes = rgb.len();
        if let Some(mask) = mask {
            let start = rgb_bytes.next_multiple_of(4);
            rgb.reserve_exact(start + mask.len() - rgb_bytes);
            rgb.resize(start, 0);
            rgb.extend_from_slice(mask);
        }
        rgb.shrink_to_fit();
        Self {
            bytes: Arc::new(rgb),
            rgb_bytes,
        }
    }

    /// Colours, padding and mask, see [`photo_bytes`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The mask, in scenes that have masks.
    #[must_use]
    pub fn mask(&self) -> Option<&[u8]> {
        self.bytes
            .get(self.rgb_bytes.next_multiple_of(4)..)
            .filter(|mask| !mask.is_empty())
    }

    /// True when both share their bytes.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes)
    }
}

impl Deref for Photo {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.rgb_bytes).unwrap_or_default()
    }
}

/// Bytes of the [`Photo`] of so many pixels, with or without a mask.
#[must_use]
pub const fn photo_bytes(pixels: u64, masked: bool) -> u64 {
    if masked {
        (3 * pixels).next_multiple_of(4) + pixels
    } else {
        3 * pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_follow_the_colours_in_whole_words() {
        let plain = Photo::new(vec![1, 2, 3], None);
        assert_eq!((&plain[..], plain.mask()), (&[1, 2, 3][..], None));
        assert_eq!(plain.bytes().len() as u64, photo_bytes(1, false));
        let masked = Photo::new(vec![7; 9], Some(&[255, 0, 255]));
        assert_eq!((masked.len(), masked.mask()), (9, Some(&[255, 0, 255][..])));
        assert_eq!(masked.bytes()[9..12], [0, 0, 0]);
        assert_eq!(masked.bytes().len() as u64, photo_bytes(3, true));
        assert!(plain.is_same(&plain.clone()) && !plain.is_same(&Photo::new(vec![1, 2, 3], None)));
    }
}
