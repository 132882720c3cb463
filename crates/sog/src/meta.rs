//! `meta.json`: what the images hold.

use serde::{Deserialize, Serialize};

use super::Error;

/// Version of the format.
const VERSION: u32 = 2;
/// Most Gaussians: pixels of the largest image.
const MOST_COUNT: u64 = 1 << 28;
/// Most colours of the palette of spherical harmonics: two bytes number one.
pub(crate) const MOST_PALETTE: usize = 1 << 16;

/// Description of a set of images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub(crate) version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asset: Option<Asset>,
    pub(crate) count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) antialias: Option<bool>,
    pub(crate) means: Means,
    pub(crate) scales: Coded,
    pub(crate) quats: Files,
    pub(crate) sh0: Coded,
    #[serde(default, rename = "shN", skip_serializing_if = "Option::is_none")]
    pub(crate) sh_rest: Option<Palette>,
}

/// Who wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asset {
    #[serde(default)]
    pub(crate) generator: String,
}

/// Centres: ends of what their logarithms span, and the images of low and high bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Means {
    pub(crate) mins: [f64; 3],
    pub(crate) maxs: [f64; 3],
    pub(crate) files: [String; 2],
}

/// An attribute with a codebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coded {
    pub(crate) codebook: Vec<f32>,
    pub(crate) files: [String; 1],
}

/// An attribute without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Files {
    pub(crate) files: [String; 1],
}

/// Spherical harmonics: images of the palette and of the places in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Palette {
    pub(crate) count: usize,
    pub(crate) bands: u32,
    pub(crate) codebook: Vec<f32>,
    pub(crate) files: [String; 2],
}

impl Meta {
    /// A description of version 2.
    pub(crate) const fn new(count: u64, means: Means, scales: Coded, quats: Files, sh0: Coded) -> Self {
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

    /// Names of all images.
    pub(crate) fn images(&self) -> impl Iterator<Item = &str> {
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
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Versioned {
            version: Option<u32>,
        }
        let json = |e: serde_json::Error| Error::damaged(format!("its description makes no sense: {e}"));
        match serde_json::from_slice::<Versioned>(text).map_err(json)?.version {
            Some(VERSION) => {}
            Some(other) => {
                return Err(Error::damaged(format!(
                    "it is SOG of version {other}; version {VERSION} is read"
                )));
            }
            None => {
                return Err(Error::damaged(format!(
                    "its description names no version, as in SOG of version 1; version {VERSION} is read"
                )));
            }
        }
        let meta: Self = serde_json::from_slice(text).map_err(json)?;
        meta.check()?;
        Ok(meta)
    }

    fn check(&self) -> Result<(), Error> {
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

    /// Gaussians.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// SH degree.
    #[must_use]
    pub fn sh_degree(&self) -> u32 {
        self.sh_rest.as_ref().map_or(0, |palette| palette.bands)
    }

    /// Made for the screen-space filter of Mip-Splatting, where the file says.
    #[must_use]
    pub const fn antialiased(&self) -> Option<bool> {
        self.antialias
    }

    /// Smallest and largest coordinates of the centres, world units.
    #[must_use]
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        [self.means.mins, self.means.maxs].map(|end| end.map(|value| super::pixels::from_log(value) as f32))
    }
}
