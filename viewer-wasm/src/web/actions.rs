//! What buttons, lists and sliders do. Elements name their action in `data-act`, so lists can be drawn anew at will.

use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::{
    DragEvent, Element, Event, File, FileList, HtmlDialogElement, HtmlInputElement, HtmlSelectElement, MouseEvent,
};

use super::app::{App, with};
use super::loading::Source;
use super::photo::Photo;
use super::runs::read_evaluation;
use super::surfaces::is_beside;
use super::{dom, pointer};
use crate::address::Tab;
use crate::navigate::Mode;
use crate::style::Style;

/// Listens to the whole page.
pub(super) fn listen() {
    let Some(document) = dom::document() else {
        return;
    };
    dom::on(&document, "click", |event: MouseEvent| {
        if let Some((act, value)) = named(event.target(), "data-act") {
            with(|app| app.act(&act, &value));
        }
    });
    for kind in ["input", "change"] {
        let live = kind == "input";
        dom::on(&document, kind, move |event: Event| {
            let Some((name, _)) = named(event.target(), "data-set") else {
                return;
            };
            let target = event.target();
            let input = target
                .clone()
                .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
            let value = match &input {
                Some(input) if input.type_() == "checkbox" => input.checked().to_string(),
                Some(input) if input.type_() == "file" => {
                    // Both events name it; it is opened once.
                    if !live {
                        with(|app| app.open_local(input.files()));
                    }
                    return;
                }
                Some(input) => input.value(),
                None => target
                    .and_then(|t| t.dyn_into::<HtmlSelectElement>().ok())
                    .map_or(String::new(), |s| s.value()),
            };
            with(|app| app.set(&name, &value, live));
        });
    }
    dom::on(&document, "dragover", |event: DragEvent| {
        event.prevent_default();
        dom::show("drop", true);
    });
    for kind in ["dragleave", "drop"] {
        dom::on(&document, kind, move |event: DragEvent| {
            event.prevent_default();
            dom::show("drop", false);
            let files = event.data_transfer().and_then(|data| data.files());
            if event.type_() == "drop" {
                with(|app| {
                    app.show_tab(Tab::Splats);
                    app.open_local(files);
                });
            }
        });
    }
    if let Some(window) = dom::window() {
        dom::on(&window, "popstate", |_: Event| {
            with(App::follow_history);
        });
        dom::on(&window, "resize", |_: Event| {
            with(|app| {
                app.view.dirty = true;
                app.draw_charts();
                app.show_projects();
                app.fit_compare();
            });
        });
    }
    pointer::listen_keys();
}

/// The nearest element around the target that has an attribute: its value, and that of `data-value`.
fn named(target: Option<web_sys::EventTarget>, attribute: &str) -> Option<(String, String)> {
    let element = target?.dyn_into::<Element>().ok()?;
    let found = element.closest(&format!("[{attribute}]")).ok()??;
    Some((
        found.get_attribute(attribute)?,
        found.get_attribute("data-value").unwrap_or_default(),
    ))
}

impl App {
    /// Shows a file of the reader, with those that belong to it, and stays with it.
    fn open_local(&mut self, files: Option<FileList>) {
        let files = files
            .into_iter()
            .flat_map(|files| (0..files.length()).filter_map(move |at| files.get(at)));
        let (beside, mut main): (Vec<File>, Vec<File>) = files.partition(is_beside);
        if !main.is_empty() {
            self.view.follow = false;
            self.open_model(Source::Local(main.swap_remove(0), beside));
        }
    }

    /// Draws something else of each splat.
    pub(super) fn set_style(&mut self, style: Style) {
        self.view.look.style = style;
        self.view.dirty = true;
        self.touch();
        self.show_side();
    }

    /// Shows or hides the panel beside the splats.
    pub(super) fn show_panel(&mut self, on: bool) {
        dom::show("side", on);
        dom::set_attribute("side-toggle", "aria-expanded", &on.to_string());
        self.view.dirty = true;
    }

    /// Does what a button says.
    pub(super) fn act(&mut self, act: &str, value: &str) {
        match act {
            "tab" => self.show_tab(Tab::of_name(value).unwrap_or_default()),
            "copy-link" => self.copy_link(),
            "theme" => {
                self.toggle_theme();
            }
            "help" => toggle_help(),
            "dismiss" => self.unsay(value),
            "camera" => {
                self.show_tab(Tab::Splats);
                self.go_to_camera(value, false);
            }
            "reset" => self.go_home(),
            "mode" => self.set_mode(if value == "fly" { Mode::Fly } else { Mode::Orbit }),
            "up" => self.set_up(value),
            "degree" => {
                self.view.look.degree = value.parse().unwrap_or(3);
                self.view.dirty = true;
                self.touch();
                self.show_side();
            }
            "photo" => self.set_photo(Photo::of_name(value)),
            "screenshot" => self.screenshot(),
            "side" => {
                let hidden = dom::by_id("side").is_some_and(|side| side.has_attribute("hidden"));
                self.show_panel(hidden);
            }
            "newest" => self.show_newest(),
            "keep" => self.keep_scene(),
            "let-go" => self.release(),
            "beside" => self.set_beside(value),
            "open-run" => {
                self.switch_run(value.to_owned());
                self.show_tab(Tab::Splats);
            }
            "part" => self.pick_part(value),
            "mesh-place" => self.set_mesh(act, value),
            "mesh-remove" => self.drop_mesh(),
            "runs-sort" => self.sort_table(value),
            "overlay" => self.toggle_overlay(value.to_owned()),
            "chart-log" | "chart-reset" => self.chart_action(act, value),
            "sort" | "view" | "pair" | "eval-step" | "fit" | "load-evaluated" => self.compare_action(act, value),
            _ => {}
        }
    }

    /// Takes the value of a slider, list or switch; `live` while it is still being moved.
    fn set(&mut self, name: &str, value: &str, live: bool) {
        match (name, live) {
            ("run", false) => self.switch_run(value.to_owned()),
            ("iteration", true) => self.show_iteration_label(value),
            ("iteration", false) => {
                let plys = self.runs.first().map(|run| run.info.plys.clone()).unwrap_or_default();
                if let Some(ply) = value.parse().ok().and_then(|at: usize| plys.get(at)) {
                    self.pick_model(ply.iteration);
                }
            }
            ("follow", false) => self.set_follow(value == "true"),
            ("scale", true) => {
                self.view.look.scale = crate::number::parse(value).unwrap_or(1.0) as f32;
                dom::set_text("scale-value", &format!("{:.2}", self.view.look.scale));
                self.view.dirty = true;
                self.touch();
            }
            ("mesh-style" | "mesh-wires", false) | ("mesh-share", true) => self.set_mesh(name, value),
            ("style", false) => self.set_style(Style::of_name(value)),
            ("frusta", false) => {
                self.view.frusta = value == "true";
                self.view.dirty = true;
            }
            ("runs-filter", true) => self.filter_table(value),
            ("smooth", true) => self.set_smoothing(value),
            ("wipe", true) => self.set_wipe(value),
            ("beside-share", true) => self.set_beside_share(value),
            ("photo-amount", true) => self.set_photo_share(value),
            ("gain", true) => self.set_gain(value),
            ("eval-set", false) => self.set_eval_filter(value),
            ("evaluation", false) => {
                let path = self.runs.first().map(|run| run.path.clone());
                if let (Some(path), Ok(iteration)) = (path, value.parse()) {
                    self.evaluation.iteration = Some(iteration);
                    self.touch();
                    spawn_local(read_evaluation(path, Some(iteration)));
                }
            }
            _ => {}
        }
    }
}

/// Opens or closes the list of shortcuts; the browser keeps the focus in it and gives it back.
pub(super) fn toggle_help() {
    let help = dom::by_id("help").and_then(|help| help.dyn_into::<HtmlDialogElement>().ok());
    match help {
        Some(help) if help.open() => help.close(),
        Some(help) => {
            let _ = help.show_modal();
        }
        None => {}
    }
}
