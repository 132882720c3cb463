//! Pointer, wheel and keys on the canvas.

use std::cell::RefCell;

use web_sys::{Event, KeyboardEvent, MouseEvent, PointerEvent, WheelEvent};

use super::app::{App, with};
use super::subject::Subject;
use super::{actions, dom};
use crate::address::Tab;
use crate::navigate::Mode;
use crate::run::Ply;
use crate::style::Style;

/// A press that moves less than this is a click, pixels.
const CLICK_PX: f32 = 4.0;
/// An arrow key turns as a drag by so many pixels does.
const ARROW_PX: f32 = 24.0;

/// Fingers and buttons that are down.
#[derive(Default)]
struct Pressed {
    at: Vec<(i32, [f32; 2])>,
    moved: f32,
    pan: bool,
}

thread_local! {
    static PRESSED: RefCell<Pressed> = RefCell::default();
}

fn place(event: &PointerEvent) -> [f32; 2] {
    [event.offset_x() as f32, event.offset_y() as f32]
}

/// Listens on the canvas.
pub(super) fn listen() {
    let Some(canvas) = dom::by_id("view") else {
        return;
    };
    let target = canvas.clone();
    dom::on(&canvas, "pointerdown", move |event: PointerEvent| {
        let _ = target.set_pointer_capture(event.pointer_id());
        PRESSED.with_borrow_mut(|pressed| {
            if pressed.at.is_empty() {
                pressed.moved = 0.0;
            }
            pressed.pan = event.button() != 0 || event.shift_key();
            pressed.at.push((event.pointer_id(), place(&event)));
        });
    });
    dom::on(&canvas, "pointermove", |event: PointerEvent| {
        if let Some(motion) = PRESSED.with_borrow_mut(|pressed| pressed.follow(&event)) {
            with(|app| app.move_by(motion));
        }
    });
    for kind in ["pointerup", "pointercancel"] {
        dom::on(&canvas, kind, |event: PointerEvent| {
            let clicked = PRESSED.with_borrow_mut(|pressed| {
                pressed.at.retain(|(id, _)| *id != event.pointer_id());
                pressed.at.is_empty() && pressed.moved < CLICK_PX && event.type_() == "pointerup"
            });
            with(|app| match app.camera_at(place(&event)).filter(|_| clicked) {
                Some(camera) => app.go_to_camera(&camera, false),
                None if !clicked => app.sync_address(),
                None => {}
            });
        });
    }
    dom::on(&canvas, "wheel", |event: WheelEvent| {
        event.prevent_default();
        let lines = if event.delta_mode() == WheelEvent::DOM_DELTA_LINE {
            20.0
        } else {
            1.0
        };
        let factor = (event.delta_y() as f32 * lines * 0.0012).clamp(-0.5, 0.5).exp();
        with(|app| {
            app.view.navigator.zoom(factor);
            app.left_camera();
        });
    });
    dom::on(&canvas, "dblclick", |event: MouseEvent| {
        with(|app| app.turn_to([event.offset_x() as f32, event.offset_y() as f32]));
    });
    dom::on(&canvas, "contextmenu", |event: Event| event.prevent_default());
}

/// What the fingers did since the last event.
enum Motion {
    Drag([f32; 2]),
    Pan([f32; 2]),
    /// Factor on the distance, and pixels.
    Pinch(f32, [f32; 2]),
}

impl Pressed {
    fn follow(&mut self, event: &PointerEvent) -> Option<Motion> {
        let before: Vec<[f32; 2]> = self.at.iter().map(|(_, at)| *at).collect();
        let slot = self.at.iter_mut().find(|(id, _)| *id == event.pointer_id())?;
        let now = place(event);
        let by = [now[0] - slot.1[0], now[1] - slot.1[1]];
        slot.1 = now;
        self.moved += by[0].abs() + by[1].abs();
        if self.moved < CLICK_PX {
            return None;
        }
        Some(match self.at.as_slice() {
            [_] if self.pan => Motion::Pan(by),
            [_] => Motion::Drag(by),
            [(_, a), (_, b), ..] => {
                let apart = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).hypot(a[1] - b[1]).max(1.0);
                Motion::Pinch(apart(before[0], before[1]) / apart(*a, *b), by.map(|v| 0.5 * v))
            }
            [] => return None,
        })
    }
}

impl App {
    fn move_by(&mut self, motion: Motion) {
        let height = self
            .renderer
            .as_ref()
            .map_or(1, |renderer| renderer.canvas.client_height())
            .max(1);
        let focal = self.shot().map_or(1.0, |shot| {
            shot.lens.focal[1] * height as f32 / shot.lens.size[1] as f32
        });
        let navigator = &mut self.view.navigator;
        match motion {
            Motion::Drag(by) => navigator.drag(by),
            Motion::Pan(by) => navigator.pan(by, focal),
            Motion::Pinch(factor, by) => {
                navigator.zoom(factor);
                navigator.pan(by, focal);
            }
        }
        self.left_camera();
    }

    fn key(&mut self, key: &str) {
        let splats = self.address.tab == Tab::Splats;
        match key {
            "1" => self.show_tab(Tab::Splats),
            "2" => self.show_tab(Tab::Metrics),
            "3" => self.show_tab(Tab::Evaluation),
            "4" => self.show_tab(Tab::Runs),
            "?" | "h" => actions::toggle_help(),
            "t" => self.toggle_theme(),
            "arrowleft" | "arrowright" if dom::is_focused("[role=tab]") => {
                self.step_tab(if key == "arrowleft" { -1 } else { 1 });
            }
            "arrowleft" | "arrowright" | "arrowup" | "arrowdown" | "+" | "-" if dom::is_focused("#view") => {
                let navigator = &mut self.view.navigator;
                match key {
                    "arrowleft" => navigator.drag([ARROW_PX, 0.0]),
                    "arrowright" => navigator.drag([-ARROW_PX, 0.0]),
                    "arrowup" => navigator.drag([0.0, ARROW_PX]),
                    "arrowdown" => navigator.drag([0.0, -ARROW_PX]),
                    "+" => navigator.zoom(0.9),
                    _ => navigator.zoom(1.0 / 0.9),
                }
                self.left_camera();
            }
            "r" if splats => self.go_home(),
            "f" if splats => {
                let fly = self.view.navigator.mode == Mode::Fly;
                self.set_mode(if fly { Mode::Orbit } else { Mode::Fly });
            }
            "p" if splats => self.set_style(match self.view.look.style {
                Style::Points => Style::Splats,
                _ => Style::Points,
            }),
            "c" if splats => {
                self.view.frusta = !self.view.frusta;
                self.view.dirty = true;
                self.show_side();
            }
            "v" if splats && self.view.through.is_some() => self.set_photo(self.view.photo.next()),
            "x" if splats => self.screenshot(),
            "k" if splats => self.keep_scene(),
            "b" if splats && self.kept_is_there() => self.next_beside(),
            "[" | "]" if splats => self.step_camera(if key == "[" { -1 } else { 1 }),
            "," | "." if splats => self.step_model(if key == "," { -1 } else { 1 }),
            "o" if splats => self.act("side", ""),
            "," | "." => self.compare_action("eval-step", if key == "," { "-1" } else { "1" }),
            "[" | "]" => self.compare_action("view-step", if key == "[" { "-1" } else { "1" }),
            _ => {}
        }
    }

    /// The tab beside the one in front.
    fn step_tab(&mut self, by: i64) {
        let shown = |tab: &Tab| *tab != Tab::Runs || self.has_index;
        let tabs: Vec<Tab> = Tab::ALL.into_iter().filter(shown).collect();
        let now = tabs.iter().position(|tab| *tab == self.address.tab).unwrap_or(0);
        let next = tabs[(now as i64 + by).rem_euclid(tabs.len() as i64) as usize];
        self.show_tab(next);
        if let Some(button) = dom::html_by_id(&format!("tab-{}", next.name())) {
            let _ = button.focus();
        }
    }

    /// The next camera of the list.
    fn step_camera(&mut self, by: i64) {
        let Some(run) = self.runs.first().filter(|run| !run.cameras.is_empty()) else {
            return;
        };
        let names: Vec<String> = self
            .camera_order()
            .into_iter()
            .map(|at| run.cameras[at].name.clone())
            .collect();
        let now = self
            .view
            .through
            .as_ref()
            .and_then(|name| names.iter().position(|known| known == name));
        let next = now.map_or(0, |at| (at as i64 + by).rem_euclid(names.len() as i64) as usize);
        self.go_to_camera(&names[next].clone(), false);
    }

    /// The next saved model.
    fn step_model(&mut self, by: i64) {
        let Some(run) = self.runs.first().filter(|run| !run.info.plys.is_empty()) else {
            return;
        };
        let plys = &run.info.plys;
        let shown = |ply: &Ply| self.view.subject == Subject::Saved(ply.iteration);
        let last = plys.len() as i64 - 1;
        // With none of them on the screen the newest is the next.
        let now = plys.iter().position(shown);
        let next = now.map_or(last, |at| (at as i64 + by).clamp(0, last)) as usize;
        if Some(next) != now {
            self.pick_model(plys[next].iteration);
        }
    }
}

/// Listens to the keyboard.
pub(super) fn listen_keys() {
    let Some(window) = dom::window() else {
        return;
    };
    dom::on(&window, "keydown", |event: KeyboardEvent| {
        // Sliders and switches take none of the page's keys; a list finds its entries by letters, and text is text.
        let focused = dom::document().and_then(|document| document.active_element());
        let typing = focused.is_some_and(|element| {
            element.tag_name() == "SELECT" || element.get_attribute("type").is_some_and(|kind| kind == "search")
        });
        if typing || event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let key = event.key().to_ascii_lowercase();
        with(|app| {
            if "wasdqe".contains(&key) || key == "shift" {
                if !app.view.keys.contains(&key) {
                    app.view.keys.push(key);
                }
            } else {
                app.key(&key);
            }
        });
    });
    dom::on(&window, "keyup", |event: KeyboardEvent| {
        let key = event.key().to_ascii_lowercase();
        with(|app| {
            // It has moved the camera for a frame at least, however short it was held.
            if app.view.keys.contains(&key) {
                app.view.let_go.push(key);
            }
        });
    });
    dom::on(&window, "blur", |_: Event| {
        with(|app| (app.view.keys.clear(), app.view.let_go.clear()));
    });
}
