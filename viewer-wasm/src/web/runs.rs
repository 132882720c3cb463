//! Opening runs: the index, the folders, their files.

use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlImageElement;

use super::app::{App, with};
use super::net::{self, NetError, Rest};
use super::subject::Subject;
use super::{dom, frusta};
use crate::address::MAX_RUNS;
use crate::html::escape;
use crate::json;
use crate::lines::Tail;
use crate::run::cameras::{self, Camera};
use crate::run::config::{self, Leaves};
use crate::run::evaluation::Evaluation;
use crate::run::memory::Memory;
use crate::run::metrics::Metrics;
use crate::run::{RunInfo, parse_index};

/// An open run.
#[derive(Default)]
pub(super) struct Run {
    /// Folder, relative to the page.
    pub(super) path: String,
    /// Number of its colour in charts.
    pub(super) color: usize,
    pub(super) info: RunInfo,
    pub(super) cameras: Vec<Camera>,
    pub(super) metrics: Metrics,
    pub(super) metrics_tail: Tail,
    pub(super) memory: Memory,
    pub(super) memory_tail: Tail,
    pub(super) config: Leaves,
    pub(super) env: Leaves,
    /// Evaluations that were read, by rising iteration.
    pub(super) evaluations: Vec<(u64, Evaluation)>,
    /// Cameras whose photographs are on the graphics device, by slot.
    pub(super) thumbnails: Vec<String>,
    /// Whether a process writes to it; `None` where the server does not know.
    pub(super) writer: Option<bool>,
    /// When something new came last, milliseconds of the page.
    pub(super) heard_ms: f64,
}

impl Run {
    /// The evaluation of an iteration, once it was read.
    pub(super) fn evaluation(&self, iteration: u64) -> Option<&Evaluation> {
        let found = self.evaluations.iter().find(|(known, _)| *known == iteration);
        found.map(|(_, evaluation)| evaluation)
    }

    pub(super) fn newest_evaluation(&self) -> Option<&Evaluation> {
        self.evaluations.last().map(|(_, evaluation)| evaluation)
    }

    /// Takes new bytes of `metrics.jsonl`.
    pub(super) fn push_metrics(&mut self, bytes: &[u8]) {
        for row in self.metrics_tail.push(bytes) {
            self.metrics.push(&row);
        }
    }

    /// Takes new bytes of `memory.jsonl`.
    pub(super) fn push_memory(&mut self, bytes: &[u8]) {
        for row in self.memory_tail.push(bytes) {
            self.memory.push(&row);
        }
    }
}

/// The address of a file of a run.
fn url(path: &str, file: &str) -> String {
    with(|app| app.address.request(&format!("{path}/{file}"))).unwrap_or_default()
}

/// Opens what the address names, or the first run of the index.
pub(super) async fn open_all() {
    let index_url = with(|app| app.address.request("runs.json")).unwrap_or_default();
    let answer = net::text(&index_url, true).await;
    let has_index = answer != Err(NetError::Absent);
    let index = match answer {
        Ok(text) => parse_index(&text),
        // A page without an index opens what the address names.
        Err(NetError::Absent) => Ok(Vec::new()),
        Err(error) => Err(error.about("runs.json")),
    };
    let wanted = with(|app| {
        app.has_index = has_index;
        match index {
            Ok(index) => app.take_index(index),
            Err(why) => app.say("index", &why),
        }
        let first = app.index.first().cloned();
        if app.address.runs.is_empty() {
            first.into_iter().collect()
        } else {
            app.address.runs.clone()
        }
    });
    for path in wanted.unwrap_or_default() {
        open(path).await;
    }
    with(|app| {
        app.show_runs();
        app.show_progress();
        app.show_side();
    });
}

/// Opens a run beside those that are open. What comes after another run was chosen is dropped.
pub(super) async fn open(path: String) {
    let choice = with(|app| app.choice).unwrap_or_default();
    let chosen = |work: &mut dyn FnMut(&mut App)| {
        with(|app| {
            let still = app.choice == choice;
            if still {
                work(app);
            }
            still
        }) == Some(true)
    };
    let file = format!("{path}/run.json");
    let info = match net::text_and_writer(&url(&path, "run.json"), true).await {
        Ok((text, writer)) => RunInfo::parse(&text)
            .map(|info| (info, writer))
            .map_err(|why| format!("{path}: {why}.")),
        Err(error) => Err(format!("{}.", error.about(&file))),
    };
    let mut first = false;
    let begun = chosen(&mut |app| match &info {
        Ok((info, writer)) => first = app.begin_run(&path, info.clone(), *writer),
        Err(why) => {
            // The one chosen stays in the address, so that a reload tries again.
            let overlaid = |run: &String| *run == path;
            if let Some(at) = app.address.runs.iter().skip(1).position(overlaid) {
                app.address.runs.remove(at + 1);
            }
            app.say(&path, why);
            app.show_runs();
        }
    });
    if !begun || info.is_err() {
        return;
    }
    if first {
        let cameras = net::text(&url(&path, "cameras.json"), false).await;
        // Which camera to begin with is chosen by its PSNR.
        read_evaluation(path.clone(), None).await;
        if let Some(named) = with(|app| app.evaluation.iteration).flatten() {
            read_evaluation(path.clone(), Some(named)).await;
        }
        let cameras = cameras
            .map_err(|e| e.about("cameras.json"))
            .and_then(|text| cameras::parse(&text));
        let taken = chosen(&mut |app| {
            app.take_cameras(&path, cameras.clone());
            app.show_first_model();
            app.show_side();
        });
        if !taken {
            return;
        }
    }
    let metrics = net::rest(&url(&path, "metrics.jsonl"), 0).await;
    let memory = net::rest(&url(&path, "memory.jsonl"), 0).await;
    let config = net::text(&url(&path, "config.resolved.yaml"), false).await;
    let env = net::text(&url(&path, "env.json"), false).await;
    let taken = chosen(&mut |app| {
        app.take_files(&path, &metrics, &memory, &config, &env);
        app.draw_charts();
        app.show_live();
        app.show_side();
        if app.follows() {
            app.show_newest();
        }
    });
    if taken && first {
        load_thumbnails(path).await;
    }
}

/// Reads the evaluation of an iteration, or the newest, of a run that is open.
pub(super) async fn read_evaluation(path: String, iteration: Option<u64>) {
    let wanted = with(|app| {
        let run = app.run_mut(&path)?;
        let at = |it| run.info.evals.iter().find(|(known, _)| *known == it);
        let (it, file) = iteration.and_then(at).or(run.info.evals.last())?.clone();
        run.evaluation(it).is_none().then_some((it, file))
    });
    let Some((it, file)) = wanted.flatten() else {
        with(App::show_evaluation);
        return;
    };
    let result = net::text(&url(&path, &file), false).await;
    let result = result
        .map_err(|e| e.about(&file))
        .and_then(|text| Evaluation::parse(&text));
    with(|app| {
        match result {
            Ok(evaluation) => {
                if let Some(run) = app.run_mut(&path).filter(|run| run.evaluation(it).is_none()) {
                    let at = run.evaluations.partition_point(|(known, _)| *known < it);
                    run.evaluations.insert(at, (it, evaluation));
                }
                app.set_frusta();
            }
            Err(why) if app.run_mut(&path).is_some() => app.say("evaluation", &format!("{path}: {why}.")),
            Err(_) => {}
        }
        app.show_evaluation();
        app.show_side();
    });
}

/// Brings photographs of cameras onto their outlines.
pub(super) async fn load_thumbnails(path: String) {
    let wanted = with(|app| {
        let run = app.run_mut(&path)?;
        let evaluation = run.newest_evaluation()?;
        let rows = evaluation.views.iter().filter(|row| row.images);
        let names: Vec<_> = rows.map(|row| (row.name.clone(), row.set())).collect();
        Some(names)
    });
    let names = wanted.flatten().unwrap_or_default();
    for (name, set) in names.into_iter().take(frusta::THUMBNAILS as usize) {
        let image = url(&path, &format!("eval/gt/{set}/{name}.png"));
        let Some(image) = decoded(&image).await else {
            continue;
        };
        with(|app| {
            let Some(renderer) = &mut app.renderer else {
                return;
            };
            let Some(run) = app.runs.first_mut().filter(|run| run.path == path) else {
                return;
            };
            let slot = run.thumbnails.len() as u32;
            if renderer.frusta.set_thumbnail(&renderer.gl, slot, &image).is_ok() {
                run.thumbnails.push(name);
            }
        });
    }
    with(App::set_frusta);
}

/// An image that is ready to be drawn; `None` when there is none.
pub(super) async fn decoded(url: &str) -> Option<HtmlImageElement> {
    let image = dom::document()?
        .create_element("img")
        .ok()?
        .dyn_into::<HtmlImageElement>()
        .ok()?;
    image.set_src(url);
    wasm_bindgen_futures::JsFuture::from(image.decode()).await.ok()?;
    Some(image)
}

impl App {
    pub(super) fn run_mut(&mut self, path: &str) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.path == path)
    }

    fn take_cameras(&mut self, path: &str, cameras: Result<Vec<Camera>, String>) {
        match cameras {
            Ok(cameras) => {
                if let Some(run) = self.run_mut(path) {
                    run.cameras = cameras;
                }
                self.arrange();
            }
            Err(why) => self.say("cameras", &format!("{path}: {why}.")),
        }
    }

    /// Takes a run that is there; says whether it is the one shown.
    fn begin_run(&mut self, path: &str, info: RunInfo, writer: Option<bool>) -> bool {
        self.unsay(path);
        if self.runs.len() < MAX_RUNS && self.runs.iter().all(|run| run.path != path) {
            let free = |color: &usize| self.runs.iter().all(|run| run.color != *color);
            let color = (0..MAX_RUNS).find(free).unwrap_or(0);
            self.runs.push(Run {
                path: path.to_owned(),
                color,
                info,
                writer,
                heard_ms: dom::now_ms(),
                ..Run::default()
            });
        }
        self.show_runs();
        self.runs.len() == 1
    }

    fn take_files(
        &mut self,
        path: &str,
        metrics: &Result<Rest, NetError>,
        memory: &Result<Rest, NetError>,
        config: &Result<String, NetError>,
        env: &Result<String, NetError>,
    ) {
        let mut missing = Vec::new();
        let Some(run) = self.run_mut(path) else {
            return;
        };
        match metrics {
            Ok(Rest::More(bytes)) => run.push_metrics(bytes),
            Ok(_) => {}
            Err(error) => missing.push(error.about("metrics.jsonl")),
        }
        match memory {
            Ok(Rest::More(bytes)) => run.push_memory(bytes),
            Ok(_) => {}
            Err(error) => missing.push(error.about("memory.jsonl")),
        }
        match config {
            Ok(text) => run.config = config::leaves(text),
            Err(error) => missing.push(error.about("config.resolved.yaml")),
        }
        match env
            .as_ref()
            .map_err(|e| e.about("env.json"))
            .and_then(|text| json::parse(text).map_err(|e| format!("env.json is {e}")))
        {
            Ok(value) => run.env = value.leaves(),
            Err(why) => missing.push(why),
        }
        let background = run.config.iter().find(|(key, _)| key == "model.background");
        let white = background.is_some_and(|(_, value)| value == "white");
        let done = !run.info.is_running();
        for (file, tail) in [("metrics.jsonl", &run.metrics_tail), ("memory.jsonl", &run.memory_tail)] {
            if tail.bad > 0 {
                missing.push(format!("{file} has {} damaged lines, which are left out", tail.bad));
            }
            if done && tail.is_cut() {
                missing.push(format!("the last line of {file} is only half written and is left out"));
            }
        }
        if self.runs.first().is_some_and(|run| run.path == path) {
            self.view.look.background = if white { [1.0; 3] } else { [0.0; 3] };
            self.view.dirty = true;
        }
        if !missing.is_empty() {
            self.say(&format!("{path} files"), &format!("{path}: {}.", missing.join("; ")));
        }
    }

    /// Reads the model that the address names, or the newest.
    pub(super) fn show_first_model(&mut self) {
        if self.read_kept() {
            return;
        }
        let Some(run) = self.runs.first() else {
            return;
        };
        let wanted = self.address.iteration;
        let saved = wanted.filter(|wanted| run.info.plys.iter().any(|ply| ply.iteration == *wanted));
        if run.info.plys.is_empty() && !run.info.is_running() {
            self.say("model", "The run has no saved model.");
        }
        match saved {
            Some(iteration) => self.pick_model(iteration),
            None => self.show_newest(),
        }
        self.show_progress();
    }

    /// Reads the model that the reader picked, and stays with it.
    pub(super) fn pick_model(&mut self, iteration: u64) {
        self.view.follow = false;
        self.show_subject(Subject::Saved(iteration));
        self.show_side();
    }

    /// Reads what a stage of the run made.
    pub(super) fn pick_part(&mut self, path: &str) {
        self.view.follow = false;
        self.show_subject(Subject::Part(path.to_owned()));
        self.show_side();
    }

    /// The list of runs in the head of the page.
    pub(super) fn show_runs(&mut self) {
        let shown = self.address.runs.first().cloned();
        let option = |path: &String| {
            let selected = if Some(path) == shown.as_ref() { " selected" } else { "" };
            format!(
                "<option value=\"{}\"{selected}>{}</option>",
                escape(path),
                escape(self.name_of(path))
            )
        };
        let open = self
            .runs
            .iter()
            .map(|run| &run.path)
            .filter(|path| !self.index.contains(path));
        let options: String = self.index.iter().chain(open).map(option).collect();
        dom::set_html("run", &options);
        dom::show("run", !options.is_empty());
        if let Some(document) = dom::document() {
            let name = shown
                .as_deref()
                .map_or(String::new(), |path| format!("{} · ", self.name_of(path)));
            document.set_title(&(name + "Kiln"));
        }
        dom::show("tab-runs", self.has_index);
        self.sync_address();
        self.show_live();
        self.show_table();
    }

    /// Puts another run in the place of all that are open.
    pub(super) fn switch_run(&mut self, path: String) {
        self.choice += 1;
        self.runs.clear();
        self.address.runs = vec![path.clone()];
        (self.address.iteration, self.address.camera, self.address.view) = (None, None, None);
        self.clear_model();
        if self.view.kept.is_there() {
            // What is kept is compared with the next run from the same place.
            self.address.view = Some(self.place());
        }
        self.view.leave_scene();
        self.forget_messages();
        self.evaluation = self.evaluation.of_another_run();
        self.curves = self.curves.of_another_run();
        self.set_frusta();
        self.show_runs();
        self.show_side();
        self.show_progress();
        self.draw_charts();
        self.show_evaluation();
        spawn_local(open(path));
    }

    /// Lays another run over the curves, or takes it away.
    pub(super) fn toggle_overlay(&mut self, path: String) {
        if let Some(at) = self.runs.iter().skip(1).position(|run| run.path == path) {
            self.runs.remove(at + 1);
            self.address.runs.retain(|run| *run != path);
            self.sync_address();
            self.draw_charts();
            self.show_table();
        } else if self.runs.len() < MAX_RUNS {
            spawn_local(open(path));
        }
    }
}
