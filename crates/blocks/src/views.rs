//! Which photos a block needs, by the points they show.

use crate::Rect;

/// Share of a photo's points from which on it belongs to a block.
pub const LEAST_SHARE: f64 = 0.1;
/// Share from which on a held-out photo shows mostly one block.
pub const MOSTLY: f64 = 0.5;

/// The part of `places`, the points that a photo shows, that lies in `rect`; 0 for a photo that shows none.
#[must_use]
pub fn share(places: &[[f64; 2]], rect: &Rect) -> f64 {
    let inside = places.iter().filter(|place| rect.contains(**place)).count();
    inside as f64 / places.len().max(1) as f64
}

/// Photos of every box: all with at least [`LEAST_SHARE`] of their points in it, and those that no box has so much of in the
/// box that has most, the first of equals. Without points a photo goes to the box that `fallback` lies in, where the camera is.
#[must_use]
pub fn assign(photos: &[&[[f64; 2]]], fallback: &[[f64; 2]], wide: &[Rect], cores: &[Rect]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); wide.len()];
    for (photo, places) in photos.iter().enumerate() {
        let shares: Vec<f64> = wide.iter().map(|rect| share(places, rect)).collect();
        let mut belongs = false;
        for (block, share) in shares.iter().enumerate() {
            if *share >= LEAST_SHARE {
                found[block].push(photo);
                belongs = true;
            }
        }
        if belongs {
            continue;
        }
        let most = shares.iter().copied().fold(0.0, f64::max);
        let best = if most > 0.0 {
            shares.iter().position(|share| *share == most)
        } else {
            let place = fallback.get(photo).copied().unwrap_or_default();
            cores.iter().position(|core| core.contains(place))
        };
        if let Some(list) = best.and_then(|block| found.get_mut(block)) {
            list.push(photo);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_photo_has_a_block() {
        let cores = Rect::PLANE.cut(0, 0.0);
        let wide = cores.map(|core| core.widened(1.0));
        let spread: Vec<[f64; 2]> = (-10..10).map(|x| [f64::from(x), 0.0]).collect();
        let left: Vec<[f64; 2]> = (-20..-1).map(|x| [f64::from(x), 0.0]).collect();
        let edge: Vec<[f64; 2]> = (-19..1).map(|x| [f64::from(x), 0.0]).collect();
        let photos: [&[[f64; 2]]; 4] = [&spread, &left, &edge, &[]];
        let found = assign(&photos, &[[0.0; 2], [0.0; 2], [0.0; 2], [5.0, 0.0]], &wide, &cores);
        assert_eq!(found, [vec![0, 1, 2], vec![0, 2, 3]]);
        assert_eq!(share(&spread, &cores[1]), 0.5);
        // Too little in either of two boxes that are far away: the one with more.
        let far = [
            Rect {
                min: [-10.0, -1.0],
                max: [-9.0, 1.0],
            },
            Rect {
                min: [100.0; 2],
                max: [101.0; 2],
            },
        ];
        assert_eq!(assign(&[&spread[..]], &[[0.0; 2]], &far, &far), [vec![0], vec![]]);
    }
}
