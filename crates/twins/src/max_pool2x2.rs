//! Maximum of 2x2 pixels with stride 2.

/// Pools planes of `[width, height]` pixels; an odd last row or column is dropped.
#[must_use]
pub fn max_pool2x2(size_px: [u32; 2], features: &[f32]) -> Vec<f32> {
    let [width, height] = size_px.map(|v| v as usize);
    let mut out = Vec::with_capacity(features.len() / 4);
    for plane in features.chunks_exact(width * height) {
        for y in 0..height / 2 {
            for x in 0..width / 2 {
                let at = 2 * y * width + 2 * x;
                let above = plane[at].max(plane[at + 1]);
                out.push(above.max(plane[at + width].max(plane[at + width + 1])));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_rows_and_columns_are_dropped() {
        let features: Vec<f32> = (0u8..30).map(f32::from).collect();
        assert_eq!(max_pool2x2([5, 3], &features), [6.0, 8.0, 21.0, 23.0]);
    }
}
