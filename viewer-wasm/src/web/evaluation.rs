//! The evaluation tab: evaluated views in order of a figure, and two pictures of one of them under a wipe.

use std::cell::RefCell;

use wasm_bindgen_futures::spawn_local;
use web_sys::{PointerEvent, WheelEvent};

use super::app::{App, with};
use super::dom;
use super::runs::read_evaluation;
use super::subject::Subject;
use crate::address::{Address, Tab};
use crate::html::{escape, put};
use crate::math::exp;
use crate::run::evaluation::{Figure, ViewRow};
use crate::wipe::Frame;

/// Kinds of pictures and their names for people.
const PAIRS: [(&str, [&str; 2]); 4] = [
    ("gt-render", ["gt", "render"]),
    ("render-error", ["render", "error"]),
    ("gt-error", ["gt", "error"]),
    ("render-density", ["render", "density"]),
];

/// What the reader chose.
pub(super) struct Compare {
    pub(super) iteration: Option<u64>,
    /// The evaluation on the page.
    shown: Option<u64>,
    figure: Figure,
    worst_first: bool,
    filter: String,
    /// Set and name of the view.
    view: Option<(bool, String)>,
    pair: usize,
    frame: Frame,
    listening: bool,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            iteration: None,
            shown: None,
            figure: Figure::Psnr,
            worst_first: true,
            filter: "all".to_owned(),
            view: None,
            pair: 0,
            frame: Frame::default(),
            listening: false,
        }
    }
}

impl Compare {
    /// What is on the left and on the right.
    pub(super) fn kinds(&self) -> [&'static str; 2] {
        PAIRS[self.pair].1
    }

    /// Sets up what the address says.
    pub(super) fn restore(&mut self, address: &Address) {
        self.iteration = address.look("eval").and_then(|iteration| iteration.parse().ok());
        let pick = address.look("pick").and_then(|pick| pick.split_once('/'));
        self.view = pick.map(|(set, name)| (set == "test", name.to_owned()));
        let pair = |pair: &str| PAIRS.iter().position(|(id, _)| *id == pair);
        self.pair = address.look("pair").and_then(pair).unwrap_or(0);
        self.frame.wipe = address.number("wipe").map_or(0.5, |wipe| wipe.clamp(0.0, 1.0));
    }

    /// What the address is to say.
    pub(super) fn looks(&self, add: &mut impl FnMut(&'static str, String, bool)) {
        add(
            "eval",
            self.iteration.unwrap_or(0).to_string(),
            self.iteration.is_some(),
        );
        let (test, name) = self.view.clone().unwrap_or_default();
        let set = if test { "test" } else { "train" };
        add("pick", format!("{set}/{name}"), self.view.is_some());
        add("pair", PAIRS[self.pair].0.to_owned(), self.pair > 0);
        let wipe = self.frame.wipe;
        add("wipe", format!("{wipe:.3}"), (wipe - 0.5).abs() > 1e-3);
    }

    /// What stays when another run is shown.
    pub(super) fn of_another_run(&self) -> Self {
        Self {
            figure: self.figure,
            worst_first: self.worst_first,
            filter: self.filter.clone(),
            pair: self.pair,
            listening: self.listening,
            ..Self::default()
        }
    }
}

thread_local! {
    /// Last place of a drag, and whether it moves the wipe.
    static DRAG: RefCell<Option<([f64; 2], bool)>> = const { RefCell::new(None) };
}

impl App {
    /// Draws the tab anew when it is in front.
    pub(super) fn show_evaluation(&mut self) {
        if self.address.tab != Tab::Evaluation {
            return;
        }
        if !std::mem::replace(&mut self.evaluation.listening, true) {
            listen();
        }
        let Some(run) = self.runs.first() else {
            dom::set_html("views", "<p class=\"faint none\">No run is open.</p>");
            dom::set_html("evaluation", "");
            dom::set_text("summary", "-");
            dom::show("compare", false);
            return;
        };
        let newest = run.evaluations.last().map(|(it, _)| *it);
        let wanted = self
            .evaluation
            .iteration
            .filter(|it| run.evaluation(*it).is_some())
            .or(newest);
        let options = run.info.evals.iter().rev().map(|(it, _)| {
            let selected = if Some(*it) == wanted { " selected" } else { "" };
            format!("<option value=\"{it}\"{selected}>iteration {it}</option>")
        });
        dom::set_html("evaluation", &options.collect::<String>());
        let Some(evaluation) = wanted.and_then(|it| run.evaluation(it)) else {
            let text = if run.info.evals.is_empty() {
                "This run has not been evaluated yet."
            } else {
                "Reading…"
            };
            dom::set_html("views", &format!("<p class=\"faint none\">{text}</p>"));
            dom::show("compare", false);
            return;
        };
        let choice = &self.evaluation;
        let rows = evaluation.sorted(choice.figure, choice.worst_first);
        let rows: Vec<&ViewRow> = rows
            .into_iter()
            .filter(|row| choice.filter == "all" || row.set() == choice.filter)
            .collect();
        let chosen = |row: &&&ViewRow| {
            choice
                .view
                .as_ref()
                .is_some_and(|(test, name)| row.test == *test && row.name == *name)
        };
        let row = rows
            .iter()
            .find(chosen)
            .or(rows.iter().find(|row| row.images))
            .or(rows.first());
        let row = row.map(|row| (*row).clone());
        let table = table(&rows, row.as_ref(), choice.figure, choice.worst_first);
        dom::set_html("views", &table);
        dom::set_text("summary", evaluation.summary.as_deref().unwrap_or("-"));
        dom::show("compare", row.is_some());
        let rank = row.as_ref().and_then(|row| rows.iter().position(|each| *each == row));
        let rank = rank.map_or(String::new(), |at| match (at, choice.worst_first) {
            (0, true) => format!("the worst of {}", rows.len()),
            (at, true) => format!("no. {} of {} from the worst", at + 1, rows.len()),
            (0, false) => format!("the best of {}", rows.len()),
            (at, false) => format!("no. {} of {} from the best", at + 1, rows.len()),
        });
        let path = run.path.clone();
        self.evaluation.shown = wanted;
        if let (Some(row), Some(it)) = (row, wanted) {
            self.evaluation.view = Some((row.test, row.name.clone()));
            self.show_pictures(&path, it, &row, &rank);
        }
    }

    fn show_pictures(&mut self, path: &str, it: u64, row: &ViewRow, rank: &str) {
        let (set, name) = (row.set(), &row.name);
        let kinds = self.evaluation.kinds();
        for (id, kind) in [("left", kinds[0]), ("right", kinds[1])] {
            if let Some(canvas) = dom::by_id(&format!("picture-{id}")) {
                let _ = canvas.set_attribute("aria-label", &format!("{} of {name}", words(kind)));
            }
            dom::set_text(&format!("label-{id}"), words(kind));
        }
        let here = !row.images && self.view.subject == Subject::Saved(it);
        dom::show("stage", row.images || here);
        dom::show("no-pictures", !row.images);
        dom::show("load-evaluated", !here);
        dom::show("pairs", row.images);
        if let Some(stage) = dom::by_id("stage") {
            let _ = stage.class_list().toggle_with_force("single", !row.images);
        }
        if row.images {
            let photo = format!("{path}/eval/gt/{set}/{name}.png");
            let drawn = |kind: &str| format!("{path}/eval/iteration_{it}/{kind}/{set}/{name}.png");
            let files = [photo, drawn("render"), drawn("density")];
            self.show_pair(files.map(|file| self.address.request(&file)), kinds);
        } else {
            dom::set_text("label-left", words("render"));
            dom::show("error-bar", false);
            dom::show("density-bar", false);
            if here {
                self.show_own_render(name);
            }
        }
        let figures: Vec<_> = Figure::ALL
            .into_iter()
            .filter(|figure| row.figure(*figure).is_some())
            .map(|figure| format!("{} {}", figure.title(), figure.print(row.figure(figure))))
            .collect();
        let html = format!(
            "<strong>{}</strong> <span class=\"faint\">{set}, {rank}</span> {} <button type=\"button\" \
             data-act=\"camera\" data-value=\"{}\">Look through this camera</button>",
            escape(name),
            figures.join(" · "),
            escape(name)
        );
        dom::set_html("view-title", &html);
        for (index, (id, _)) in PAIRS.iter().enumerate() {
            let pressed = if index == self.evaluation.pair { "true" } else { "false" };
            if let Some(button) = dom::by_id(&format!("pair-{id}")) {
                let _ = button.set_attribute("aria-pressed", pressed);
            }
        }
        self.evaluation.frame.picture = row.size.map(f64::from);
        self.fit_compare();
    }

    /// Fits the pictures to their place.
    pub(super) fn fit_compare(&mut self) {
        if let Some(stage) = dom::by_id("stage") {
            self.evaluation.frame.stage = [stage.client_width(), stage.client_height()].map(f64::from);
        }
        self.place_pictures();
    }

    fn place_pictures(&self) {
        let frame = &self.evaluation.frame;
        let [x, y, width, height] = frame.place();
        for id in ["picture-left", "picture-right"] {
            dom::style(id, "transform", &format!("translate({x:.2}px, {y:.2}px)"));
            dom::style(id, "width", &format!("{width:.2}px"));
            dom::style(id, "height", &format!("{height:.2}px"));
            let crisp = frame.pixels() > 2.0;
            dom::style(id, "image-rendering", if crisp { "pixelated" } else { "auto" });
        }
        let at = frame.wipe_px();
        dom::style("clip", "clip-path", &format!("inset(0 0 0 {at:.1}px)"));
        dom::style("wipe-line", "transform", &format!("translateX({at:.1}px)"));
        if let Some(input) = dom::input_by_id("wipe") {
            input.set_value(&format!("{:.0}", frame.wipe * 1000.0));
        }
        dom::set_text("zoom-value", &format!("{:.0} %", frame.pixels() * 100.0));
    }

    pub(super) fn set_wipe(&mut self, value: &str) {
        self.evaluation.frame.wipe = crate::number::parse(value).unwrap_or(500.0) / 1000.0;
        self.place_pictures();
        self.touch();
    }

    pub(super) fn set_eval_filter(&mut self, value: &str) {
        self.evaluation.filter = value.to_owned();
        self.show_evaluation();
    }

    pub(super) fn compare_action(&mut self, act: &str, value: &str) {
        match act {
            "sort" => {
                let figure = Figure::of_key(value).unwrap_or(Figure::Psnr);
                let same = self.evaluation.figure == figure;
                self.evaluation.worst_first = !same || !self.evaluation.worst_first;
                self.evaluation.figure = figure;
            }
            "view" => {
                let (set, name) = value.split_once('/').unwrap_or(("test", value));
                self.evaluation.view = Some((set == "test", name.to_owned()));
            }
            "pair" => self.evaluation.pair = PAIRS.iter().position(|(id, _)| *id == value).unwrap_or(0),
            "fit" => self.evaluation.frame.reset(),
            "eval-step" => {
                self.step_evaluation(value.parse().unwrap_or(1));
                return;
            }
            "load-evaluated" => {
                if let Some(iteration) = self.evaluation.shown {
                    self.pick_model(iteration);
                }
                return;
            }
            "view-step" => self.step_view(value.parse().unwrap_or(1)),
            _ => return,
        }
        self.touch();
        self.show_evaluation();
    }

    /// The evaluation before or after.
    fn step_evaluation(&mut self, by: i64) {
        let Some(run) = self.runs.first().filter(|run| !run.info.evals.is_empty()) else {
            return;
        };
        let all: Vec<u64> = run.info.evals.iter().map(|(it, _)| *it).collect();
        let now = self
            .evaluation
            .iteration
            .and_then(|it| all.iter().position(|known| *known == it));
        let now = now.unwrap_or(all.len() - 1) as i64;
        let next = all[(now + by).clamp(0, all.len() as i64 - 1) as usize];
        spawn_local(read_evaluation(run.path.clone(), Some(next)));
        self.evaluation.iteration = Some(next);
        self.touch();
    }

    /// The view before or after in the table.
    fn step_view(&mut self, by: i64) {
        let rows = dom::by_id("views").and_then(|views| views.query_selector_all("tr[data-value]").ok());
        let Some(rows) = rows else {
            return;
        };
        let value = |at: u32| {
            use wasm_bindgen::JsCast as _;
            rows.item(at)
                .and_then(|node| node.dyn_into::<web_sys::Element>().ok()?.get_attribute("data-value"))
        };
        let now = self
            .evaluation
            .view
            .as_ref()
            .map(|(test, name)| format!("{}/{name}", if *test { "test" } else { "train" }));
        let at = (0..rows.length())
            .find(|at| value(*at) == now)
            .map_or(0, |at| i64::from(at) + by);
        let last = i64::from(rows.length()) - 1;
        if let Some((set, name)) = value(at.clamp(0, last.max(0)) as u32)
            .as_deref()
            .and_then(|v| v.split_once('/'))
        {
            self.evaluation.view = Some((set == "test", name.to_owned()));
        }
    }
}

fn words(kind: &str) -> &str {
    match kind {
        "gt" => "photo",
        kind => kind,
    }
}

fn table(rows: &[&ViewRow], chosen: Option<&ViewRow>, by: Figure, worst_first: bool) -> String {
    // What no view has takes no room.
    let had = |figure: &Figure| rows.iter().any(|row| row.figure(*figure).is_some());
    let figures: Vec<Figure> = Figure::ALL.into_iter().filter(had).collect();
    let mut out = String::from("<table><thead><tr><th scope=\"col\">View</th>");
    for &figure in &figures {
        let (sort, arrow) = match (figure == by, figure.more_is_better() == worst_first) {
            (false, _) => ("none", ""),
            (true, true) => ("ascending", " ↑"),
            (true, false) => ("descending", " ↓"),
        };
        let head = [
            "<th scope=\"col\" aria-sort=\"",
            sort,
            "\"><button type=\"button\" class=\"quiet\" data-act=\"sort\" data-value=\"",
            figure.key(),
            "\">",
            figure.title(),
            arrow,
            "</button></th>",
        ];
        put(&mut out, &head);
    }
    out += "</tr></thead><tbody>";
    for row in rows {
        let current = if chosen == Some(*row) {
            " aria-current=\"true\""
        } else {
            ""
        };
        let (name, set) = (escape(&row.name), row.set());
        let dim = if row.images { "" } else { " class=\"dim\"" };
        let line = [
            "<tr data-act=\"view\" data-view=\"",
            &name,
            "\" data-value=\"",
            set,
            "/",
            &name,
            "\"",
            current,
            dim,
            "><th scope=\"row\"><button type=\"button\" class=\"quiet\">",
            &name,
            "</button><small>",
            set,
            "</small></th>",
        ];
        put(&mut out, &line);
        for figure in &figures {
            put(&mut out, &["<td>", &figure.print(row.figure(*figure)), "</td>"]);
        }
        out += "</tr>";
    }
    out + "</tbody></table>"
}

fn listen() {
    let Some(stage) = dom::by_id("stage") else {
        return;
    };
    let target = stage.clone();
    let place = move |event: &PointerEvent| {
        let area = target.get_bounding_client_rect();
        [
            f64::from(event.client_x()) - area.left(),
            f64::from(event.client_y()) - area.top(),
        ]
    };
    let at = place.clone();
    let target = stage.clone();
    dom::on(&stage, "pointerdown", move |event: PointerEvent| {
        event.prevent_default();
        let _ = target.set_pointer_capture(event.pointer_id());
        let here = at(&event);
        let near = with(|app| (app.evaluation.frame.wipe_px() - here[0]).abs() < 14.0).unwrap_or(false);
        DRAG.set(Some((here, near)));
    });
    let at = place.clone();
    dom::on(&stage, "pointermove", move |event: PointerEvent| {
        let here = at(&event);
        let Some((last, wipes)) = DRAG.with_borrow(|drag| *drag) else {
            return;
        };
        DRAG.set(Some((here, wipes)));
        with(|app| {
            let frame = &mut app.evaluation.frame;
            if wipes {
                frame.wipe_to(here[0]);
            } else {
                frame.pan([here[0] - last[0], here[1] - last[1]]);
            }
            app.place_pictures();
            app.touch();
        });
    });
    for kind in ["pointerup", "pointercancel"] {
        dom::on(&stage, kind, |_: PointerEvent| DRAG.set(None));
    }
    let target = stage.clone();
    dom::on(&stage, "wheel", move |event: WheelEvent| {
        event.prevent_default();
        let area = target.get_bounding_client_rect();
        let here = [
            f64::from(event.client_x()) - area.left(),
            f64::from(event.client_y()) - area.top(),
        ];
        let factor = exp((-event.delta_y() * 0.0015).clamp(-0.7, 0.7));
        with(|app| {
            app.evaluation.frame.zoom(factor, here);
            app.place_pictures();
        });
    });
}
