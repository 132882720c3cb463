//! Photos with transparent pixels in a data set whose format says nothing of them.
//!
//! Programs that cut an object out leave colours under the transparent pixels as they were, or fill them with anything: who trains on them
//! trains on what no viewer shows.

use std::path::PathBuf;

use crate::evenly;
use crate::photos::decode::decode;
use crate::view::{Alpha, View};

/// Photos that are looked at first.
const FIRST: usize = 8;
/// Where none of these is transparent anywhere, others with so many pixels together are looked at: a second or two.
const MORE_PIXELS: u64 = 100_000_000;
/// Threads that decode.
const THREADS: usize = 4;
/// Alpha from which on a pixel counts, as masks of alpha have it.
const OPAQUE: u8 = 128;

/// A photo that may have transparent pixels, and its stored size.
pub(super) type Candidate = (PathBuf, (u32, u32));

/// Looks at some of the photos; where pixels are transparent all views are masked by their alpha. What to say about it.
pub(super) fn mask(views: &mut [View], candidates: &[Candidate]) -> Option<String> {
    let (looked, unseen) = look(candidates, MORE_PIXELS);
    let with = looked.iter().filter(|share| **share > 0.0).count();
    let (looked_at, remedy) = (
        looked.len(),
        "`dataset.alpha` (mask, blend or ignore) says it otherwise",
    );
    if with == 0 {
        return (unseen > 0).then(|| {
            format!(
                "none of {looked_at} photos that were looked at has transparent pixels; {unseen} others with an alpha channel were not \
                 looked at, and theirs is ignored; {remedy}"
            )
        });
    }
    let mean = 100.0 * looked.iter().sum::<f64>() / looked.len() as f64;
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

/// Shares of transparent pixels of photos that are looked at, and how many are not. Cut-outs may be some of the photos alone, and the rest
/// saved with a channel that says nothing: where the first show nothing, others are looked at as long as there are no more than
/// `more_pixels` in them.
fn look(candidates: &[Candidate], more_pixels: u64) -> (Vec<f64>, usize) {
    let first: Vec<usize> = evenly(candidates.len(), FIRST).collect();
    let looked = shares(candidates, &first);
    if looked.iter().any(|share| *share > 0.0) {
        return (looked, candidates.len() - first.len());
    }
    let others: Vec<usize> = (0..candidates.len()).filter(|at| !first.contains(at)).collect();
    let pixels: u64 = others.iter().map(|at| area(candidates[*at].1)).sum();
    let fits = match pixels > more_pixels {
        true => (others.len() as u64 * more_pixels / pixels) as usize,
        false => others.len(),
    };
    let more: Vec<usize> = evenly(others.len(), fits).map(|at| others[at]).collect();
    let unseen = others.len() - more.len();
    ([looked, shares(candidates, &more)].concat(), unseen)
}

/// Shares of transparent pixels of these photos.
fn shares(candidates: &[Candidate], these: &[usize]) -> Vec<f64> {
    let of = |part: &[usize]| {
        part.iter()
            .filter_map(|at| share(&candidates[*at]))
            .collect::<Vec<f64>>()
    };
    std::thread::scope(|scope| {
        let parts = these.chunks(these.len().div_ceil(THREADS).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || of(part))).collect();
        // a decoder that fails on a photo says so when the photo is needed
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    })
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Share of a photo's pixels that are transparent; none where it cannot be decoded, which is said when it is needed.
fn share((path, size_px): &Candidate) -> Option<f64> {
    let picture = decode(path, *size_px)
        .ok()
        .filter(|picture| picture.color().has_alpha());
    let Some(picture) = picture else { return Some(0.0) };
    let rgba = picture.into_rgba8();
    let transparent = rgba.pixels().filter(|pixel| pixel.0[3] < OPAQUE).count();
    Some(transparent as f64 / area(*size_px) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn one_transparent_photo_among_many_is_found_or_the_rest_is_counted() {
        let folder = Scratch::new();
        let photos: Vec<Candidate> = (0..20)
            .map(|n| {
                // the last is none of the first that are looked at
                let alpha = if n == 19 { 0 } else { 255 };
                let pixels = [[9, 9, 9, 255].repeat(12), [9, 9, 9, alpha].repeat(4)].concat();
                (folder.write_png(&format!("{n}.png"), 4, 4, 4, &pixels), (4, 4))
            })
            .collect();
        let (looked, unseen) = look(&photos, 1000);
        assert_eq!((looked.len(), looked[19], unseen), (20, 0.25, 0));
        let (looked, unseen) = look(&photos, 6 * 16);
        assert_eq!(
            (looked.len(), looked.iter().all(|share| *share == 0.0), unseen),
            (14, true, 6)
        );
        assert!(mask(&mut [], &photos).is_some_and(|reported| reported.contains("1 of 20 photos")));
        assert_eq!(mask(&mut [], &photos[..19]), None);
    }
}
