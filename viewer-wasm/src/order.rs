//! Putting a few things in order by a number.
//!
//! One sort for all lists of the page: the standard library's, made anew for each type, is a tenth of the module.

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
    let mut pairs: Vec<(f64, usize)> = keys.into_iter().zip(0..).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    pairs.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_equal_ones_keep_their_order() {
        let items = vec![(2.0, 'a'), (1.0, 'b'), (2.0, 'c'), (f64::NEG_INFINITY, 'd'), (1.0, 'e')];
        let letters: String = rising(items, |item| item.0).into_iter().map(|item| item.1).collect();
        assert_eq!(letters, "dbeac");
    }
}
