//! The difference between a photograph and a render as a picture: dark where they agree, brighter the farther apart.
//!
//! Lightness rises evenly along the scale and hues stay apart for weak colour vision, as in the maps that plotting
//! programs use for single quantities.

/// Colours of the scale at even steps, from no error to the largest. The style sheet's bar has the same.
pub(crate) const STOPS: [[u8; 3]; 9] = [
    [4, 4, 8],
    [31, 12, 72],
    [85, 15, 109],
    [136, 34, 106],
    [186, 54, 85],
    [227, 89, 51],
    [249, 140, 10],
    [249, 201, 50],
    [252, 255, 180],
];

/// The colour of an error, 0 to 1; above is cut off.
fn color(share: f32) -> [u8; 3] {
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let low = (at as usize).min(STOPS.len() - 2);
    let part = at - low as f32;
    std::array::from_fn(|c| {
        let [from, to] = [STOPS[low][c], STOPS[low + 1][c]].map(f32::from);
        (from + part * (to - from) + 0.5) as u8
    })
}

/// The picture of the error between two RGBA pictures of one size: `gain` times the mean over channels of the absolute
/// difference, where 1 is the range of a channel.
pub(crate) fn error_picture(photo: &[u8], render: &[u8], gain: f32) -> Vec<u8> {
    // Sums of three differences of bytes.
    let colors: Vec<[u8; 3]> = (0..=765).map(|sum| color(gain * sum as f32 / 765.0)).collect();
    let pixels = photo.as_chunks::<4>().0.iter().zip(render.as_chunks::<4>().0);
    pixels
        .flat_map(|(a, b)| {
            let sum: usize = (0..3).map(|c| usize::from(a[c].abs_diff(b[c]))).sum();
            let [red, green, blue] = colors[sum];
            [red, green, blue, 255]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_dark_to_bright_all_the_way() {
        let lightness = |share: f32| {
            let [r, g, b] = color(share).map(f32::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let steps: Vec<f32> = (0..=100).map(|i| lightness(i as f32 / 100.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[1] > pair[0] - 0.01), "{steps:?}");
        assert!(steps[0] < 10.0 && steps[100] > 240.0);
        assert_eq!((color(2.0), color(-1.0)), (STOPS[8], STOPS[0]));
    }

    #[test]
    fn errors_are_means_over_channels_times_the_gain() {
        let (photo, render) = ([10, 20, 30, 255, 0, 0, 0, 255], [10, 20, 30, 255, 51, 51, 51, 255]);
        let dark = STOPS[0];
        let far = color(0.2);
        let expected = [dark[0], dark[1], dark[2], 255, far[0], far[1], far[2], 255];
        assert_eq!(error_picture(&photo, &render, 1.0), expected);
        assert_eq!(error_picture(&photo, &render, 8.0)[4..7], STOPS[8]);
    }
}
