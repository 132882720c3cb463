//! `depth_params.json` of INRIA's trainer: scale and shift of inverse depth, made beforehand.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::fit::{DepthFit, Meaning};
use crate::scene::SceneError;
use crate::scene::fence::Fence;
use crate::scene::formats::json;
use crate::scene::view::without_extension;

/// Where that trainer has it, in the scene's folder.
const FILE: &str = "sparse/0/depth_params.json";
/// Maps whose scale is further from the median, either way, are not trusted, as there.
const MOST_FROM_MEDIAN: f64 = 5.0;

/// Scales and shifts by photo, without endings.
#[derive(Debug)]
pub(super) struct Params {
    of: BTreeMap<String, Line>,
    median_scale: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Line {
    scale: f64,
    offset: f64,
}

/// Reads the file; none where there is none.
pub(super) fn read(root: &Path, fence: &Fence) -> Result<Option<Params>, SceneError> {
    let path = root.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    fence.check(&path)?;
    let of: BTreeMap<String, Line> = json::read(&path, "expected scale and offset for each photo")?;
    let mut scales: Vec<f64> = of
        .values()
        .map(|line| line.scale)
        .filter(|scale| *scale > 0.0)
        .collect();
    scales.sort_unstable_by(f64::total_cmp);
    let Some(median_scale) = scales.get(scales.len() / 2).copied() else {
        return Err(SceneError::malformed(
            &path,
            "its scales",
            "none above 0",
            "make it again",
        ));
    };
    Ok(Some(Params { of, median_scale }))
}

impl Params {
    /// The fit of a photo, measured at `pairs` of a map's value and a depth.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(super) fn fit(&self, name: &str, pairs: &[(f32, f32)]) -> Result<DepthFit, String> {
        let line = self
            .of
            .get(without_extension(name))
            .ok_or_else(|| format!("{FILE} does not name it"))?;
        let share = line.scale / self.median_scale;
        if !(1.0 / MOST_FROM_MEDIAN..=MOST_FROM_MEDIAN).contains(&share) || !line.offset.is_finite() {
            return Err(format!("its scale in {FILE}, {}, is far from the others'", line.scale));
        }
        let mut fit = DepthFit {
            meaning: Meaning::Inverse,
            scale: line.scale,
            shift: line.offset,
            error: 0.0,
            unit: 1.0,
        };
        let off = |&(value, depth): &(f32, f32)| {
            let inverse = fit.inverse_depth(value);
            inverse.map_or(f64::INFINITY, |inverse| (inverse * f64::from(depth)).ln().abs())
        };
        let mut errors: Vec<f64> = pairs.iter().map(off).collect();
        let mut units: Vec<f64> = pairs.iter().map(|(_, depth)| 1.0 / f64::from(*depth)).collect();
        for values in [&mut errors, &mut units] {
            values.sort_unstable_by(f64::total_cmp);
        }
        // without points inverse depths are measured in the scale of the maps
        fit.unit = units.get(units.len() / 2).copied().unwrap_or(self.median_scale);
        fit.error = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
        Ok(fit)
    }
}
