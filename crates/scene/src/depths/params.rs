//! `depth_params.json` of INRIA's trainer: scale and shift of inverse depth, made beforehand.
//!
//! Owns which photo an entry is of and what its numbers count: that trainer divides stored values by 65 536 whatever their type. An
//! entry is taken where the points of its photo agree with it, or where they are too few to say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Deserializer};

use super::MOST_ERROR;
use super::fit::{DepthFit, LEAST_POINTS};
use crate::SceneError;
use crate::error::listed;
use crate::fence::Fence;
use crate::formats::json;
use crate::view::without_extension;

/// Where that trainer has it, in the scene's folder.
pub(super) const FILE: &str = "sparse/0/depth_params.json";
/// Where points cannot say, maps whose scale is further from the median, either way, are not trusted, as there.
const MOST_FROM_MEDIAN: f64 = 5.0;
/// What that trainer divides stored values by.
const INRIA_ONE: f64 = 65_536.0;

/// Scales and shifts by photo, usually without endings.
#[derive(Debug)]
pub(super) struct Params {
    of: BTreeMap<String, Line>,
    /// Of scales above 0, where there is one.
    median_scale: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Line {
    #[serde(default)]
    scale: Number,
    #[serde(default)]
    offset: Number,
}

/// A number; NaN in the place of anything else.
#[derive(Clone, Copy, Debug)]
struct Number(f64);

impl Default for Number {
    fn default() -> Self {
        Self(f64::NAN)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Entry {
            Number(f64),
            Other(serde::de::IgnoredAny),
        }
        Ok(match Entry::deserialize(deserializer)? {
            Entry::Number(number) => Self(number),
            Entry::Other(_) => Self::default(),
        })
    }
}

/// What the file says of a photo.
pub(super) enum Given {
    /// A line that the points of the photo agree with.
    Agrees(DepthFit, Counts),
    /// A line that too few points can be held against.
    Unchecked(DepthFit, Counts),
    /// A line that the points contradict, by this much (see [`DepthFit::error`]).
    Contradicts(f64),
    /// No line that could be taken: why, for people.
    Unusable(String),
}

/// What the numbers of an entry are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Shares of the range, or numbers as they are.
    Values,
    /// Stored numbers divided by 65 536, of maps whose range is another.
    Of65536,
}

/// Reads the file; none where there is none.
pub(super) fn read(root: &Path, fence: &Fence) -> Result<Option<Params>, SceneError> {
    let path = root.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    fence.check(&path)?;
    let of: BTreeMap<String, Line> = json::read(&path, "expected scale and offset for each photo")?;
    let scales = of.values().map(|line| line.scale.0);
    let mut scales: Vec<f64> = scales.filter(|scale| *scale > 0.0).collect();
    scales.sort_unstable_by(f64::total_cmp);
    let median_scale = scales.get(scales.len() / 2).copied();
    Ok(Some(Params { of, median_scale }))
}

impl Params {
    /// What to say of entries that are of none of the photos with these names.
    pub(super) fn spare_notice<'a>(&self, photos: impl Iterator<Item = &'a str>) -> Option<String> {
        let known: BTreeSet<&str> = photos.flat_map(names).collect();
        let spare = self.of.keys().filter(|name| !known.contains(name.as_str()));
        let spare: Vec<String> = spare.cloned().collect();
        (!spare.is_empty()).then(|| {
            let (spare, all) = (listed(&spare), format!("{} of {}", spare.len(), self.of.len()));
            format!("{all} entries of {FILE} are of no photo of the scene: {spare}")
        })
    }

    /// What is given for a photo, measured at `pairs` of a map's value and a depth. A value of 1 is `one` in the map's file.
    pub(super) fn given(&self, name: &str, pairs: &[(f32, f32)], one: f32) -> Given {
        let Some(Line { scale, offset }) = names(name).find_map(|name| self.of.get(name)) else {
            return Given::Unusable("it has no entry there".to_owned());
        };
        let (scale, offset) = (scale.0, offset.0);
        if !(scale > 0.0 && scale.is_finite() && offset.is_finite()) {
            return Given::Unusable(format!("its scale there is {scale} and its offset {offset}"));
        }
        let median_scale = self.median_scale.unwrap_or(scale);
        let values = (1.0, Counts::Values);
        let of_65536 = (f64::from(one) / INRIA_ONE, Counts::Of65536);
        // Pictures of 8 bits are what that trainer reads, numbers that are no shares are not.
        let readings = match one > 1.0 && of_65536.0 < 1.0 {
            true => [of_65536, values],
            false => [values, of_65536],
        };
        let [first, second] = readings.map(|(factor, counts)| {
            let fit = DepthFit::given(factor * scale, offset, pairs, factor * median_scale);
            (fit, counts)
        });
        let (fit, counts) = if second.0.error < first.0.error { second } else { first };
        if pairs.len() >= LEAST_POINTS {
            return match fit.error <= MOST_ERROR {
                true => Given::Agrees(fit, counts),
                false => Given::Contradicts(fit.error),
            };
        }
        let from_median = scale / median_scale;
        match (1.0 / MOST_FROM_MEDIAN..=MOST_FROM_MEDIAN).contains(&from_median) {
            true => Given::Unchecked(fit, counts),
            false => Given::Unusable(format!("its scale there, {scale}, is far from the others'")),
        }
    }
}

/// What an entry for a photo may be called: its name without an ending, as INRIA's script has it, or with it, and both without folders.
fn names(name: &str) -> impl Iterator<Item = &str> {
    let own = name.rsplit('/').next().unwrap_or(name);
    [without_extension(name), name, without_extension(own), own].into_iter()
}
