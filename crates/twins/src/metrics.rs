//! Image quality figures of an evaluation: L1, PSNR in its two definitions, SSIM with two borders.
//!
//! Image and target are clamped to [0, 1] and not quantised. Sums are f64 whatever the images are in.

use super::loss::{WINDOW_RADIUS, masked, mean_absolute, ssim_map};
use kiln_scene::math::{Real, Vec3};

/// Figures of one image pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Mean absolute difference.
    pub l1: f64,
    /// Mean of the three channels' PSNRs, dB.
    pub psnr: f64,
    /// PSNR of one mean squared error over all channels, dB; never above `psnr`.
    pub psnr_image: f64,
    /// Mean SSIM, zero padding, all pixels.
    pub ssim: f64,
    /// Mean SSIM of pixels whose whole window lies inside; `None` for images under 11 pixels on a side.
    pub ssim_valid: Option<f64>,
}

/// -10 log10 of a mean squared error of values in [0, 1]; infinite for equal images.
#[must_use]
pub fn psnr_of(mse: f64) -> f64 {
    -10.0 * mse.log10()
}

/// Compares two row-major images of the given size.
#[must_use]
pub fn metrics<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], target: &[Vec3<R>]) -> Metrics {
    masked_metrics(size_px, image, target, &vec![true; image.len()])
}

/// Compares the pixels that count. What does not count is black in both images when SSIM is computed.
#[must_use]
pub fn masked_metrics<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], target: &[Vec3<R>], counts: &[bool]) -> Metrics {
    let clamp =
        |pixels: &[Vec3<R>]| -> Vec<Vec3<R>> { pixels.iter().map(|p| p.map(|v| v.max(R::ZERO).min(R::ONE))).collect() };
    let mask: Vec<R> = counts.iter().map(|&c| if c { R::ONE } else { R::ZERO }).collect();
    let (image, target) = (masked(&clamp(image), &mask), masked(&clamp(target), &mask));
    let n_px = counts.iter().filter(|counts| **counts).count() as f64;
    let mut squared = [0.0; 3];
    for (x, y) in image.iter().zip(&target) {
        for (c, sum) in squared.iter_mut().enumerate() {
            *sum += (x[c] - y[c]).to_f64().powi(2);
        }
    }
    let points = ssim_map(size_px, &image, &target);
    let mean_where = |keep: &dyn Fn(usize) -> bool| {
        let kept = || {
            points
                .iter()
                .enumerate()
                .filter(|(i, _)| counts[*i] && keep(*i))
                .flat_map(|(_, p)| p)
        };
        kept().map(|s| s.value.to_f64()).sum::<f64>() / kept().count() as f64
    };
    let [width, height] = size_px.map(|v| v as usize);
    let inside = |at: usize, length: usize| at >= WINDOW_RADIUS && at + WINDOW_RADIUS < length;
    Metrics {
        l1: mean_absolute(&image, &target) * image.len() as f64 / n_px,
        psnr: squared.map(|s| psnr_of(s / n_px)).iter().sum::<f64>() / 3.0,
        psnr_image: psnr_of(squared.iter().sum::<f64>() / (3.0 * n_px)),
        ssim: mean_where(&|_| true),
        ssim_valid: (width.min(height) > 2 * WINDOW_RADIUS)
            .then(|| mean_where(&|i| inside(i % width, width) && inside(i / width, height))),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;
    use std::path::Path;

    fn read(folder: &Path, name: &str) -> ([u32; 2], Vec<Vec3<f64>>) {
        let image = image::open(folder.join(name)).unwrap().to_rgb8();
        let size = [image.width(), image.height()];
        (
            size,
            image.pixels().map(|p| p.0.map(|v| f64::from(v) / 255.0)).collect(),
        )
    }

    #[test]
    fn recorded_pairs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/metrics");
        let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
        let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
        let pairs = golden["pairs"].as_object().unwrap();
        assert_eq!(pairs.len(), 3);
        for (name, wanted) in pairs {
            let (size, image) = read(&folder, &format!("pair_{name}_pred.png"));
            let (_, target) = read(&folder, &format!("pair_{name}_gt.png"));
            let check = |found: Metrics, psnr_tolerance: f64, ssim_tolerance: f64| {
                let close = |key: &str, value: f64, tolerance: f64| {
                    let reference = wanted[key].as_f64().unwrap();
                    assert!(
                        (value - reference).abs() < tolerance,
                        "{name} {key}: {value} against {reference}"
                    );
                };
                close("psnr", found.psnr, 1e-3);
                close("psnr_image", found.psnr_image, psnr_tolerance);
                close("ssim", found.ssim, ssim_tolerance);
                close("ssim_valid", found.ssim_valid.unwrap(), ssim_tolerance);
            };
            // The reference read its bytes as f32.
            check(metrics(size, &image, &target), 1e-6, 1e-7);
            let narrow = |p: &[Vec3<f64>]| -> Vec<Vec3<f32>> { p.iter().map(|p| p.map(|v| v as f32)).collect() };
            check(metrics(size, &narrow(&image), &narrow(&target)), 1e-3, 2e-5);
        }
    }

    #[test]
    fn small_images_have_no_inner_ssim_and_equal_ones_infinite_psnr() {
        let grey = vec![[0.5_f32; 3]; 60];
        let out = metrics([10, 6], &grey, &grey);
        assert_eq!(out.ssim_valid, None);
        assert!(out.psnr.is_infinite() && out.l1 == 0.0);
    }

    #[test]
    fn values_outside_the_unit_range_are_clamped() {
        let image = vec![[1.5_f32, -0.5, 0.5]; 4];
        let target = vec![[1.0, 0.0, 0.5]; 4];
        assert_eq!(metrics([2, 2], &image, &target).l1, 0.0);
    }
}
