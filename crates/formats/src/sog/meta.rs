//! `meta.json`: what the images hold.

#[cfg(feature = "native")]
use serde::{Deserialize, Serialize};

use crate::Error;

/// Version of the format.
const VERSION: u32 = 2;
/// Most Gaussians: pixels of the largest image.
const MOST_COUNT: u64 = 1 << 28;
/// Most colours of the palette of spherical harmonics: two bytes number one.
pub(super) const MOST_PALETTE: usize = 1 << 16;

/// Description of a set of images.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Meta {
    /// Of the format: 2.
    pub version: u32,
    /// Who wrote it.
    #[cfg_attr(feature = "native", serde(default, skip_serializing_if = "Option::is_none"))]
    pub asset: Option<Asset>,
    /// Gaussians.
    pub count: u64,
    /// Made for the screen-space filter of Mip-Splatting, where the file says.
    #[cfg_attr(feature = "native", serde(default, skip_serializing_if = "Option::is_none"))]
    pub antialias: Option<bool>,
    /// Centres.
    pub means: Means,
    /// Logarithms of the standard deviations.
    pub scales: Coded,
    /// Rotations.
    pub quats: Files,
    /// Constant harmonics; alpha is opacity.
    pub sh0: Coded,
    /// Further harmonics.
    #[cfg_attr(
        feature = "native",
        serde(default, rename = "shN", skip_serializing_if = "Option::is_none")
    )]
    pub sh_rest: Option<Palette>,
}

/// Who wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Asset {
    /// Program and version.
    #[cfg_attr(feature = "native", serde(default))]
    pub generator: String,
}

/// Centres.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Means {
    /// Smallest of their logarithms, by axis,
    pub mins: [f64; 3],
    /// and largest.
    pub maxs: [f64; 3],
    /// Images of low and high bytes.
    pub files: [String; 2],
}

/// An attribute with a codebook.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Coded {
    /// Values that bytes name.
    pub codebook: Vec<f32>,
    /// The image.
    pub files: [String; 1],
}

/// An attribute without.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Files {
    /// The image.
    pub files: [String; 1],
}

/// Spherical harmonics.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "native", derive(Serialize, Deserialize))]
pub struct Palette {
    /// Entries of the palette.
    pub count: usize,
    /// Their degree.
    pub bands: u32,
    /// Values that bytes name.
    pub codebook: Vec<f32>,
    /// Images of the palette and of the places in it.
    pub files: [String; 2],
}

impl Meta {
    /// A description of version 2.
    #[cfg(feature = "native")]
    pub(super) const fn new(count: u64, means: Means, scales: Coded, quats: Files, sh0: Coded) -> Self {
        Self {
            version: VERSION,
            asset: None,
            count,
            antialias: None,
            means,
            scales,
            quats,
            sh0,
            sh_rest: None,
        }
    }

    /// Names of all images, in the order in which [`Self::splats`] takes them.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        let palette = self.sh_rest.iter().flat_map(|palette| &palette.files);
        let files = self
            .means
            .files
            .iter()
            .chain(&self.quats.files)
            .chain(&self.scales.files);
        files.chain(&self.sh0.files).chain(palette).map(String::as_str)
    }

    /// Reads and checks a description.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong.
    #[cfg(feature = "native")]
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Versioned {
            version: Option<u32>,
        }
        let json = |e: serde_json::Error| Error::damaged(format!("its description makes no sense: {e}"));
        Self::check_version(serde_json::from_slice::<Versioned>(text).map_err(json)?.version)?;
        let meta: Self = serde_json::from_slice(text).map_err(json)?;
        meta.check()?;
        Ok(meta)
    }

    /// Refuses other versions than this one; the first names none.
    ///
    /// # Errors
    /// [`Error::Damaged`], which names it.
    pub fn check_version(version: Option<u32>) -> Result<(), Error> {
        match version {
            Some(VERSION) => Ok(()),
            Some(other) => Err(Error::damaged(format!(
                "it is SOG of version {other}; version {VERSION} is read"
            ))),
            None => Err(Error::damaged(format!(
                "its description names no version, as in SOG of version 1; version {VERSION} is read"
            ))),
        }
    }

    /// Refuses what no file means.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong.
    pub fn check(&self) -> Result<(), Error> {
        if self.count > MOST_COUNT {
            return Err(Error::damaged(format!(
                "it announces {} Gaussians, and an image has at most {MOST_COUNT} pixels",
                self.count
            )));
        }
        let books = [
            Some(&self.scales.codebook),
            Some(&self.sh0.codebook),
            self.sh_rest.as_ref().map(|p| &p.codebook),
        ];
        for book in books.into_iter().flatten() {
            if !(1..=256).contains(&book.len()) || book.iter().any(|value| !value.is_finite()) {
                return Err(Error::damaged(format!(
                    "a codebook has {} values; 1 to 256 finite ones are read",
                    book.len()
                )));
            }
        }
        // beyond this the exponential is no 32-bit float
        let fits = |value: &f64| value.abs() < 88.0;
        if !self.means.mins.iter().chain(&self.means.maxs).all(fits) {
            return Err(Error::damaged("its centres lie beyond what 32-bit floats hold"));
        }
        match &self.sh_rest {
            Some(palette) if !(1..=3).contains(&palette.bands) || !(1..=MOST_PALETTE).contains(&palette.count) => {
                Err(Error::damaged(format!(
                    "its palette has {} entries of {} bands; 1 to {MOST_PALETTE} of 1 to 3 are read",
                    palette.count, palette.bands
                )))
            }
            _ => Ok(()),
        }
    }

    /// SH degree.
    #[must_use]
    pub fn sh_degree(&self) -> u32 {
        self.sh_rest.as_ref().map_or(0, |palette| palette.bands)
    }

    /// Smallest and largest coordinates of the centres, world units.
    #[must_use]
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        [self.means.mins, self.means.maxs].map(|end| end.map(|value| super::images::from_log(value) as f32))
    }
}
