//! The order in which a re-sort leaves the Gaussians.

use super::radix_sort::sort_pairs;
pub use kiln_gaussians::morton::Frame;

/// For every place, the id of the Gaussian that comes there: by the codes of the centres, those of equal codes in the order
/// they had.
#[must_use]
pub fn sources(frame: &Frame, centers: &[[f32; 3]]) -> Vec<u32> {
    let keys: Vec<u32> = centers.iter().map(|center| frame.code(*center)).collect();
    let ids: Vec<u32> = (0u32..).take(keys.len()).collect();
    sort_pairs(&keys, &ids).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;
    use kiln_gaussians::morton::order;

    #[test]
    fn the_host_sorts_a_first_model_in_the_same_way() {
        let frame = Frame::new([0.5; 3], 2.0);
        let place = |id: u32| [0, 1, 2].map(|axis| 30.0 * (rng::uniform::<f32>(3, 0, id / 2, axis) - 0.5));
        let centers: Vec<[f32; 3]> = (0..5000).map(place).collect();
        let wanted: Vec<u32> = order(&frame, &centers).into_iter().map(|i| i as u32).collect();
        assert_eq!(sources(&frame, &centers), wanted);
    }
}
