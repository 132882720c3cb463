//! Exclusive prefix sum: where each of many variable-length lists starts.

/// Start of every list, and the total. Sums wrap on overflow, as on the device; capacities are checked by the caller.
#[must_use]
pub fn exclusive(counts: &[u32]) -> (Vec<u32>, u32) {
    let mut total = 0_u32;
    let starts = counts
        .iter()
        .map(|&count| {
            let start = total;
            total = total.wrapping_add(count);
            start
        })
        .collect();
    (starts, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_total() {
        assert_eq!(exclusive(&[3, 0, 2, 1]), (vec![0, 3, 3, 5], 6));
        assert_eq!(exclusive(&[]), (vec![], 0));
    }
}
