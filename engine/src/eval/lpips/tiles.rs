//! How an image is cut so that its activations fit a workspace.
//!
//! Two cuts. An image becomes tiles on the 16 px grid, each with a halo wide enough that the inside of the tile comes
//! out as if the image were whole. Within a tile, the three blocks of highest resolution are made in strips of rows:
//! only their pooled result exists as a whole.

use super::network::{BLOCKS, FIRST_WHOLE_BLOCK, GRID_PX, HALO_PX, channels, convs};
use kiln_kernels::conv3x3::Rows;

/// Bytes a pixel of the *image* takes in each pooled result, for both images: `2 * 4 * channels / 4^(block + 1)`.
pub(super) const POOLED_BYTES_PER_PX: [u64; BLOCKS - 1] = [128, 64, 32, 16];

/// Bytes a pixel of the image takes in one scratch buffer of the blocks that are made whole.
pub(super) const WHOLE_BYTES_PER_PX: [u64; BLOCKS] = [0, 0, 0, 64, 16];

/// Most sums a tile writes.
pub(super) const SUMS_CAP: u32 = 1 << 16;

/// What a tile may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileLimits {
    /// Pixels of a tile, halo included.
    pub(super) pixels: u64,
    /// Bytes of one of the two strip buffers, per block that is made in strips.
    pub(super) strip_bytes: [u64; FIRST_WHOLE_BLOCK],
}

/// A tile: the pixels it answers for, and the pixels it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tile {
    /// First pixel read, across and down.
    pub(super) origin: [u32; 2],
    /// Pixels read.
    pub(super) size: [u32; 2],
    /// First pixel answered for, relative to the origin.
    pub(super) inside: [u32; 2],
    /// Pixels answered for.
    pub(super) inside_size: [u32; 2],
}

impl Tile {
    /// The same tile moved to the image's corner: tiles that are equal then run the same programs.
    pub(super) fn shape(mut self) -> Self {
        self.origin = [0, 0];
        self
    }

    /// Width and height at the level of `block`.
    pub(super) fn level(&self, block: usize) -> [u32; 2] {
        self.size.map(|side| side >> block)
    }

    /// Columns and rows answered for at the level of `block`.
    pub(super) fn inside_at(&self, block: usize) -> [Rows; 2] {
        std::array::from_fn(|axis| {
            let [first, count] = [self.inside[axis], self.inside_size[axis]];
            let end = (first + count) >> block;
            let first = first >> block;
            Rows {
                first,
                count: end.saturating_sub(first),
            }
        })
    }
}

/// Cuts `length` pixels into `parts` spans on the grid: read from, read to, answered from, answered to.
fn spans(length: u32, parts: u32) -> Vec<[u32; 4]> {
    let step = length.div_ceil(parts).next_multiple_of(GRID_PX);
    let mut list = Vec::new();
    let mut first = 0;
    while first < length {
        let end = (first + step).min(length);
        list.push([first.saturating_sub(HALO_PX), (end + HALO_PX).min(length), first, end]);
        first = end;
    }
    list
}

impl TileLimits {
    /// Rows that one strip of `block` answers for at a level of this size; 0 when not even two rows fit.
    pub(super) fn strip_rows(&self, block: usize, [width, height]: [u32; 2]) -> u32 {
        let Some(bytes) = self.strip_bytes.get(block) else {
            return height;
        };
        let row = 8 * u64::from(channels(block)) * u64::from(width.max(1));
        let rows = u32::try_from(bytes / row).unwrap_or(u32::MAX);
        if rows >= height {
            return height;
        }
        // Layers before the last make rows that only their successors need. Even, so that pooling windows stay whole.
        rows.saturating_sub(strip_halo(block)) & !1
    }

    /// True when a tile of `size` pixels can be made.
    pub(super) fn fits(&self, size: [u32; 2]) -> bool {
        if u64::from(size[0]) * u64::from(size[1]) > self.pixels {
            return false;
        }
        let mut sums = 0u64;
        for block in 0..BLOCKS {
            let level = size.map(|side| side >> block);
            let rows = self.strip_rows(block, level);
            if rows == 0 && level[1] > 0 {
                return false;
            }
            let strips = u64::from(level[1].div_ceil(rows.max(1)));
            sums += strips * (u64::from(level[0]) * u64::from(rows)).div_ceil(64).min(256);
        }
        sums <= u64::from(SUMS_CAP)
    }

    /// The cut of an image with the least work, or `None` when no cut fits.
    pub(super) fn cut(&self, size: [u32; 2]) -> Option<Vec<Tile>> {
        let [across, down] = size.map(|length| -> Vec<Axis> {
            let parts = 1..=length.div_ceil(GRID_PX);
            parts.map(|parts| Axis::new(spans(length, parts))).collect()
        });
        let pairs = across.iter().flat_map(|x| down.iter().map(move |y| (x, y)));
        let fitting = pairs.filter(|(x, y)| self.fits([x.largest, y.largest]));
        let (columns, rows) = fitting.min_by_key(|(x, y)| x.total * y.total)?;
        Some(grid(&columns.spans, &rows.spans))
    }
}

/// One axis of a cut.
struct Axis {
    spans: Vec<[u32; 4]>,
    /// Pixels read by all spans together.
    total: u64,
    /// Pixels read by the longest span.
    largest: u32,
}

impl Axis {
    fn new(spans: Vec<[u32; 4]>) -> Self {
        let read = |s: &[u32; 4]| s[1] - s[0];
        Self {
            total: spans.iter().map(|s| u64::from(read(s))).sum(),
            largest: spans.iter().map(read).max().unwrap_or(0),
            spans,
        }
    }
}

fn grid(columns: &[[u32; 4]], rows: &[[u32; 4]]) -> Vec<Tile> {
    rows.iter()
        .flat_map(|y| {
            columns.iter().map(move |x| Tile {
                origin: [x[0], y[0]],
                size: [x[1] - x[0], y[1] - y[0]],
                inside: [x[2] - x[0], y[2] - y[0]],
                inside_size: [x[3] - x[2], y[3] - y[2]],
            })
        })
        .collect()
}

/// A cut into a given number of parts, whatever its cost.
#[cfg(test)]
pub(super) fn forced(size: [u32; 2], parts: [u32; 2]) -> Vec<Tile> {
    grid(&spans(size[0], parts[0]), &spans(size[1], parts[1]))
}

/// Rows beyond a strip, both sides together, that the first layer of `block` makes.
pub(super) fn strip_halo(block: usize) -> u32 {
    2 * (u32::try_from(convs(block).len()).unwrap_or(1) - 1)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    fn limits(pixels: u64) -> TileLimits {
        TileLimits {
            pixels,
            strip_bytes: [pixels * 32; 3],
        }
    }

    #[test]
    fn every_pixel_of_every_level_is_answered_for_once() {
        for (size, pixels) in [([131, 97], 1 << 20), ([1237, 822], 1 << 19), ([700, 433], 1 << 17)] {
            let tiles = limits(pixels).cut(size).unwrap();
            for block in 0..BLOCKS {
                let level = size.map(|s: u32| s >> block);
                let mut seen = vec![0u8; (level[0] * level[1]) as usize];
                for tile in &tiles {
                    let [columns, rows] = tile.inside_at(block);
                    let origin = tile.origin.map(|o| o >> block);
                    let here = tile.level(block);
                    assert!(columns.end() <= here[0] && rows.end() <= here[1]);
                    for y in rows.first..rows.end() {
                        for x in columns.first..columns.end() {
                            seen[((origin[1] + y) * level[0] + origin[0] + x) as usize] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|n| *n == 1), "{size:?} block {block}");
            }
        }
    }

    #[test]
    fn tiles_respect_the_limits_and_the_halo() {
        let limits = limits(1 << 18);
        for tile in limits.cut([1559, 1039]).unwrap() {
            assert!(limits.fits(tile.size), "{tile:?}");
            for axis in 0..2 {
                assert_eq!(tile.origin[axis] % GRID_PX, 0);
                let end = tile.origin[axis] + tile.size[axis];
                let inside_end = tile.inside[axis] + tile.inside_size[axis];
                assert!(tile.origin[axis] == 0 || tile.inside[axis] == HALO_PX);
                assert!(end == [1559, 1039][axis] || tile.size[axis] == inside_end + HALO_PX);
            }
        }
    }

    #[test]
    fn a_workspace_too_small_for_a_halo_fits_nothing() {
        assert!(limits(200 * 200).cut([2000, 2000]).is_none());
        assert!(limits(240 * 240).cut([2000, 2000]).is_some());
    }
}
