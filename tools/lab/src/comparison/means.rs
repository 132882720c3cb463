//! Mean and spread of rows that differ in their seed only.

use super::print::{figure, object, text};
use super::{Row, Shape};

/// Mean and spread of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// Standard deviation with n - 1; none of a single value.
    pub(crate) std: Option<f64>,
    /// Smallest.
    pub(crate) min: f64,
    /// Largest.
    pub(crate) max: f64,
}

impl Spread {
    /// Of values; none of no value.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (!values.is_empty()).then(|| Self {
            mean,
            std: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// Rows that agree in their labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Means {
    /// The labels.
    pub(crate) labels: Vec<String>,
    /// Rows.
    pub(crate) n: usize,
    /// Spreads in the order of [`Shape::metrics`]; none where some row has no figure.
    pub(crate) spreads: Vec<Option<Spread>>,
    /// Names of the rows' worst views, each once.
    pub(crate) worst_views: Vec<String>,
}

impl Means {
    /// As the file has it: an object on one line.
    pub(super) fn print(&self, shape: &Shape) -> String {
        let plain = |value: &str| serde_json::Value::from(value).to_string();
        let labels = shape.labels.iter().zip(&self.labels);
        let mut entries: Vec<(&str, String)> = labels.map(|(key, label)| (*key, plain(label))).collect();
        entries.push(("n", self.n.to_string()));
        for (metric, spread) in shape.metrics.iter().zip(&self.spreads) {
            let parts = |of: &Spread| {
                object([
                    ("mean", figure(Some(of.mean))),
                    ("std", figure(of.std)),
                    ("min", figure(Some(of.min))),
                    ("max", figure(Some(of.max))),
                ])
            };
            entries.push((metric.key, spread.as_ref().map_or("null".to_owned(), parts)));
        }
        if !self.worst_views.is_empty() {
            entries.push(("worst_view", plain(&self.worst_views.join(", "))));
        }
        text(entries)
    }
}

impl Shape {
    /// Means in the order in which their labels first appear.
    pub(crate) fn means(&self, rows: &[Row]) -> Vec<Means> {
        let mut means: Vec<Means> = Vec::new();
        for row in rows {
            if means.iter().any(|known| known.labels == row.labels) {
                continue;
            }
            let alike: Vec<&Row> = rows.iter().filter(|other| other.labels == row.labels).collect();
            let spread = |at: usize| {
                let values: Option<Vec<f64>> = alike.iter().map(|row| row.figures.get(at).copied().flatten()).collect();
                values.and_then(|values| Spread::of(&values))
            };
            let mut worst_views: Vec<String> = Vec::new();
            for name in alike.iter().filter_map(|row| row.worst_view.as_ref()) {
                if !worst_views.contains(name) {
                    worst_views.push(name.clone());
                }
            }
            means.push(Means {
                labels: row.labels.clone(),
                n: alike.len(),
                spreads: (0..self.metrics.len()).map(spread).collect(),
                worst_views,
            });
        }
        means
    }

    /// The means as text: `mean ± standard deviation` where there are several rows.
    pub(crate) fn table(&self, rows: &[Row]) -> String {
        let all = self.means(rows);
        let named = all.iter().any(|means| !means.worst_views.is_empty());
        let heads = self.labels.iter().copied().chain(["n"]);
        let heads: Vec<String> = heads
            .chain(self.metrics.iter().map(|m| m.title))
            .chain(named.then_some("worst view"))
            .map(str::to_owned)
            .collect();
        let mut lines = vec![heads];
        for means in all {
            let figures = self.metrics.iter().zip(&means.spreads).map(|(metric, spread)| {
                let digits = metric.digits;
                match spread {
                    None => "-".to_owned(),
                    Some(Spread {
                        mean, std: Some(std), ..
                    }) => format!("{mean:.digits$} ± {std:.digits$}"),
                    Some(Spread { mean, .. }) => format!("{mean:.digits$}"),
                }
            });
            let labels = means.labels.iter().cloned().chain([means.n.to_string()]);
            let names = named.then(|| means.worst_views.join(", "));
            lines.push(labels.chain(figures).chain(names).collect());
        }
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        let mut text = String::new();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
                // Texts to the left, numbers to the right.
                if at < self.labels.len() || at > self.labels.len() + self.metrics.len() {
                    format!("{cell:width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Metric, Origin};
    use super::*;

    const SHAPE: Shape = Shape {
        kind: "compare",
        labels: &["scene", "recipe"],
        metrics: &[
            Metric {
                key: "psnr",
                title: "PSNR",
                digits: 2,
            },
            Metric {
                key: "lpips",
                title: "LPIPS",
                digits: 4,
            },
        ],
    };

    fn row(recipe: &str, seed: u64, psnr: f64, lpips: Option<f64>) -> Row {
        Row {
            labels: vec!["room".to_owned(), recipe.to_owned()],
            origin: Origin {
                seed,
                command: format!("kiln train room --recipe {recipe} --seed {seed}"),
                inputs: "0123456789abcdef".to_owned(),
                ..Origin::default()
            },
            figures: vec![Some(psnr), lpips],
            worst_view: None,
        }
    }

    #[test]
    fn rows_of_one_recipe_share_a_mean_and_a_missing_figure_has_none() {
        let rows = [
            row("mip", 0, 28.0, Some(0.25)),
            row("default", 0, 27.0, None),
            row("mip", 1, 30.0, None),
        ];
        let means = SHAPE.means(&rows);
        assert_eq!((means.len(), means[0].n, means[1].n), (2, 2, 1));
        let spread = means[0].spreads[0].unwrap();
        assert_eq!((spread.mean, spread.min, spread.max), (29.0, 28.0, 30.0));
        assert!((spread.std.unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(means[0].spreads[1], None);
        let table = SHAPE.table(&rows);
        let wanted = "scene  recipe   n          PSNR  LPIPS\n\
                      room   mip      2  29.00 ± 1.41      -\n\
                      room   default  1         27.00      -\n";
        assert_eq!(table, wanted);
    }

    #[test]
    fn worst_views_are_named_where_runs_name_them() {
        let mut rows = [
            row("mip", 0, 28.0, None),
            row("mip", 1, 30.0, None),
            row("mip", 2, 29.0, None),
        ];
        for (row, name) in rows.iter_mut().zip(["b", "a", "b"]) {
            row.worst_view = Some(name.to_owned());
        }
        let rows = [&rows[..], &[row("default", 0, 27.0, None)]].concat();
        let wanted = "scene  recipe   n          PSNR  LPIPS  worst view\n\
                      room   mip      3  29.00 ± 1.00      -  b, a\n\
                      room   default  1         27.00      -\n";
        assert_eq!(SHAPE.table(&rows), wanted);
        let mean = SHAPE.means(&rows)[0].print(&SHAPE);
        assert!(mean.contains("\"worst_view\": \"b, a\""), "{mean}");
    }

    #[test]
    fn a_file_is_read_back_and_rows_know_what_made_them() {
        let folder = std::env::temp_dir().join(format!("kiln-lab-comparison-{}", std::process::id()));
        let path = folder.join("deep").join("compare.json");
        assert_eq!(SHAPE.load(&path).unwrap(), []);
        let mut rows = [row("mip", 0, 28.125, Some(0.25)), row("mip", 1, 28.5, None)];
        rows[1].worst_view = Some("view_024".to_owned());
        SHAPE.store(&path, "cargo lab compare room", &rows).unwrap();
        assert_eq!(SHAPE.load(&path).unwrap(), rows);
        let command = "kiln train room --recipe mip --seed 1";
        assert!(rows[1].is_of(command, "0123456789abcdef"));
        assert!(!rows[0].is_of(command, "0123456789abcdef") && !rows[1].is_of(command, "another"));
        let other = Shape {
            kind: "antialias",
            ..SHAPE
        };
        let failure = other.load(&path).unwrap_err();
        assert!(failure.message.contains("not by `antialias`"), "{}", failure.message);
        let wanted =
            r#"{"scene": "room", "recipe": "mip", "seed": 1, "psnr": 28.5, "lpips": null, "worst_view": "view_024","#;
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.trim().starts_with(wanted)), "{text}");
        std::fs::write(&path, text.replace("\"inputs\"", "\"input\"")).unwrap();
        let failure = SHAPE.load(&path).unwrap_err();
        assert!(
            failure.message.contains("row 0: missing field `inputs`"),
            "{}",
            failure.message
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
