//! Putting a few things in order by a number.
//!
//! One sort for all lists of the page, and by a heap: the standard library's, made anew for each type, is a tenth of the
//! module.

use std::collections::BinaryHeap;

/// The items by rising number, equal ones as they were.
pub(crate) fn rising<T>(items: Vec<T>, key: impl Fn(&T) -> f64) -> Vec<T> {
    let order = places(items.iter().map(key).collect());
    let mut slots: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| slots.get_mut(at).and_then(Option::take))
        .collect()
}

fn places(keys: Vec<f64>) -> Vec<usize> {
    let ranked = |key: f64| {
        // Whole numbers in the order of the floats.
        let bits = key.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    };
    let pairs: BinaryHeap<(i64, usize)> = keys.into_iter().map(ranked).zip(0..).collect();
    pairs.into_sorted_vec().into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_equal_ones_keep_their_order() {
        let items = vec![
            (2.0, 'a'),
            (1.0, 'b'),
            (2.0, 'c'),
            (f64::NEG_INFINITY, 'd'),
            (1.0, 'e'),
            (-1.0, 'f'),
            (-2.0, 'g'),
        ];
        let letters: String = rising(items, |item| item.0).into_iter().map(|item| item.1).collect();
        assert_eq!(letters, "dgfbeac");
    }
}
