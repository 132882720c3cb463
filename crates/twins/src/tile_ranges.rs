//! Where each tile's list lies in the sorted intersections.

/// `[start, end)` of every tile in a list of ascending tile numbers; tiles without entries get an empty range at 0.
#[must_use]
pub fn tile_ranges(sorted_tiles: &[u32], n_tiles: usize) -> Vec<[u32; 2]> {
    let mut ranges = vec![[0, 0]; n_tiles];
    for (i, &tile) in sorted_tiles.iter().enumerate() {
        let i = i as u32;
        if i == 0 || sorted_tiles[i as usize - 1] != tile {
            ranges[tile as usize][0] = i;
        }
        ranges[tile as usize][1] = i + 1;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_tiles_have_empty_ranges() {
        assert_eq!(tile_ranges(&[1, 1, 1, 3], 5), [[0, 0], [0, 3], [0, 0], [3, 4], [0, 0]]);
        assert_eq!(tile_ranges(&[], 2), [[0, 0], [0, 0]]);
    }
}
