//! `eval/iteration_N/metrics.json`: figures of each evaluated view.

use crate::json::{self, Value};
use crate::order::rising;

/// A figure of a view, and which end of it is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Psnr,
    Ssim,
    Lpips,
    L1,
    Fog,
}

impl Figure {
    pub(crate) const ALL: [Self; 5] = [Self::Psnr, Self::Ssim, Self::Lpips, Self::L1, Self::Fog];

    /// Key in the files: PSNR of one squared error a view, which median and worst view go by, and SSIM of windows that
    /// lie inside the image. The same two are in the terminal and in the curves.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Psnr => "psnr_image",
            Self::Ssim => "ssim_valid",
            Self::Lpips => "lpips",
            Self::L1 => "l1",
            Self::Fog => "fog_share",
        }
    }

    /// Name with unit.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Psnr => "PSNR",
            Self::Ssim => "SSIM",
            Self::Lpips => "LPIPS",
            Self::L1 => "L1",
            Self::Fog => "Fog",
        }
    }

    pub(crate) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.key() == key)
    }

    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Self::Psnr | Self::Ssim)
    }

    /// The figure as text.
    pub(crate) fn print(self, value: Option<f64>) -> String {
        match (self, value) {
            (_, None) => "-".to_owned(),
            (Self::Psnr | Self::Fog, Some(value)) => format!("{value:.2}"),
            (_, Some(value)) => format!("{value:.4}"),
        }
    }
}

/// A view's row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ViewRow {
    pub(crate) name: String,
    pub(crate) test: bool,
    /// Whether its pictures were written.
    pub(crate) images: bool,
    /// Width and height, pixels.
    pub(crate) size: [u32; 2],
    figures: [Option<f64>; Figure::ALL.len()],
}

impl ViewRow {
    pub(crate) fn figure(&self, figure: Figure) -> Option<f64> {
        self.figures[figure as usize]
    }

    pub(crate) fn set(&self) -> &'static str {
        if self.test { "test" } else { "train" }
    }
}

/// An evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evaluation {
    /// Test views first, each in the order of the file.
    pub(crate) views: Vec<ViewRow>,
    /// Mean, median and worst PSNR of the test views, for people; none in files of older versions.
    pub(crate) summary: Option<String>,
}

impl Evaluation {
    /// Reads the file.
    ///
    /// # Errors
    /// A sentence for the page.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file = "the evaluation's metrics.json";
        let value = json::parse(text).map_err(|e| format!("{file} is {e}"))?;
        super::check_version(&value, file)?;
        let test = value.get("test");
        let summary = test.and_then(|test| super::metrics::spread(test, test.get("mean")?));
        let mut views = Vec::new();
        for (set, test) in [("test", true), ("train", false)] {
            let rows = value.get(set).map_or(&[][..], |report| report.items("views"));
            views.extend(rows.iter().filter_map(|row| view(row, test)));
        }
        Ok(Self { views, summary })
    }

    /// The views in order of a figure, the worst first or last; those without it come at the end.
    pub(crate) fn sorted(&self, figure: Figure, worst_first: bool) -> Vec<&ViewRow> {
        let sign = if figure.more_is_better() == worst_first {
            1.0
        } else {
            -1.0
        };
        let key = |row: &&ViewRow| row.figure(figure).map_or(f64::INFINITY, |value| sign * value);
        rising(self.views.iter().collect(), key)
    }

    /// The PSNR of a view.
    pub(crate) fn psnr(&self, name: &str, test: bool) -> Option<f64> {
        let row = self.views.iter().find(|row| row.name == name && row.test == test)?;
        row.figure(Figure::Psnr)
    }

    /// Smallest and largest PSNR.
    pub(crate) fn psnr_range(&self) -> Option<(f64, f64)> {
        let mut values = self.views.iter().filter_map(|row| row.figure(Figure::Psnr));
        let first = values.next()?;
        Some(values.fold((first, first), |(low, high), value| (low.min(value), high.max(value))))
    }
}

fn view(row: &Value, test: bool) -> Option<ViewRow> {
    let name = super::inner_path(row.text("name")?)?;
    let side = |key: &str| row.whole(key).and_then(|v| u32::try_from(v).ok()).unwrap_or(0);
    Some(ViewRow {
        name,
        test,
        images: row.get("images") == Some(&Value::Bool(true)),
        size: [side("width"), side("height")],
        figures: Figure::ALL.map(|figure| row.number(figure.key())),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::run::golden;

    #[test]
    fn views_sort_by_any_figure_worst_first() {
        let evaluation = Evaluation::parse(&golden("eval/iteration_40/metrics.json")).unwrap();
        assert_eq!(evaluation.views.len(), 2);
        assert!(evaluation.views[0].test && evaluation.views[0].images);
        let order = |figure, worst| {
            evaluation
                .sorted(figure, worst)
                .iter()
                .map(|row| row.name.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(order(Figure::Psnr, true), ["test_view", "view"]);
        assert_eq!(order(Figure::L1, true), ["test_view", "view"]);
        assert_eq!(order(Figure::Ssim, false), ["view", "test_view"]);
        assert_eq!(order(Figure::Lpips, true).len(), 2);
        assert_eq!(order(Figure::Fog, true), ["test_view", "view"]);
        assert_eq!(
            evaluation.summary.as_deref(),
            Some("30.66, median 30.66, worst 30.66 test_view")
        );
        assert_eq!(evaluation.psnr("view", true), None);
        let (low, high) = evaluation.psnr_range().unwrap();
        assert!(low < 31.0 && high > 33.0);
        assert_eq!(Figure::of_key("lpips"), Some(Figure::Lpips));
        assert_eq!(
            (Figure::Psnr.print(Some(27.123)), Figure::Lpips.print(None)),
            ("27.12".to_owned(), "-".to_owned())
        );
    }

    #[test]
    fn names_that_leave_the_folder_are_left_out() {
        let text = golden("eval/iteration_40/metrics.json").replace("test_view", "../../secret");
        assert_eq!(Evaluation::parse(&text).unwrap().views.len(), 1);
        assert!(
            Evaluation::parse("{\"schema_version\": 1, \"test\": {\"views\": []}}")
                .unwrap()
                .summary
                .is_none()
        );
        assert!(
            Evaluation::parse("{\"schema_version\": 2}")
                .unwrap_err()
                .contains("schema version 2")
        );
    }
}
