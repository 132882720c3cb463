//! Stable sort of (key, payload) pairs by u32 key. The device does it digit by digit; the order is the same.

/// Pairs in ascending key order; equal keys keep their input order. Both slices have the same length.
#[must_use]
pub fn sort_pairs(keys: &[u32], payloads: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = keys.iter().copied().zip(payloads.iter().copied()).collect();
    pairs.sort_by_key(|&(key, _)| key);
    pairs.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_their_order() {
        let (keys, payloads) = sort_pairs(&[2, 1, 2, 0, 1], &[10, 11, 12, 13, 14]);
        assert_eq!(keys, [0, 1, 1, 2, 2]);
        assert_eq!(payloads, [13, 11, 14, 10, 12]);
    }
}
