//! Tables of the metrics tab: figures of the runs, what differs between them, what went wrong.

use crate::chart::board::{Source, cap_bytes, model_word};
use crate::html::{bytes, count, duration, escape};
use crate::order::rising;
use crate::run::config::{Difference, Leaves, differences};

/// The runs' last figures, a column a run.
pub(crate) fn figures(runs: &[Source<'_>]) -> String {
    let last = |points: &[(f64, f64)]| points.last().map(|point| point.1);
    let eval = |run: &Source<'_>, key: &str, digits: usize| {
        last(run.metrics.eval(key, true)).map_or("-".to_owned(), |v| format!("{v:.digits$}"))
    };
    type Cell<'a> = Box<dyn Fn(&Source<'_>) -> String + 'a>;
    let rows: Vec<(&str, Cell<'_>)> = vec![
        ("Iterations", Box::new(|run| count(run.metrics.last_it))),
        ("Training time", Box::new(|run| duration(run.metrics.seconds))),
        (
            model_word(runs),
            Box::new(|run| last(run.metrics.train("gaussians")).map_or("-".to_owned(), count)),
        ),
        (
            "Test PSNR, dB",
            Box::new(move |run| match run.metrics.spread.as_str() {
                "" => eval(run, "psnr_image", 2),
                spread => escape(spread),
            }),
        ),
        ("Test SSIM", Box::new(move |run| eval(run, "ssim_valid", 4))),
        ("Test LPIPS", Box::new(move |run| eval(run, "lpips", 4))),
        (
            "Device memory, peak",
            Box::new(|run| {
                if run.memory.peak_reserved > 0.0 {
                    bytes(run.memory.peak_reserved)
                } else {
                    "-".to_owned()
                }
            }),
        ),
        (
            "Device memory, cap",
            Box::new(|run| cap_bytes(run.config).map_or("-".to_owned(), bytes)),
        ),
    ];
    let body = rows.iter().map(|(title, cell)| {
        let leading = leaders(runs, title);
        let cells = runs.iter().enumerate().map(|(at, run)| {
            let class = if leading.contains(&at) { " class=\"best\"" } else { "" };
            format!("<td{class}>{}</td>", cell(run))
        });
        format!("<tr><th scope=\"row\">{title}</th>{}</tr>", cells.collect::<String>())
    });
    table(&head(runs), &body.collect::<String>())
}

/// The runs that are ahead in a row of qualities, where others are not. Figures of photos of other sizes are not compared.
fn leaders(runs: &[Source<'_>], row: &str) -> Vec<usize> {
    let (key, sign) = match row {
        "Test PSNR, dB" => ("psnr_image", 1.0),
        "Test SSIM" => ("ssim_valid", 1.0),
        "Test LPIPS" => ("lpips", -1.0),
        _ => return Vec::new(),
    };
    let size = |run: &Source<'_>| {
        let size = run.config.iter().find(|(path, _)| path == "dataset.resolution");
        size.map_or(String::new(), |(_, value)| value.clone())
    };
    let mut sizes = runs.iter().map(size);
    let first = sizes.next();
    if sizes.any(|other| Some(other) != first) {
        return Vec::new();
    }
    let value = |run: &Source<'_>| run.metrics.eval(key, true).last().map(|point| sign * point.1);
    let values: Vec<Option<f64>> = runs.iter().map(value).collect();
    let known = || values.iter().flatten().copied();
    let (most, least) = (
        known().fold(f64::NEG_INFINITY, f64::max),
        known().fold(f64::INFINITY, f64::min),
    );
    let leads = |(at, value): (usize, &Option<f64>)| (most > least && *value == Some(most)).then_some(at);
    values.iter().enumerate().filter_map(leads).collect()
}

fn head(runs: &[Source<'_>]) -> String {
    let cells = runs.iter().map(|run| {
        format!(
            "<th scope=\"col\"><i class=\"key run{}\"></i>{}</th>",
            run.color,
            escape(run.name)
        )
    });
    format!("<td></td>{}", cells.collect::<String>())
}

fn table(head: &str, body: &str) -> String {
    format!("<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
}

/// What differs between the runs' leaves, or all of them when there is one run.
pub(crate) fn comparison(runs: &[Source<'_>], leaves: &[&Leaves]) -> String {
    let rows = match leaves {
        [only] => {
            let row = |(path, value): &(String, String)| Difference {
                path: path.clone(),
                values: vec![Some(value.clone())],
            };
            only.iter().map(row).collect()
        }
        several => differences(several),
    };
    if rows.is_empty() {
        return "<p class=\"faint\">No difference.</p>".to_owned();
    }
    let body = rows.iter().map(|row| {
        let cells = row
            .values
            .iter()
            .map(|value| format!("<td>{}</td>", escape(value.as_deref().unwrap_or("-"))));
        format!(
            "<tr><th scope=\"row\">{}</th>{}</tr>",
            escape(&row.path),
            cells.collect::<String>()
        )
    });
    table(&head(runs), &body.collect::<String>())
}

/// Warnings, the newest first.
pub(crate) fn warnings(runs: &[Source<'_>]) -> String {
    let mut rows = Vec::new();
    for run in runs {
        rows.extend(
            run.metrics
                .events
                .iter()
                .filter(|event| event.is_warning())
                .map(|event| (run.color, event)),
        );
    }
    let rows = rising(rows, |(_, event)| -event.it);
    if rows.is_empty() {
        return String::new();
    }
    let total = rows.len();
    let body = rows.iter().take(200).map(|(color, event)| {
        format!(
            "<tr><td><i class=\"key run{color}\"></i>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
            count(event.it),
            escape(&event.kind.replace('_', " ")),
            escape(&event.text)
        )
    });
    let body: String = body.collect();
    let head =
        "<th scope=\"col\">Iteration</th><th scope=\"col\">Event</th><th scope=\"col\" class=\"text\">Detail</th>";
    format!("<h2>Warnings <small>{total}</small></h2>{}", table(head, &body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::board::golden_parts;
    use crate::run::metrics::Event;

    #[test]
    fn figures_and_differences_of_two_runs() {
        let (metrics, memory, config) = golden_parts();
        let other = vec![("memory.cap_gib".to_owned(), "<2>".to_owned())];
        let a = Source {
            name: "a",
            color: 0,
            metrics: &metrics,
            memory: &memory,
            config: &config,
        };
        let b = Source {
            name: "b&b",
            color: 0,
            metrics: &metrics,
            memory: &memory,
            config: &other,
        };
        let runs = [a, b];
        let text = figures(&runs);
        assert!(
            text.contains("<td>30.66, median 30.66, worst 30.66 test_view</td>")
                && text.contains("b&amp;b")
                && text.contains("768 KiB"),
            "{text}"
        );
        assert!(
            text.contains("<td>1.00 GiB</td><td>-</td>") && !text.contains("best"),
            "{text}"
        );
        let (mut ahead, ..) = golden_parts();
        let row = r#"{"type":"eval","it":99999,"set":"test","n":1,"psnr_image":31.5,"ssim_valid":0.25}"#;
        let rows = crate::lines::Tail::default().push(format!("{row}\n").as_bytes());
        rows.iter().for_each(|row| ahead.push(row));
        let of = |metrics| Source {
            name: "a",
            color: 0,
            metrics,
            memory: &memory,
            config: &config,
        };
        let text = figures(&[of(&metrics), of(&ahead)]);
        let best: Vec<&str> = text.split("class=\"best\">").skip(1).collect();
        assert!(best.len() == 2 && best[0].starts_with("31.50"), "{text}");
        assert!(best[1].contains("</td><td>0.2500</td>"), "{text}");
        let smaller = vec![("dataset.resolution".to_owned(), "4".to_owned())];
        let text = figures(&[
            of(&metrics),
            Source {
                config: &smaller,
                ..of(&ahead)
            },
        ]);
        assert!(
            text.contains("31.50") && !text.contains("best"),
            "of other photos: {text}"
        );
        let text = comparison(&runs, &[&config, &other]);
        assert!(
            text.contains("<th scope=\"row\">memory.cap_gib</th><td>1.0</td><td>&lt;2&gt;</td>"),
            "{text}"
        );
        assert!(comparison(&runs, &[&other, &other]).contains("No difference"));
        assert!(comparison(&runs[..1], &[&config]).contains("losses.1"));
    }

    #[test]
    fn warnings_are_listed_newest_first_and_quiet_runs_have_none() {
        let (mut metrics, memory, config) = golden_parts();
        assert_eq!(
            warnings(&[Source {
                name: "a",
                color: 0,
                metrics: &metrics,
                memory: &memory,
                config: &config
            }]),
            ""
        );
        for it in [5.0, 9.0] {
            metrics.events.push(Event {
                it,
                kind: "slow_step".into(),
                text: "<ms 4>".into(),
            });
        }
        let text = warnings(&[Source {
            name: "a",
            color: 0,
            metrics: &metrics,
            memory: &memory,
            config: &config,
        }]);
        assert!(
            text.find("</i>9<") < text.find("</i>5<") && text.contains("slow step") && text.contains("&lt;ms 4&gt;")
        );
    }
}
