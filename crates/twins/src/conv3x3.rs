//! 3x3 convolution, stride 1, zero padding 1, bias, ReLU.

/// Convolves one image: `features` are planes `[input][row][column]` of `[width, height]` pixels, `weights` are
/// `[output][input][3][3]`, one bias an output channel. Each output adds its products in the order channel, row,
/// column, starting from the bias.
#[must_use]
pub fn conv3x3(size_px: [u32; 2], features: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
    let [width, height] = size_px.map(|v| v as usize);
    let plane = width * height;
    let input = features.len() / plane;
    let mut out = Vec::with_capacity(bias.len() * plane);
    for (o, b) in bias.iter().enumerate() {
        let mut sums = vec![*b; plane];
        for c in 0..input {
            let source = &features[c * plane..(c + 1) * plane];
            for tap in 0..9 {
                let (dy, dx) = (tap / 3, tap % 3);
                let weight = weights[(o * input + c) * 9 + tap];
                // Output columns whose source column lies inside.
                let (first, end) = (1usize.saturating_sub(dx), width.min(width + 1 - dx));
                for y in 0..height {
                    let Some(row) = (y + dy).checked_sub(1).filter(|row| *row < height) else {
                        continue;
                    };
                    let target = &mut sums[y * width + first..y * width + end];
                    let from = &source[row * width + first + dx - 1..];
                    for (sum, value) in target.iter_mut().zip(from) {
                        *sum += weight * value;
                    }
                }
            }
        }
        out.extend(sums.into_iter().map(|v| v.max(0.0)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_its_neighbourhood_and_zeros_beyond_the_border() {
        let ones = vec![1.0; 12];
        let out = conv3x3([4, 3], &ones, &[1.0; 9], &[0.5]);
        assert_eq!(out[0], 4.5);
        assert_eq!(out[1], 6.5);
        assert_eq!(out[5], 9.5);
        assert_eq!(conv3x3([4, 3], &ones, &[-1.0; 9], &[0.5]), vec![0.0; 12]);
    }

    #[test]
    fn a_tap_reads_the_neighbour_it_names() {
        let features: Vec<f32> = (1u8..=12).map(f32::from).collect();
        let mut weights = [0.0; 9];
        weights[2] = 1.0; // one up, one right
        let out = conv3x3([4, 3], &features, &weights, &[0.0]);
        assert_eq!(out[4..8], [2.0, 3.0, 4.0, 0.0]);
        assert_eq!(out[..4], [0.0; 4]);
    }
}
