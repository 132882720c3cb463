//! Photos with transparent pixels in a data set whose format says nothing of them.
//!
//! Programs that cut an object out leave colours under the transparent pixels as they were, or fill them with anything: who trains on them
//! trains on what nobody sees.

use std::path::PathBuf;

use crate::scene::evenly;
use crate::scene::photos::decode::decode;
use crate::scene::view::{Alpha, View};

/// Most photos that are looked at.
const LOOKED_AT: usize = 8;
/// Alpha from which on a pixel counts, as masks of alpha have it.
const OPAQUE: u8 = 128;

/// A photo that may have transparent pixels, and its stored size.
pub(super) type Candidate = (PathBuf, (u32, u32));

/// Looks at some of the photos; where pixels are transparent all views are masked by their alpha. What to say about it.
pub(super) fn mask(views: &mut [View], candidates: &[Candidate]) -> Option<String> {
    let looked: Vec<f64> = evenly(candidates.len(), LOOKED_AT)
        .filter_map(|at| share(candidates.get(at)?))
        .collect();
    let with = looked.iter().filter(|share| **share > 0.0).count();
    if with == 0 {
        return None;
    }
    let mean = 100.0 * looked.iter().sum::<f64>() / looked.len() as f64;
    let (looked_at, remedy) = (
        looked.len(),
        "`dataset.alpha` (mask, blend or ignore) says it otherwise",
    );
    if looked.iter().all(|share| *share >= 1.0) {
        return Some(format!(
            "all pixels of the {looked_at} photos that were looked at are transparent: alpha is ignored; {remedy}"
        ));
    }
    for view in views {
        view.alpha = Alpha::Mask;
    }
    Some(format!(
        "{with} of {looked_at} photos that were looked at have transparent pixels, {mean:.0} % of all: they are masked; {remedy}"
    ))
}

/// Share of a photo's pixels that are transparent; none where it cannot be decoded, which is said when it is needed.
fn share((path, size_px): &Candidate) -> Option<f64> {
    let picture = decode(path, *size_px)
        .ok()
        .filter(|picture| picture.color().has_alpha());
    let Some(picture) = picture else { return Some(0.0) };
    let rgba = picture.into_rgba8();
    let transparent = rgba.pixels().filter(|pixel| pixel.0[3] < OPAQUE).count();
    Some(transparent as f64 / f64::from(size_px.0) / f64::from(size_px.1))
}
