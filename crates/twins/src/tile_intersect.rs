//! Depth order of the visible Gaussians and one (tile, visible index) pair for every tile each of them touches.
//!
//! Pairs are emitted in depth order, so a *stable* sort by tile alone leaves every tile's list in depth order: the two
//! short sorts replace one sort by (tile, depth).

use super::project::{Settings, Visible, tile_span};
use super::{radix_sort, scan};
use kiln_kernels::project::DEPTH_KEY_BITS;
use kiln_scene::math::Real;

/// Pairs in emission order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intersections {
    /// Row-major tile numbers.
    pub tiles: Vec<u32>,
    /// Indices into the visible list.
    pub visible: Vec<u32>,
}

/// The number that splats are ordered by: 2^19 steps an octave from the near plane on, of depths as f32.
#[must_use]
pub fn depth_key<R: Real>(depth: R, near_z: R) -> u32 {
    let steps = depth.f32_bits().wrapping_sub(near_z.f32_bits()) >> 4;
    steps.min((1 << DEPTH_KEY_BITS) - 1)
}

/// Indices into `visible`, nearest first; equal keys in list order.
#[must_use]
pub fn depth_order<R: Real>(visible: &[Visible<R>], near_z: R) -> Vec<u32> {
    let keys: Vec<u32> = visible.iter().map(|v| depth_key(v.depth, near_z)).collect();
    let indices: Vec<u32> = (0..visible.len() as u32).collect();
    radix_sort::sort_pairs(&keys, &indices).1
}

/// Emits every pair: Gaussians in `order`, each one's tiles row by row, by the settings they were projected with.
/// `tiles_across` is the width of the tile grid.
#[must_use]
pub fn emit<R: Real>(visible: &[Visible<R>], order: &[u32], tiles_across: u32, settings: &Settings) -> Intersections {
    let counts: Vec<u32> = order.iter().map(|&i| visible[i as usize].n_tiles).collect();
    let (starts, total) = scan::exclusive(&counts);
    let mut out = Intersections {
        tiles: vec![0; total as usize],
        visible: vec![0; total as usize],
    };
    for (&index, start) in order.iter().zip(starts) {
        let splat = &visible[index as usize];
        let mut at = start as usize;
        for row in splat.rect.min[1]..splat.rect.max[1] {
            let [first, end] = tile_span(splat, row, settings);
            for column in first..end {
                out.tiles[at] = row * tiles_across + column;
                out.visible[at] = index;
                at += 1;
            }
        }
    }
    out
}
