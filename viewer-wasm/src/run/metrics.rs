//! `metrics.jsonl`: training rows, evaluations and events, as columns.

use crate::json::Value;

/// A curve's points, iteration and value, by rising iteration.
pub(crate) type Points = Vec<(f64, f64)>;

/// Something that happened at an iteration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) it: f64,
    pub(crate) kind: String,
    /// For people.
    pub(crate) text: String,
}

impl Event {
    /// Whether it is a warning. A run at its cap is as configured.
    pub(crate) fn is_warning(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "warning" | "spill" | "stall" | "nonfinite" | "slow_step" | "budget_shrunk"
        )
    }
}

/// A snapshot of the model, as `live.ply` holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Live {
    pub(crate) it: f64,
    /// Gaussians in the file, and in the model.
    pub(crate) kept: f64,
    pub(crate) gaussians: f64,
}

/// The rows of `metrics.jsonl` so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    /// Columns of `train` rows by key.
    columns: Vec<(&'static str, Points)>,
    /// Columns of `eval` rows by key and set.
    evals: Vec<(&'static str, bool, Points)>,
    pub(crate) events: Vec<Event>,
    /// The newest snapshot of the model.
    pub(crate) live: Option<Live>,
    /// Last training-loop seconds.
    pub(crate) seconds: f64,
    /// Last iteration of a training row.
    pub(crate) last_it: f64,
    /// Mean, median and worst PSNR of the test views of the last evaluation, for people; empty in runs of older versions.
    pub(crate) spread: String,
}

const TRAIN_KEYS: [&str; 7] = ["loss", "l1", "gaussians", "vertices", "visible", "intersections", "its"];
const EVAL_KEYS: [&str; 4] = ["psnr_image", "ssim_valid", "lpips", "l1"];

impl Metrics {
    /// Takes a line.
    pub(crate) fn push(&mut self, row: &Value) {
        let Some(it) = row.number("it") else {
            return;
        };
        self.seconds = row.number("t_s").unwrap_or(self.seconds);
        match row.text("type") {
            Some("train") => {
                self.last_it = it;
                for key in TRAIN_KEYS {
                    if let Some(value) = row.number(key) {
                        add(column(&mut self.columns, key), it, value);
                    }
                }
            }
            Some("eval") => {
                let test = row.text("set") == Some("test");
                for key in EVAL_KEYS {
                    if let Some(value) = row.number(key) {
                        add(self.eval_column(key, test), it, value);
                    }
                }
                if test {
                    self.spread = spread(row, row).unwrap_or_default();
                }
            }
            Some("event") => self.push_event(it, row),
            _ => {}
        }
    }

    fn push_event(&mut self, it: f64, row: &Value) {
        let kind = row.text("kind").unwrap_or("event").to_owned();
        if kind == "resume" {
            // What came after the checkpoint was lost and is done again.
            self.events.retain(|event| event.it <= it);
            self.live = None;
        }
        let detail = row.get("detail").unwrap_or(&Value::Null);
        if kind == "live" {
            let number = |key: &str| detail.number(key).unwrap_or(0.0);
            self.live = Some(Live {
                it,
                kept: number("kept"),
                gaussians: number("gaussians"),
            });
            return;
        }
        let text = detail.text("message").map_or_else(|| detail.plain(), str::to_owned);
        self.events.push(Event { it, kind, text });
    }

    fn eval_column(&mut self, key: &'static str, test: bool) -> &mut Points {
        let at = self
            .evals
            .iter()
            .position(|(name, of_test, _)| *name == key && *of_test == test);
        let at = at.unwrap_or_else(|| {
            self.evals.push((key, test, Vec::new()));
            self.evals.len() - 1
        });
        &mut self.evals[at].2
    }

    /// A curve of the training rows.
    pub(crate) fn train(&self, key: &str) -> &[(f64, f64)] {
        let found = self.columns.iter().find(|(name, _)| *name == key);
        found.map_or(&[], |(_, points)| points)
    }

    /// Whether the model is of triangles; `gaussians` counts these then.
    pub(crate) fn is_triangles(&self) -> bool {
        !self.train("vertices").is_empty()
    }

    /// A curve of the evaluations.
    pub(crate) fn eval(&self, key: &str, test: bool) -> &[(f64, f64)] {
        let found = self
            .evals
            .iter()
            .find(|(name, of_test, _)| *name == key && *of_test == test);
        found.map_or(&[], |(_, _, points)| points)
    }

    /// The iterations that were evaluated.
    pub(crate) fn eval_iterations(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self
            .evals
            .iter()
            .flat_map(|(_, _, points)| points)
            .map(|point| point.0)
            .collect();
        all = crate::order::rising(all, |it| *it);
        all.dedup();
        all
    }
}

/// PSNR of a set: mean, median, worst view and its name. `of` and `mean` are a row, or a set in `metrics.json` and its mean.
pub(crate) fn spread(of: &Value, mean: &Value) -> Option<String> {
    let (worst, key) = (of.get("worst")?, "psnr_image");
    let [mean, median, psnr] = [mean.number(key)?, of.number("median")?, worst.number(key)?];
    let name = worst.text("name")?;
    Some(format!("{mean:.2}, median {median:.2}, worst {psnr:.2} {name}"))
}

fn column<'a>(columns: &'a mut Vec<(&'static str, Points)>, key: &'static str) -> &'a mut Points {
    let at = columns.iter().position(|(name, _)| *name == key).unwrap_or_else(|| {
        columns.push((key, Vec::new()));
        columns.len() - 1
    });
    &mut columns[at].1
}

/// Appends a point; points from there on are replaced, as after a resume.
pub(crate) fn add(points: &mut Points, it: f64, value: f64) {
    while points.last().is_some_and(|last| last.0 >= it) {
        points.pop();
    }
    points.push((it, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Tail;
    use crate::run::golden;

    fn read(text: &str) -> Metrics {
        let mut metrics = Metrics::default();
        Tail::default()
            .push(text.as_bytes())
            .iter()
            .for_each(|row| metrics.push(row));
        metrics
    }

    #[test]
    fn the_fixture_becomes_curves_and_events() {
        let metrics = read(&golden("metrics.jsonl"));
        assert_eq!(metrics.train("loss").len(), 3, "null is no point");
        assert_eq!(
            metrics.train("gaussians"),
            [(10.0, 3.0), (20.0, 3.0), (30.0, 5.0), (40.0, 5.0)]
        );
        assert_eq!(metrics.eval("psnr_image", true).len(), 2);
        assert_eq!(metrics.eval("lpips", true), []);
        assert_eq!(metrics.spread, "30.66, median 30.66, worst 30.66 test_view");
        assert_eq!(metrics.eval_iterations(), [20.0, 40.0]);
        let densify = &metrics.events[0];
        assert_eq!(
            (densify.it, densify.text.as_str()),
            (30.0, "clones 1, splits 1, deaths 0, gaussians 5")
        );
        assert!(!densify.is_warning());
        assert_eq!((metrics.last_it, metrics.seconds), (40.0, 3.2));
    }

    #[test]
    fn a_resume_replaces_what_is_done_again() {
        let rows = ["10,\"loss\":1", "20,\"loss\":2", "30,\"loss\":3", "20,\"loss\":5"];
        let text: String = rows
            .iter()
            .map(|row| format!("{{\"type\":\"train\",\"it\":{row}}}\n"))
            .collect();
        assert_eq!(read(&text).train("loss"), [(10.0, 1.0), (20.0, 5.0)]);
        let event = "{\"type\":\"event\",\"it\":9,\"kind\":\"spill\",\"detail\":{\"host_heap_usage\":5}}\n\
                     {\"type\":\"event\",\"it\":4,\"kind\":\"resume\",\"detail\":{\"checkpoint\":\"c\"}}\n\
                     {\"type\":\"event\",\"it\":6,\"kind\":\"warning\",\"detail\":{\"message\":\"odd\"}}\n{\"type\":\"new\"}\n";
        let events = read(event).events;
        assert_eq!(events.len(), 2);
        assert_eq!(
            read("{\"type\":\"eval\",\"it\":9,\"set\":\"test\",\"psnr\":20}").spread,
            ""
        );
        assert_eq!((events[1].text.as_str(), events[1].is_warning()), ("odd", true));
        let live = "{\"type\":\"event\",\"it\":9,\"kind\":\"live\",\"detail\":{\"kept\":2,\"gaussians\":5}}\n";
        let found = read(live);
        assert_eq!(found.events, []);
        assert_eq!(
            found.live.map(|live| (live.it, live.kept, live.gaussians)),
            Some((9.0, 2.0, 5.0))
        );
        let resumed = live.to_owned() + "{\"type\":\"event\",\"it\":4,\"kind\":\"resume\",\"detail\":{}}\n";
        assert_eq!(read(&resumed).live, None, "of a state that was lost");
    }
}
