//! Tiles of splats inside a band of tiles, and splats of every tile.

use std::ops::Range;

use super::project::{Settings, Visible, tile_span};
use kiln_scene::math::Real;

/// Tiles that `splat` touches inside `band`, a range of row-major tile numbers. `tiles_across` is the width of the tile
/// grid; `settings` as in [`tile_span`].
#[must_use]
pub fn count_in_band<R: Real>(splat: &Visible<R>, tiles_across: u32, band: &Range<u32>, settings: &Settings) -> u32 {
    (splat.rect.min[1]..splat.rect.max[1])
        .map(|row| {
            let [first, end] = tile_span(splat, row, settings).map(|x| row * tiles_across + x);
            let clip = |tile: u32| tile.clamp(band.start, band.end);
            clip(end) - clip(first)
        })
        .sum()
}

/// Splats of each of `n_tiles` tiles.
#[must_use]
pub fn tile_histogram<R: Real>(
    visible: &[Visible<R>],
    tiles_across: u32,
    n_tiles: usize,
    settings: &Settings,
) -> Vec<u32> {
    let mut counts = vec![0; n_tiles];
    for splat in visible {
        for row in splat.rect.min[1]..splat.rect.max[1] {
            let [first, end] = tile_span(splat, row, settings);
            for x in first..end {
                counts[(row * tiles_across + x) as usize] += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{Filter2d, TileRect};
    use crate::scenes::settings;

    fn splat(min: [u32; 2], max: [u32; 2]) -> Visible<f64> {
        Visible {
            id: 0,
            mean_px: [0.0; 2],
            depth: 1.0,
            conic: [1.0, 0.0, 1.0],
            opacity: 0.5,
            rgb: [0.0; 3],
            clamped: [false; 3],
            radius_px: 1.0,
            rect: TileRect { min, max },
            n_tiles: (max[0] - min[0]) * (max[1] - min[1]),
        }
    }

    #[test]
    fn counts_over_any_bands_add_up_to_the_tiles_touched() {
        let all = [splat([1, 0], [4, 3]), splat([0, 2], [5, 3]), splat([2, 1], [3, 2])];
        let wide = Settings {
            tight_tiles: false,
            ..settings(Filter2d::Classic, 0)
        };
        let histogram = tile_histogram(&all, 5, 15, &wide);
        assert_eq!(histogram, [0, 1, 1, 1, 0, 0, 1, 2, 1, 0, 1, 2, 2, 2, 1]);
        for cut in 0..=15 {
            for s in &all {
                let parts = [0..cut, cut..15].map(|band| count_in_band(s, 5, &band, &wide));
                assert_eq!(parts[0] + parts[1], s.n_tiles, "cut at {cut}");
            }
        }
    }
}
