//! Sums of an evaluation pass to figures: L1, PSNR in its two definitions, SSIM with two borders; means over views.
//!
//! All arithmetic is f64. PSNR is -10 log10(MSE) of values in [0, 1]; SSIM follows Wang et al. 2004 with an 11-tap
//! Gaussian window. A figure that cannot be is NaN and becomes `null` in JSON, never a made-up number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::export::null_as_nan;
use kiln_kernels::loss::METRIC_WORDS;

/// Side of a tile, pixels.
const TILE_PX: u32 = 16;
/// Reach of the SSIM window, pixels: SSIM counts as valid this far inside.
const WINDOW_RADIUS_PX: u32 = 5;
/// A squared error below this counts as this: equal images have a PSNR of 100 dB, not infinity, so that a mean over
/// views stays a number.
const LEAST_MSE: f64 = 1e-10;

/// Sums that do not fit the image they are said to be of.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Not eight sums a tile.
    #[error(
        "{found} metric sums for an image of {width} x {height} pixels, which has {wanted}; \
         the sums belong to an image of another size"
    )]
    Size {
        /// Image width, pixels.
        width: u32,
        /// Image height, pixels.
        height: u32,
        /// Sums given.
        found: usize,
        /// Sums expected.
        wanted: usize,
    },
}

/// Figures of one view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViewMetrics {
    /// Mean absolute error over pixels and channels; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub l1: f64,
    /// Mean of the three channels' PSNRs, dB, each at most 100; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub psnr: f64,
    /// PSNR of one squared error over all channels, dB, at most 100; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub psnr_image: f64,
    /// Mean SSIM with zero padding; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ssim: f64,
    /// Mean SSIM of pixels whose whole window lies inside; null for images under 11 pixels on a side.
    pub ssim_valid: Option<f64>,
}

/// Figures of a view from the sums of an evaluation pass.
///
/// `sums` holds eight words for each 16 x 16 tile, row by row: sum of absolute differences and of SSIM over pixels and
/// channels, SSIM again at least 5 pixels inside, squared error of red, green and blue. With `masked`, all of them are over
/// the pixels that count, and two more words hold the number of those and of those at least 5 pixels inside, once a
/// channel; the figures are then means over the pixels that count, not finite where there are none.
///
/// # Errors
/// [`ReportError::Size`] when there are more or fewer sums than the image has tiles for.
pub fn view_metrics<T: Copy + Into<f64>>(
    sums: &[T],
    size_px: [u32; 2],
    masked: bool,
) -> Result<ViewMetrics, ReportError> {
    let [width, height] = size_px;
    let tiles = width.div_ceil(TILE_PX) as usize * height.div_ceil(TILE_PX) as usize;
    let words = METRIC_WORDS as usize;
    if sums.len() != tiles * words || sums.is_empty() {
        return Err(ReportError::Size {
            width,
            height,
            found: sums.len(),
            wanted: tiles * words,
        });
    }
    let sum = |word: usize| -> f64 { sums.iter().skip(word).step_by(words).map(|v| (*v).into()).sum() };
    let area = |width: u32, height: u32| f64::from(width) * f64::from(height);
    let pixels = if masked { sum(6) / 3.0 } else { area(width, height) };
    let squared = [sum(3), sum(4), sum(5)];
    let border = 2 * WINDOW_RADIUS_PX;
    let inside = || {
        if masked {
            sum(7)
        } else {
            3.0 * area(width - border, height - border)
        }
    };
    let ssim_valid = (width.min(height) > border)
        .then(|| sum(2) / inside())
        .filter(|value| value.is_finite());
    Ok(ViewMetrics {
        l1: sum(0) / (3.0 * pixels),
        psnr: squared.map(|s| psnr(s / pixels)).iter().sum::<f64>() / 3.0,
        psnr_image: psnr(squared.iter().sum::<f64>() / (3.0 * pixels)),
        ssim: sum(1) / (3.0 * pixels),
        ssim_valid,
    })
}

/// dB of a mean squared error, at most 100; NaN stays NaN.
pub(super) fn psnr(mse: f64) -> f64 {
    let mse = if mse < LEAST_MSE { LEAST_MSE } else { mse };
    -10.0 * libm::log10(mse)
}

/// One view of `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViewRow {
    /// Stem of the view's images, e.g. `render/test/STEM.png`.
    pub name: String,
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// The figures.
    #[serde(flatten)]
    pub metrics: ViewMetrics,
    /// LPIPS (VGG16); null when it was not computed.
    pub lpips: Option<f64>,
    /// `psnr_image` of the right half after the affine map of colours that fits the left half best; only where it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psnr_fitted_half: Option<f64>,
    /// Share of the view's blended light that comes from splats nearer than the nearest sparse point in its picture, 0 to
    /// 1; there for test views with such a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fog_share: Option<f64>,
    /// True when the pictures of this view were written.
    pub images: bool,
}

/// Means over the views of a set; a figure that some view lacks is the mean over the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Means {
    /// Number of views.
    pub n: u32,
    /// The figures.
    #[serde(flatten)]
    pub metrics: ViewMetrics,
    /// LPIPS; null when no view has it.
    pub lpips: Option<f64>,
    /// `psnr_fitted_half`; there when a view has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psnr_fitted_half: Option<f64>,
}

/// Means over views; `None` without views. NaN in one view makes that mean NaN.
#[must_use]
pub fn means(views: &[ViewRow]) -> Option<Means> {
    let n = views.len();
    let mean = |figure: &dyn Fn(&ViewRow) -> f64| views.iter().map(figure).sum::<f64>() / n as f64;
    let present = |figure: &dyn Fn(&ViewRow) -> Option<f64>| {
        let values: Vec<f64> = views.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    (n > 0).then(|| Means {
        n: u32::try_from(n).unwrap_or(u32::MAX),
        metrics: ViewMetrics {
            l1: mean(&|view| view.metrics.l1),
            psnr: mean(&|view| view.metrics.psnr),
            psnr_image: mean(&|view| view.metrics.psnr_image),
            ssim: mean(&|view| view.metrics.ssim),
            ssim_valid: present(&|view| view.metrics.ssim_valid),
        },
        lpips: present(&|view| view.lpips),
        psnr_fitted_half: present(&|view| view.psnr_fitted_half),
    })
}

#[cfg(test)]
pub(super) mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_twins::loss::ssim_map;
    use kiln_twins::metrics::metrics;
    use std::path::Path;

    type Rgb = Vec<[f64; 3]>;

    /// What the evaluation pass computes: eight sums a tile.
    fn tile_sums(size_px: [u32; 2], image: &Rgb, target: &Rgb) -> Vec<f64> {
        let [width, height] = size_px;
        let tiles_x = width.div_ceil(16);
        let ssim = ssim_map(size_px, image, target);
        let mut sums = vec![0.0; (tiles_x * height.div_ceil(16) * 8) as usize];
        for y in 0..height {
            for x in 0..width {
                let at = (y * width + x) as usize;
                let tile = &mut sums[(y / 16 * tiles_x + x / 16) as usize * 8..][..8];
                let inside = x >= 5 && y >= 5 && x + 5 < width && y + 5 < height;
                for c in 0..3 {
                    let difference: f64 = image[at][c] - target[at][c];
                    tile[0] += difference.abs();
                    tile[1] += ssim[at][c].value;
                    tile[2] += if inside { ssim[at][c].value } else { 0.0 };
                    tile[3 + c] += difference * difference;
                }
            }
        }
        sums
    }

    fn read(path: &Path) -> ([u32; 2], Rgb) {
        let image = image::open(path).unwrap().to_rgb8();
        let pixels = image.pixels().map(|p| p.0.map(|v| f64::from(v) / 255.0));
        ([image.width(), image.height()], pixels.collect())
    }

    #[test]
    fn recorded_pairs_match_the_references_and_the_twin() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/metrics");
        let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
        let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
        for name in ["a", "b", "c"] {
            let (size, image) = read(&folder.join(format!("pair_{name}_pred.png")));
            let (_, target) = read(&folder.join(format!("pair_{name}_gt.png")));
            let sums = tile_sums(size, &image, &target);
            let found = view_metrics(&sums, size, false).unwrap();
            let twin = metrics(size, &image, &target);
            let close = |a: f64, b: f64, tolerance: f64| assert!((a - b).abs() < tolerance, "{name}: {a} against {b}");
            close(found.l1, twin.l1, 1e-12);
            close(found.psnr, twin.psnr, 1e-9);
            close(found.psnr_image, twin.psnr_image, 1e-9);
            close(found.ssim, twin.ssim, 1e-9);
            close(found.ssim_valid.unwrap(), twin.ssim_valid.unwrap(), 1e-9);
            let wanted = |key: &str| golden["pairs"][name][key].as_f64().unwrap();
            close(found.psnr, wanted("psnr"), 1e-3);
            close(found.psnr_image, wanted("psnr_image"), 1e-6);
            close(found.ssim, wanted("ssim"), 1e-7);
            close(found.ssim_valid.unwrap(), wanted("ssim_valid"), 1e-7);
            // sums as the device stores them
            let narrow: Vec<f32> = sums.iter().map(|v| *v as f32).collect();
            let found = view_metrics(&narrow, size, false).unwrap();
            close(found.psnr_image, wanted("psnr_image"), 1e-3);
            close(found.ssim_valid.unwrap(), wanted("ssim_valid"), 2e-5);
        }
    }

    #[test]
    fn guards() {
        // equal images
        let mut sums = vec![0.0_f32; 8];
        sums[1] = 3.0 * 60.0;
        let found = view_metrics(&sums, [10, 6], false).unwrap();
        assert_eq!((found.l1, found.ssim, found.ssim_valid), (0.0, 1.0, None));
        assert!((found.psnr - 100.0).abs() < 1e-9 && (found.psnr_image - 100.0).abs() < 1e-9);
        // the smallest image with a whole window has one valid pixel
        sums[2] = 1.5;
        assert_eq!(view_metrics(&sums, [11, 11], false).unwrap().ssim_valid, Some(0.5));
        assert_eq!(view_metrics(&sums, [11, 10], false).unwrap().ssim_valid, None);
        // not a number is not hidden
        let found = view_metrics(&[f32::NAN; 8], [16, 16], false).unwrap();
        assert!(found.psnr.is_nan() && found.l1.is_nan() && found.ssim_valid.is_none());
        // sums of another image
        let error = view_metrics(&sums, [17, 11], false).unwrap_err();
        assert!(error.to_string().contains("17 x 11"), "{error}");
        assert!(view_metrics::<f32>(&[], [0, 0], false).is_err());
    }

    #[test]
    fn masked_figures_are_over_the_pixels_that_count() {
        let mut sums = vec![0.0_f32; 8];
        // half of an 11x11 image counts, and its one inner pixel
        (sums[0], sums[1], sums[2]) = (18.0, 90.0, 1.5);
        (sums[3], sums[4], sums[5]) = (0.6, 0.6, 0.6);
        (sums[6], sums[7]) = (3.0 * 60.0, 3.0);
        let found = view_metrics(&sums, [11, 11], true).unwrap();
        assert!((found.l1 - 0.1).abs() < 1e-12 && (found.ssim - 0.5).abs() < 1e-12);
        assert!((found.psnr_image - 20.0).abs() < 1e-5 && (found.psnr - 20.0).abs() < 1e-5);
        assert_eq!(found.ssim_valid, Some(0.5));
        // nothing counts
        let found = view_metrics(&[0.0_f32; 8], [11, 11], true).unwrap();
        assert!(found.l1.is_nan() && found.psnr.is_nan() && found.ssim_valid.is_none());
    }

    pub(in crate::eval) fn view(name: &str, l1: f64, ssim_valid: Option<f64>, lpips: Option<f64>) -> ViewRow {
        ViewRow {
            name: name.to_owned(),
            width: 16,
            height: 12,
            metrics: ViewMetrics {
                l1,
                psnr: 20.0,
                psnr_image: 19.0,
                ssim: 0.5,
                ssim_valid,
            },
            lpips,
            psnr_fitted_half: lpips.map(|value| 20.0 + value),
            fog_share: None,
            images: true,
        }
    }

    #[test]
    fn means_are_over_the_views_that_have_the_figure() {
        assert_eq!(means(&[]), None);
        let mean = means(&[view("a", 0.1, Some(0.5), None), view("b", 0.3, None, None)]).unwrap();
        assert!((mean.metrics.l1 - 0.2).abs() < 1e-15);
        assert_eq!((mean.n, mean.metrics.ssim_valid, mean.lpips), (2, Some(0.5), None));
        let mean = means(&[view("a", f64::NAN, None, Some(0.25)), view("b", 0.3, None, None)]).unwrap();
        assert!(mean.metrics.l1.is_nan() && mean.lpips == Some(0.25) && mean.psnr_fitted_half == Some(20.25));
    }
}
