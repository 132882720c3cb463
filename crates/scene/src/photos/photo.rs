//! A decoded image at training resolution, in the bytes that the device reads.

use std::ops::Deref;
use std::sync::Arc;

/// An image: `3 * width * height` bytes of RGB, rows from the top, which is what it dereferences to. Behind it, each after zeros up
/// to a multiple of four bytes: in scenes with masks one byte a pixel, 255 where the pixel counts and 0 where it does not; in scenes
/// with depth maps a word for the unit of inverse depth and one for each pixel, little-endian; in scenes with normal maps a word for
/// each pixel. Copies share their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    bytes: Arc<Vec<u8>>,
    rgb_bytes: usize,
    parts: PhotoParts,
}

/// What a photo carries beside its colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhotoParts {
    /// A mask.
    pub masked: bool,
    /// Depths.
    pub depths: bool,
    /// Normals.
    pub normals: bool,
}

impl PhotoParts {
    /// A mask or none, and nothing else.
    #[must_use]
    pub const fn of_mask(masked: bool) -> Self {
        Self {
            masked,
            depths: false,
            normals: false,
        }
    }
}

impl Photo {
    /// Joins colours and, in a scene with masks, the mask.
    #[must_use]
    pub fn new(rgb: Vec<u8>, mask: Option<&[u8]>) -> Self {
        Self::with_maps(rgb, mask, None, None)
    }

    /// The same, and in a scene with depth maps the unit of inverse depth and the pixels' words; in one with normal maps theirs.
    #[must_use]
    pub fn with_maps(mut rgb: Vec<u8>, mask: Option<&[u8]>, depths: Option<&[u32]>, normals: Option<&[u32]>) -> Self {
        let rgb_bytes = rgb.len();
        let parts = PhotoParts {
            masked: mask.is_some(),
            depths: depths.is_some(),
            normals: normals.is_some(),
        };
        let bytes = photo_bytes(rgb_bytes as u64 / 3, parts);
        rgb.reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX) - rgb_bytes);
        if let Some(mask) = mask {
            rgb.resize(rgb_bytes.next_multiple_of(4), 0);
            rgb.extend_from_slice(mask);
        }
        for words in [depths, normals].into_iter().flatten() {
            rgb.resize(rgb.len().next_multiple_of(4), 0);
            rgb.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        rgb.shrink_to_fit();
        Self {
            bytes: Arc::new(rgb),
            rgb_bytes,
            parts,
        }
    }

    /// Colours, padding, mask, depths and normals, see [`photo_bytes`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The mask, in scenes that have masks.
    #[must_use]
    pub fn mask(&self) -> Option<&[u8]> {
        let start = self.rgb_bytes.next_multiple_of(4);
        let mask = self.bytes.get(start..start + self.rgb_bytes / 3);
        mask.filter(|_| self.parts.masked)
    }

    /// Unit and words of depth, in scenes that have depth maps.
    #[must_use]
    pub fn depths(&self) -> Option<&[[u8; 4]]> {
        let pixels = self.rgb_bytes / 3;
        let behind = if self.parts.normals { pixels } else { 0 };
        self.words(pixels + 1, behind).filter(|_| self.parts.depths)
    }

    /// Words of normals, in scenes that have normal maps.
    #[must_use]
    pub fn normals(&self) -> Option<&[[u8; 4]]> {
        self.words(self.rgb_bytes / 3, 0).filter(|_| self.parts.normals)
    }

    /// So many words, with `behind` more behind them.
    fn words(&self, count: usize, behind: usize) -> Option<&[[u8; 4]]> {
        let (_, words) = self.bytes.as_rchunks::<4>();
        let end = words.len().checked_sub(behind)?;
        words.get(end.checked_sub(count)?..end)
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

/// Bytes of the [`Photo`] of so many pixels with these parts.
#[must_use]
pub const fn photo_bytes(pixels: u64, parts: PhotoParts) -> u64 {
    let mut bytes = 3 * pixels;
    if parts.masked {
        bytes = bytes.next_multiple_of(4) + pixels;
    }
    if parts.depths {
        bytes = bytes.next_multiple_of(4) + 4 * (pixels + 1);
    }
    if parts.normals {
        bytes = bytes.next_multiple_of(4) + 4 * pixels;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn parts(masked: bool, depths: bool) -> PhotoParts {
        PhotoParts {
            masked,
            depths,
            normals: false,
        }
    }

    #[test]
    fn masks_and_maps_follow_the_colours_in_whole_words() {
        let plain = Photo::new(vec![1, 2, 3], None);
        assert_eq!((&plain[..], plain.mask(), plain.depths()), (&[1, 2, 3][..], None, None));
        assert_eq!(plain.bytes().len() as u64, photo_bytes(1, parts(false, false)));
        let masked = Photo::new(vec![7; 9], Some(&[255, 0, 255]));
        assert_eq!((masked.len(), masked.mask()), (9, Some(&[255, 0, 255][..])));
        assert_eq!(masked.bytes()[9..12], [0, 0, 0]);
        assert_eq!(masked.bytes().len() as u64, photo_bytes(3, parts(true, false)));
        let words = [9, 1, 2, 0x0403_0201];
        for mask in [None, Some(&[255, 0, 255][..])] {
            let deep = Photo::with_maps(vec![7; 9], mask, Some(&words), None);
            assert_eq!(
                (deep.mask(), deep.bytes().len() as u64),
                (mask, photo_bytes(3, parts(mask.is_some(), true)))
            );
            assert_eq!(
                deep.depths().map(|words| words.concat()),
                Some(words.map(u32::to_le_bytes).concat())
            );
            assert_eq!(deep.normals(), None);
            let normals = [5, 6, 0x0807_0605];
            for depths in [None, Some(&words[..])] {
                let both = Photo::with_maps(vec![7; 9], mask, depths, Some(&normals));
                let parts = PhotoParts {
                    normals: true,
                    ..parts(mask.is_some(), depths.is_some())
                };
                assert_eq!(both.bytes().len() as u64, photo_bytes(3, parts));
                assert_eq!(both.mask(), mask);
                let concat = |words: Option<&[[u8; 4]]>| words.map(<[[u8; 4]]>::concat);
                assert_eq!(concat(both.normals()), Some(normals.map(u32::to_le_bytes).concat()));
                assert_eq!(concat(both.depths()), depths.and(concat(deep.depths())));
            }
        }
        assert!(plain.is_same(&plain.clone()) && !plain.is_same(&Photo::new(vec![1, 2, 3], None)));
    }
}
