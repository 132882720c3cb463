//! A sample of a long list.

/// At most `most` of the indices below `len`, ascending and evenly spread.
pub fn evenly(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = len.min(most);
    (0..count).map(move |i| i * len / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_spread_over_all_there_is() {
        let list = |len, most| evenly(len, most).collect::<Vec<_>>();
        assert_eq!(list(3, 5), [0, 1, 2]);
        assert_eq!(list(10, 4), [0, 2, 5, 7]);
        assert_eq!(list(3, 3), [0, 1, 2]);
        assert!(list(0, 4).is_empty() && list(5, 0).is_empty());
    }
}
