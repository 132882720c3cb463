//! What a mean over views hides: the view in the middle, the worst one, and those far below the middle.
//!
//! All by `psnr_image`. Views without a finite one are left out here; the mean, which is then not finite either, says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ViewRow;

/// A view this far under the median counts as low, dB.
pub const LOW_DB: f64 = 2.0;

/// A view by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedView {
    /// Stem of the view's images.
    pub name: String,
    /// Its PSNR of one squared error over all channels, dB.
    pub psnr_image: f64,
    /// Share of its light that comes from splats nearer than the nearest sparse point in its picture, 0 to 1; there where
    /// it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fog_share: Option<f64>,
}

impl NamedView {
    fn of(view: &ViewRow) -> Option<Self> {
        view.metrics.psnr_image.is_finite().then(|| Self {
            name: view.name.clone(),
            psnr_image: view.metrics.psnr_image,
            fog_share: view.fog_share,
        })
    }
}

/// Beside the means of a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Median of `psnr_image`, dB: of an even number of views the mean of the two in the middle; null when no view has a
    /// finite one.
    pub median: Option<f64>,
    /// The view with the lowest `psnr_image`, of equals the first; null when no view has a finite one.
    pub worst: Option<NamedView>,
    /// Largest fog share of a view; there where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_fog_share: Option<f64>,
}

/// The spread of `views`, and those that lie [`LOW_DB`] and more under the median, the lowest first.
#[must_use]
pub fn spread(views: &[ViewRow]) -> (Spread, Vec<NamedView>) {
    let mut sorted: Vec<NamedView> = views.iter().filter_map(NamedView::of).collect();
    // Stable: equals stay in the order of the set.
    sorted.sort_by(|a, b| a.psnr_image.total_cmp(&b.psnr_image));
    let at = |index: usize| sorted.get(index).map(|view| view.psnr_image);
    let median = match (at(sorted.len().wrapping_sub(1) / 2), at(sorted.len() / 2)) {
        (Some(low), Some(high)) => Some(f64::midpoint(low, high)),
        _ => None,
    };
    let spread = Spread {
        median,
        worst: sorted.first().cloned(),
        worst_fog_share: views.iter().filter_map(|view| view.fog_share).reduce(f64::max),
    };
    sorted.retain(|view| median.is_some_and(|median| view.psnr_image <= median - LOW_DB));
    (spread, sorted)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::eval::ViewMetrics;

    fn views(psnrs: &[f64]) -> Vec<ViewRow> {
        let row = |(index, psnr_image): (usize, &f64)| ViewRow {
            name: format!("v{index}"),
            width: 16,
            height: 16,
            metrics: ViewMetrics {
                l1: 0.1,
                psnr: 0.0,
                psnr_image: *psnr_image,
                ssim: 0.5,
                ssim_valid: None,
            },
            lpips: None,
            psnr_fitted_half: None,
            fog_share: (index > 0).then_some(index as f64 / 10.0),
            images: false,
        };
        psnrs.iter().enumerate().map(row).collect()
    }

    fn found(psnrs: &[f64]) -> (Option<f64>, Option<String>, Vec<String>) {
        let (spread, low) = spread(&views(psnrs));
        let low = low.into_iter().map(|view| view.name).collect();
        (spread.median, spread.worst.map(|view| view.name), low)
    }

    #[test]
    fn the_middle_the_worst_and_the_low_ones() {
        assert_eq!(found(&[]), (None, None, vec![]));
        assert_eq!(found(&[20.0]), (Some(20.0), Some("v0".into()), vec![]));
        assert_eq!(found(&[20.0, 30.0]), (Some(25.0), Some("v0".into()), vec!["v0".into()]));
        // The bundled scene as it was.
        let low = vec!["v3".into(), "v0".into()];
        assert_eq!(
            found(&[18.9, 27.3, 29.5, 15.7, 30.2]),
            (Some(27.3), Some("v3".into()), low)
        );
        assert_eq!(found(&[25.0, 27.0, 30.0]).2, ["v0"], "2 dB under the median is low");
        assert_eq!(found(&[25.01, 27.0, 30.0]).2, Vec::<String>::new());
    }

    #[test]
    fn of_equals_the_first_is_the_worst() {
        assert_eq!(
            found(&[28.0, 20.0, 20.0, 28.0, 28.0]),
            (Some(28.0), Some("v1".into()), vec!["v1".into(), "v2".into()])
        );
    }

    #[test]
    fn views_without_a_figure_are_left_out() {
        assert_eq!(
            found(&[f64::NAN, 21.0, f64::NEG_INFINITY, 20.0]),
            (Some(20.5), Some("v3".into()), vec![])
        );
        assert_eq!(found(&[f64::NAN]), (None, None, vec![]));
    }

    #[test]
    fn fog_goes_along() {
        let (spread, low) = spread(&views(&[20.0, 28.0, 15.0, 29.0]));
        assert_eq!(spread.worst_fog_share, Some(0.3));
        assert_eq!((spread.worst.unwrap().fog_share, low[1].fog_share), (Some(0.2), None));
        assert_eq!(super::spread(&views(&[20.0])).0.worst_fog_share, None);
    }
}
