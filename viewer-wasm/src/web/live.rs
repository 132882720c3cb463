//! Following runs while they train.

use js_sys::Promise;
use wasm_bindgen_futures::JsFuture;

use super::app::{App, with};
use super::dom;
use super::net::{self, NetError, Rest};
use super::runs::{Run, open, read_evaluation};
use super::table::read_rows;
use crate::address::Tab;
use crate::html::{duration, escape};
use crate::run::{RunInfo, parse_index};

/// Milliseconds between two questions.
const EVERY_MS: i32 = 2000;

/// Rounds between two looks at the list of runs.
const INDEX_ROUNDS: u32 = 5;
/// A silence of the server that is worth a message, milliseconds; and one of a run.
const SILENT_MS: f64 = 5000.0;
const STUCK_MS: f64 = 60_000.0;

/// Asks the server again and again, for as long as the page lives.
pub(super) async fn follow() {
    for round in 1_u32.. {
        pause(EVERY_MS).await;
        let asked = with(|app| {
            // One that has ended may go on: with stages behind its training, or resumed.
            let all = round.is_multiple_of(INDEX_ROUNDS);
            let may_go_on = |run: &&Run| run.info.is_running() || (all && run.info.total > 0);
            let running = app.runs.iter().filter(may_go_on);
            let running = running.map(|run| run.path.clone()).collect::<Vec<_>>();
            (running, app.silent_since_ms.is_some())
        });
        let (running, silent) = asked.unwrap_or_default();
        if round.is_multiple_of(INDEX_ROUNDS) || silent {
            read_index().await;
            if with(|app| app.address.tab == Tab::Runs) == Some(true) {
                read_rows().await;
            }
        }
        for path in running {
            step(path).await;
        }
        with(App::show_live);
    }
}

/// Looks for new runs; with none open it is also how one learns that the server is there.
async fn read_index() {
    let Some(url) = with(|app| app.has_index.then(|| app.address.request("runs.json"))).flatten() else {
        return;
    };
    let answer = net::text(&url, true).await;
    let opened = with(|app| {
        app.heard(answer.as_ref().err());
        app.take_index(parse_index(&answer.ok()?).ok()?);
        let first = app.index.first().cloned();
        first.filter(|_| app.runs.is_empty() && app.address.runs.is_empty())
    });
    if let Some(path) = opened.flatten() {
        open(path).await;
    }
}

/// Waits.
pub(super) async fn pause(milliseconds: i32) {
    let wait = Promise::new(&mut |resolve, _| {
        if let Some(window) = dom::window() {
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, milliseconds);
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
    let answer = net::text_and_writer(&run_url, true).await;
    let evaluated = with(|app| {
        app.heard(answer.as_ref().err());
        let mut changed = false;
        let mut got = 0;
        // The last model comes with the word that the run is over.
        let followed = app.follows() && app.runs.first().is_some_and(|run| run.path == path);
        let run = app.run_mut(&path)?;
        if let Ok(rest) = metrics {
            changed |= take(run, &rest, &mut got, true);
        }
        if let Ok(rest) = memory {
            changed |= take(run, &rest, &mut got, false);
        }
        let mut evaluated = false;
        let mut replaced = false;
        if let Ok((text, writer)) = answer {
            run.writer = writer;
            if let Ok(info) = RunInfo::parse(&text) {
                evaluated = info.evals.len() > run.info.evals.len();
                replaced = info != run.info;
                run.info = info;
            }
        }
        if changed || replaced {
            run.heard_ms = dom::now_ms();
        }
        app.live_bytes += got;
        if changed || replaced {
            app.draw_charts();
            if followed || app.follows() {
                app.show_newest();
            }
            app.show_progress();
            app.show_side();
        }
        Some(evaluated)
    });
    if evaluated.flatten() == Some(true) {
        read_evaluation(path, None).await;
        with(App::subject_changed);
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

impl Run {
    /// How a run ended that was not finished, with the whole reason.
    pub(super) fn ending(&self) -> Option<String> {
        let info = &self.info;
        if matches!(info.status.as_str(), "running" | "done") {
            return None;
        }
        let done = (info.done as f64).max(self.metrics.last_it);
        let why = info.message.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let (status, why) = (escape(&info.status), escape(&why));
        Some(format!("<span class=\"bad\">{status}</span> at {done:.0}{why}"))
    }
}

impl App {
    /// Notes whether the server answered, and says so when it went away or takes the address no more.
    fn heard(&mut self, error: Option<&NetError>) {
        match error {
            Some(NetError::Silent) => {
                let since = *self.silent_since_ms.get_or_insert_with(dom::now_ms);
                if dom::now_ms() - since >= SILENT_MS {
                    self.say(
                        "server",
                        "The server does not answer any more. What is shown is what it had until then; start \
                         `kiln view` again and open the address that it prints.",
                    );
                }
                return;
            }
            Some(NetError::Forbidden) => {
                self.say(
                    "server",
                    "The server was started anew: open the whole address that `kiln view` printed.",
                );
            }
            _ => self.unsay("server"),
        }
        self.silent_since_ms = None;
    }

    /// A word about a run that is under way, or how it ended.
    pub(super) fn show_live(&mut self) {
        let Some(run) = self.runs.first() else {
            dom::set_html("live", "");
            return;
        };
        let info = &run.info;
        let done = (info.done as f64).max(run.metrics.last_it);
        let at = format!("{done:.0} of {}", info.total);
        let now = dom::now_ms();
        let still = now - run.heard_ms;
        let html = match (info.status.as_str(), self.silent_since_ms) {
            ("running", Some(since)) => {
                format!(
                    "<span class=\"bad\">no answer for {}</span> · {at} when last heard",
                    duration((now - since) / 1000.0)
                )
            }
            ("running", None) if run.writer == Some(false) => {
                format!("<span class=\"bad\">died</span> at {at}: no process writes to this run any more")
            }
            ("running", None) if still > STUCK_MS => {
                format!("no news for {} · {at}", duration(still / 1000.0))
            }
            ("running", None) if info.total > 0 && done >= info.total as f64 => {
                format!("<span class=\"pulse\"></span>trained · {at} · last evaluation and files")
            }
            ("running", None) => {
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
                format!("<span class=\"pulse\"></span>training · {at} · {share:.0} %{its}")
            }
            // Models that no run trained say nothing here.
            ("done", _) if info.total == 0 => String::new(),
            ("done", _) => format!("{} iterations", info.total),
            _ => run.ending().unwrap_or_default(),
        };
        dom::set_html("live", &html);
        // The head has no room for a long reason.
        dom::set_attribute("live", "title", info.message.as_deref().unwrap_or_default());
    }
}
