//! Exposure and white balance that change from photo to photo.

use kiln_twins::rng::normal;

use super::stream;

/// Stops of green, and further ones of red and blue, of every photo. Over the photos to train on their mean is 0 and their standard
/// deviation `spread`, a third of it for red and for blue, so that what a model learns of them is as bright as the clean photos.
pub(super) fn drifts(seed: u32, spread: f64, is_trained: &[bool]) -> Vec<[f64; 3]> {
    let [exposure, red, blue] = [0, 1, 2].map(|channel| {
        let spread = if channel == 0 { spread } else { spread / 3.0 };
        spreads(seed, (stream::DRIFT, channel), spread, is_trained)
    });
    let both = exposure.iter().zip(red.iter().zip(&blue));
    both.map(|(exposure, (red, blue))| [*exposure, *red, *blue]).collect()
}

/// A normal value for every photo; over those to train on, mean 0 and this standard deviation.
pub(super) fn spreads(seed: u32, (stream, channel): (u32, u32), spread: f64, is_trained: &[bool]) -> Vec<f64> {
    let draws: Vec<f64> = (0..)
        .zip(is_trained)
        .map(|(view, _)| normal::<f64>(seed, stream, view, channel))
        .collect();
    let trained = || {
        draws
            .iter()
            .zip(is_trained)
            .filter(|(_, is)| **is)
            .map(|(draw, _)| *draw)
    };
    let count = trained().count().max(1) as f64;
    let mean = trained().sum::<f64>() / count;
    let deviation = (trained().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count).sqrt();
    // one photo alone has no spread
    let scale = if deviation > 1e-6 { spread / deviation } else { 0.0 };
    draws.iter().map(|draw| (draw - mean) * scale).collect()
}

/// Factors of red, green and blue light.
pub(super) fn gains([exposure, red, blue]: [f64; 3]) -> [f64; 3] {
    [exposure + red, exposure, exposure + blue].map(f64::exp2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_to_train_on_have_the_spread_that_is_asked_for() {
        let is_trained: Vec<bool> = (0..24).map(|view| view % 8 != 0).collect();
        let drifts = drifts(5, 0.6, &is_trained);
        for (channel, spread) in [(0, 0.6), (1, 0.2), (2, 0.2)] {
            let trained: Vec<f64> = drifts
                .iter()
                .zip(&is_trained)
                .filter(|(_, is)| **is)
                .map(|(drift, _)| drift[channel])
                .collect();
            let mean = trained.iter().sum::<f64>() / 21.0;
            let variance = trained.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 21.0;
            assert!(mean.abs() < 1e-12 && (variance.sqrt() - spread).abs() < 1e-12);
        }
        assert!(drifts[0][0].abs() > 1e-3 && drifts[0] != drifts[8]);
        let [red, green, blue] = gains([1.0, 0.5, -1.0]);
        assert!((red - 2.0_f64.powf(1.5)).abs() < 1e-12 && green == 2.0 && blue == 1.0);
        assert_eq!(super::drifts(5, 0.6, &[true]), [[0.0; 3]]);
    }
}
