//! Which charts there are, and what the runs put into them.

use super::curve::smoothed;
use crate::order::rising;
use crate::run::config::Leaves;
use crate::run::memory::Memory;
use crate::run::metrics::Metrics;

/// What a value is, for its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number without unit.
    Plain,
    /// Something counted.
    Count,
    Bytes,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) label: String,
    /// Number of the run: its colour. In a stack, the number of the layer.
    pub(crate) color: usize,
    pub(crate) dashed: bool,
    /// As drawn.
    pub(crate) points: Vec<(f64, f64)>,
    /// Before smoothing, where that differs.
    pub(crate) raw: Option<Vec<(f64, f64)>>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) series: Vec<Series>,
    /// Levels across the chart: label and value.
    pub(crate) levels: Vec<(&'static str, f64)>,
    /// Series are layers on top of each other.
    pub(crate) stacked: bool,
}

impl Chart {
    /// Whether there is anything to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }
}

/// Kinds of marks at an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Densify,
    Reset,
    Evaluation,
    Warning,
    /// The cap kept densification from adding all it wanted, until this iteration.
    Capped(u64),
}

/// Something marked on every chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) it: f64,
    pub(crate) kind: MarkKind,
    /// For people.
    pub(crate) text: String,
}

/// What the charts need of a run.
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    /// Number of its colour, which stays with it while others come and go.
    pub(crate) color: usize,
    pub(crate) metrics: &'a Metrics,
    pub(crate) memory: &'a Memory,
    pub(crate) config: &'a Leaves,
}

/// All charts. Labels name the run when there are several.
pub(crate) fn board(runs: &[Source<'_>], smoothing: f64) -> Vec<Chart> {
    let chart = |id, title, unit, series| Chart {
        id,
        title,
        unit,
        series,
        levels: Vec::new(),
        stacked: false,
    };
    let train = |key: &str, smoothing: f64| {
        let series = runs.iter().map(|run| {
            let label = if runs.len() > 1 {
                run.name.to_owned()
            } else {
                String::new()
            };
            line(label, run.color, false, run.metrics.train(key), smoothing)
        });
        series.collect::<Vec<_>>()
    };
    let eval = |key: &str| {
        let series = runs.iter().flat_map(|run| {
            [(true, "test"), (false, "train")].map(|(test, set)| {
                let label = if runs.len() > 1 {
                    format!("{} {set}", run.name)
                } else {
                    set.to_owned()
                };
                line(label, run.color, !test, run.metrics.eval(key, test), 0.0)
            })
        });
        series.filter(|series| !series.points.is_empty()).collect::<Vec<_>>()
    };
    let mut charts = vec![
        chart("loss", "Loss", Unit::Plain, train("loss", smoothing)),
        chart("psnr", "PSNR, dB", Unit::Plain, eval("psnr_image")),
        chart("ssim", "SSIM", Unit::Plain, eval("ssim_valid")),
        chart("lpips", "LPIPS", Unit::Plain, eval("lpips")),
        chart("gaussians", model_word(runs), Unit::Count, train("gaussians", 0.0)),
        chart("its", "Iterations per second", Unit::Plain, train("its", smoothing)),
        vram(runs),
    ];
    charts.extend(runs.first().map(|run| stack(run.memory)));
    charts
}

/// What the models of runs are made of.
pub(crate) fn model_word(runs: &[Source<'_>]) -> &'static str {
    let n_triangles = runs.iter().filter(|run| run.metrics.is_triangles()).count();
    match n_triangles {
        0 => "Gaussians",
        n if n == runs.len() => "Triangles",
        _ => "Gaussians or triangles",
    }
}

fn line(label: String, color: usize, dashed: bool, points: &[(f64, f64)], smoothing: f64) -> Series {
    let raw = (smoothing > 0.0).then(|| points.to_vec());
    Series {
        label,
        color,
        dashed,
        points: smoothed(points, smoothing),
        raw,
    }
}

/// Memory taken from the driver, against what may be taken.
fn vram(runs: &[Source<'_>]) -> Chart {
    let mut series = Vec::new();
    for run in runs {
        let color = run.color;
        let prefix = if runs.len() > 1 {
            format!("{} ", run.name)
        } else {
            String::new()
        };
        series.push(line(
            format!("{prefix}reserved"),
            color,
            false,
            &run.memory.reserved,
            0.0,
        ));
        series.push(line(format!("{prefix}in use"), color, true, &run.memory.allocated, 0.0));
    }
    let mut levels = Vec::new();
    if let [run] = runs {
        levels.extend(cap_bytes(run.config).map(|cap| ("cap", cap)));
        levels.extend(run.memory.heap_budget.last().map(|point| ("driver's budget", point.1)));
    }
    Chart {
        id: "vram",
        title: "Device memory",
        unit: Unit::Bytes,
        series,
        levels,
        stacked: false,
    }
}

/// The cap that the configuration sets, bytes.
pub(crate) fn cap_bytes(config: &Leaves) -> Option<f64> {
    let (_, text) = config.iter().find(|(path, _)| path == "memory.cap_gib")?;
    crate::number::parse(text).map(|gib| gib * 1_073_741_824.0)
}

/// Memory in use by purpose, the largest at the bottom.
fn stack(memory: &Memory) -> Chart {
    let last = |points: &[(f64, f64)]| points.last().map_or(0.0, |point| point.1);
    let tags = rising(memory.tags.iter().collect(), |tag| -last(&tag.1));
    let layers = tags.into_iter().enumerate().map(|(color, (name, points))| Series {
        label: name.replace('_', " "),
        color,
        dashed: false,
        points: points.clone(),
        raw: None,
    });
    Chart {
        id: "memory",
        title: "Memory by purpose",
        unit: Unit::Bytes,
        series: layers.collect(),
        levels: Vec::new(),
        stacked: true,
    }
}

/// The marks of a run.
pub(crate) fn marks(metrics: &Metrics) -> Vec<Mark> {
    let events = metrics.events.iter().filter_map(|event| {
        let kind = match event.kind.as_str() {
            _ if event.is_warning() => MarkKind::Warning,
            "densify" => MarkKind::Densify,
            "reset" => MarkKind::Reset,
            _ => return None,
        };
        let text = format!("{} at {}: {}", event.kind, event.it, event.text);
        Some(Mark {
            it: event.it,
            kind,
            text,
        })
    });
    let evaluations = metrics.eval_iterations().into_iter().map(|it| Mark {
        it,
        kind: MarkKind::Evaluation,
        text: format!("evaluation at {it}"),
    });
    events.chain(evaluations).chain(capped(metrics)).collect()
}

/// Densifications at the cap, as one stretch.
fn capped(metrics: &Metrics) -> Option<Mark> {
    let mut its = metrics
        .events
        .iter()
        .filter(|event| event.kind == "densify_capped")
        .map(|event| event.it);
    let first = its.next()?;
    let last = its.next_back().unwrap_or(first);
    Some(Mark {
        it: first,
        kind: MarkKind::Capped(last as u64),
        text: format!("at the cap of Gaussians from {first} to {last}"),
    })
}

#[cfg(test)]
pub(crate) fn golden_parts() -> (Metrics, Memory, Leaves) {
    use crate::lines::Tail;
    use crate::run::{config, golden};
    let (mut metrics, mut memory) = (Metrics::default(), Memory::default());
    let rows = |file: &str| Tail::default().push(golden(file).as_bytes());
    rows("metrics.jsonl").iter().for_each(|row| metrics.push(row));
    rows("memory.jsonl").iter().for_each(|row| memory.push(row));
    (metrics, memory, config::leaves(&golden("config.resolved.yaml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_fills_the_charts() {
        let (metrics, memory, config) = golden_parts();
        let source = || Source {
            name: "a",
            color: 0,
            metrics: &metrics,
            memory: &memory,
            config: &config,
        };
        let charts = board(&[source()], 0.6);
        let ids: Vec<_> = charts.iter().map(|chart| chart.id).collect();
        assert_eq!(
            ids,
            ["loss", "psnr", "ssim", "lpips", "gaussians", "its", "vram", "memory"]
        );
        assert!(charts[0].series[0].raw.is_some() && charts[3].is_empty());
        assert_eq!(charts[6].levels, [("cap", 1_073_741_824.0)]);
        let layers: Vec<_> = charts[7].series.iter().map(|series| series.label.as_str()).collect();
        assert_eq!(layers, ["parameters", "other"]);
        // Its colour stays with a run whatever stands beside it.
        let other = Source { color: 2, ..source() };
        let two = board(&[source(), other], 0.0);
        assert_eq!(
            (
                two[0].series.len(),
                two[0].series[1].color,
                two[0].series[1].label.as_str()
            ),
            (2, 2, "a")
        );
        assert!(two[6].levels.is_empty(), "two runs may have two caps");
    }

    #[test]
    fn a_run_at_its_cap_has_one_stretch_and_no_warnings() {
        let mut metrics = Metrics::default();
        assert_eq!(marks(&metrics), []);
        for it in [350.0, 400.0, 850.0] {
            metrics.events.push(crate::run::metrics::Event {
                it,
                kind: "densify_capped".into(),
                text: "dropped 5".into(),
            });
        }
        let found = marks(&metrics);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].it, found[0].kind), (350.0, MarkKind::Capped(850)));
        assert_eq!(found[0].text, "at the cap of Gaussians from 350 to 850");
    }

    #[test]
    fn phases_and_warnings_are_marked() {
        let (mut metrics, ..) = golden_parts();
        metrics.events.push(crate::run::metrics::Event {
            it: 35.0,
            kind: "spill".into(),
            text: "bytes 5".into(),
        });
        let kinds: Vec<_> = marks(&metrics).iter().map(|mark| (mark.it, mark.kind)).collect();
        assert_eq!(
            kinds,
            [
                (30.0, MarkKind::Densify),
                (35.0, MarkKind::Warning),
                (20.0, MarkKind::Evaluation),
                (40.0, MarkKind::Evaluation)
            ]
        );
    }
}
