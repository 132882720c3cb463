//! Where the tiles of the visible Gaussians lie.

use super::project::{Settings, Visible, tile_span};
use kiln_scene::math::Real;

/// For each of `n_tiles` tiles: splats that touch it, splats whose first tile it is, splats whose last tile it is. Tiles
/// are counted row by row over a grid `tiles_across` wide.
#[must_use]
pub fn survey<R: Real>(
    visible: &[Visible<R>],
    tiles_across: u32,
    n_tiles: usize,
    settings: &Settings,
) -> [Vec<u32>; 3] {
    let [mut splats, mut first, mut last] = [0; 3].map(|zero| vec![zero; n_tiles]);
    for splat in visible {
        let tiles: Vec<usize> = (splat.rect.min[1]..splat.rect.max[1])
            .flat_map(|row| {
                let [first, end] = tile_span(splat, row, settings);
                (first..end).map(move |x| (row * tiles_across + x) as usize)
            })
            .collect();
        for tile in &tiles {
            splats[*tile] += 1;
        }
        if let (Some(a), Some(b)) = (tiles.first(), tiles.last()) {
            first[*a] += 1;
            last[*b] += 1;
        }
    }
    [splats, first, last]
}
