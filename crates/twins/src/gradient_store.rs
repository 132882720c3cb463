//! Where the gradients of visible Gaussians wait while bands take turns with the records.

/// Row of every visible Gaussian, in the order of `ids` (ascending): each 256 ids of a chunk of `chunk` Gaussians own 256
/// rows of its part of the store, and the visible ones take the first of them. Gives the chunk and the row in it.
#[must_use]
pub fn rows(ids: &[u32], chunk: u32) -> Vec<[u32; 2]> {
    let mut rank = 0;
    let mut before = None;
    ids.iter()
        .map(|id| {
            let group = id / 256;
            rank = if before == Some(group) { rank + 1 } else { 0 };
            before = Some(group);
            [id / chunk, id % chunk / 256 * 256 + rank]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_near_the_front_as_their_group() {
        let found = rows(&[3, 4, 255, 256, 700, 1029, 1030], 512);
        assert_eq!(found, [[0, 0], [0, 1], [0, 2], [0, 256], [1, 0], [2, 0], [2, 1]]);
    }
}
