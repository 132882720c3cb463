//! Following runs while they train.

use js_sys::Promise;
use wasm_bindgen_futures::JsFuture;

use super::app::{App, with};
use super::dom;
use super::net::{self, Rest};
use super::runs::{Run, read_evaluation};
use crate::html::escape;
use crate::run::RunInfo;

/// Milliseconds between two questions.
const EVERY_MS: i32 = 2000;

/// Asks the server again and again, for as long as the page lives.
pub(super) async fn follow() {
    loop {
        pause().await;
        let running = with(|app| {
            let running = app.runs.iter().filter(|run| run.info.is_running());
            running.map(|run| run.path.clone()).collect::<Vec<_>>()
        });
        for path in running.unwrap_or_default() {
            step(path).await;
        }
    }
}

async fn pause() {
    let wait = Promise::new(&mut |resolve, _| {
        if let Some(window) = dom::window() {
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, EVERY_MS);
        }
    });
    let _ = JsFuture::from(wait).await;
}

/// One round for one run. A server that does not answer is asked again in the next.
async fn step(path: String) {
    let asked = with(|app| {
        let (metrics, memory) = app
            .run_mut(&path)
            .map(|run| (run.metrics_tail.bytes, run.memory_tail.bytes))?;
        let url = |file: &str| app.address.request(&format!("{path}/{file}"));
        Some((
            metrics,
            memory,
            url("run.json"),
            url("metrics.jsonl"),
            url("memory.jsonl"),
        ))
    });
    let Some((metrics_at, memory_at, run_url, metrics_url, memory_url)) = asked.flatten() else {
        return;
    };
    let metrics = net::rest(&metrics_url, metrics_at).await;
    let memory = net::rest(&memory_url, memory_at).await;
    let info = net::text(&run_url, true).await.map(|text| RunInfo::parse(&text));
    let evaluated = with(|app| {
        let mut changed = false;
        let mut got = 0;
        let run = app.run_mut(&path)?;
        if let Ok(rest) = metrics {
            changed |= take(run, &rest, &mut got, true);
        }
        if let Ok(rest) = memory {
            changed |= take(run, &rest, &mut got, false);
        }
        let mut evaluated = false;
        let mut replaced = false;
        if let Ok(Ok(info)) = info {
            evaluated = info.evals.len() > run.info.evals.len();
            replaced = info != run.info;
            run.info = info;
        }
        app.live_bytes += got;
        if changed || replaced {
            app.draw_charts();
            app.show_live();
        }
        if replaced {
            app.show_side();
            app.offer_newest();
        }
        Some(evaluated)
    });
    if evaluated.flatten() == Some(true) {
        read_evaluation(path, None).await;
    }
}

fn take(run: &mut Run, rest: &Rest, got: &mut u64, metrics: bool) -> bool {
    match rest {
        Rest::Nothing => false,
        Rest::More(bytes) => {
            *got += bytes.len() as u64;
            if metrics {
                run.push_metrics(bytes)
            } else {
                run.push_memory(bytes)
            }
            true
        }
        Rest::Replaced => {
            // Read again from the start in the next round.
            if metrics {
                (run.metrics, run.metrics_tail) = Default::default();
            } else {
                (run.memory, run.memory_tail) = Default::default();
            }
            true
        }
    }
}

impl App {
    /// A word about a run that is under way, or how it ended.
    pub(super) fn show_live(&mut self) {
        let Some(run) = self.runs.first() else {
            dom::set_html("live", "");
            return;
        };
        let info = &run.info;
        let done = (info.done as f64).max(run.metrics.last_it);
        let html = match info.status.as_str() {
            "running" => {
                let share: f64 = if info.total > 0 {
                    100.0 * done / info.total as f64
                } else {
                    0.0
                };
                let its = run
                    .metrics
                    .train("its")
                    .last()
                    .map_or(String::new(), |(_, its)| format!(" · {its:.1} it/s"));
                format!(
                    "<span class=\"pulse\"></span>training · {done:.0} of {} · {:.0} %{its}",
                    info.total,
                    share.min(100.0)
                )
            }
            "done" => format!("{} iterations", info.total),
            other => {
                let why = info.message.as_ref().map_or(String::new(), |why| format!(": {why}"));
                format!(
                    "<span class=\"bad\">{}</span> at {done:.0}{}",
                    escape(other),
                    escape(&why)
                )
            }
        };
        dom::set_html("live", &html);
    }

    /// Offers the newest model when an older one is on the screen, or shows it when none is.
    fn offer_newest(&mut self) {
        let Some(newest) = self.runs.first().and_then(|run| run.info.ply(None)) else {
            return;
        };
        let iteration = newest.iteration;
        if self.view.shown == 0 && !self.view.is_loading() {
            self.unsay("model");
            self.show_model(iteration);
        }
    }
}
