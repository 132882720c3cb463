//! The panel beside the splats: models, look, cameras.

use wasm_bindgen::Clamped;
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use super::app::{App, with};
use super::dom;
use super::pictures::rgba_of;
use super::renderer::Shot;
use super::subject::Subject;
use crate::html::escape;
use crate::navigate::Mode;
use crate::order::rising;
use crate::run::part_title;
use crate::style::Style;

impl App {
    /// Draws the panel anew.
    pub(super) fn show_side(&mut self) {
        self.show_models();
        self.show_photo();
        self.show_mesh();
        self.show_beside();
        let view = &self.view;
        let degree = self
            .renderer
            .as_ref()
            .and_then(|renderer| renderer.model.as_ref())
            .map_or(3, |m| m.about.degree);
        let used = view.look.degree.min(degree);
        let degrees = (0..=3).map(|each| {
            let off = if each > degree { " disabled" } else { "" };
            button("degree", &each.to_string(), &each.to_string(), each == used, off)
        });
        dom::set_html("degrees", &degrees.collect::<String>());
        dom::select("style", view.look.style.name());
        if let Some(scale) = dom::input_by_id("scale") {
            scale.set_disabled(view.look.style == Style::Points);
        }
        let fly = view.navigator.mode == Mode::Fly;
        let modes = [("orbit", "Orbit", !fly), ("fly", "Fly", fly)];
        dom::set_html(
            "modes",
            &modes.map(|(id, title, on)| button("mode", id, title, on, "")).concat(),
        );
        let up = view.navigator.arrangement().up;
        let is = |axis: usize, sign: f32| up[axis] * sign > 0.99;
        let ups = [
            ("-y", "−y", is(1, -1.0)),
            ("y", "+y", is(1, 1.0)),
            ("z", "+z", is(2, 1.0)),
        ];
        dom::set_html(
            "ups",
            &ups.map(|(id, title, on)| button("up", id, title, on, "")).concat(),
        );
        if let Some(frusta) = dom::input_by_id("frusta") {
            frusta.set_checked(view.frusta);
        }
        self.show_cameras();
    }

    fn show_models(&self) {
        let plys = self.runs.first().map_or(&[][..], |run| &run.info.plys);
        let subject = &self.view.subject;
        let running = self.runs.first().is_some_and(|run| run.info.is_running());
        let any = running || *subject != Subject::Nothing || self.kept_is_there();
        dom::show("models", any);
        let last = plys.len().saturating_sub(1);
        let at = plys.iter().position(|ply| *subject == Subject::Saved(ply.iteration));
        if let Some(slider) = dom::input_by_id("iteration") {
            slider.set_max(&last.to_string());
            slider.set_value(&at.unwrap_or(last).to_string());
            slider.set_disabled(plys.len() < 2);
        }
        dom::show("iteration", !plys.is_empty());
        dom::set_text("iteration-value", &self.subject_text());
        dom::show("follow-row", running);
        if let Some(follow) = dom::input_by_id("follow") {
            follow.set_checked(self.follows());
        }
        dom::show("newest", !running && !self.is_newest());
        let parts = self.runs.first().map_or(&[][..], |run| &run.info.parts);
        let rows = parts.iter().map(|path| {
            let on = *subject == Subject::Part(path.clone());
            let (path, title) = (escape(path), escape(&part_title(path)));
            format!(
                "<button type=\"button\" class=\"quiet\" data-act=\"part\" data-value=\"{path}\" aria-pressed=\"{on}\">{title}</button>"
            )
        });
        dom::set_html("parts", &rows.collect::<String>());
        dom::show("parts", !parts.is_empty());
    }

    pub(super) fn show_iteration_label(&self, value: &str) {
        let plys = self.runs.first().map_or(&[][..], |run| &run.info.plys);
        if let Some(ply) = value.parse().ok().and_then(|at: usize| plys.get(at)) {
            dom::set_text("iteration-value", &format!("iteration {}", ply.iteration));
        }
    }

    /// Indices of the cameras as listed: test views first, each set from worst to best where that is known.
    pub(super) fn camera_order(&self) -> Vec<usize> {
        let Some(run) = self.runs.first() else {
            return Vec::new();
        };
        let evaluation = self.evaluation_shown();
        let psnr = |at: usize| {
            let camera = &run.cameras[at];
            evaluation
                .and_then(|evaluation| evaluation.psnr(&camera.name, camera.test))
                .unwrap_or(1e5)
        };
        // Test views come first.
        let key = |at: &usize| psnr(*at) + if run.cameras[*at].test { 0.0 } else { 1e6 };
        rising((0..run.cameras.len()).collect(), key)
    }

    fn show_cameras(&self) {
        let Some(run) = self.runs.first() else {
            dom::set_html("cameras", "");
            dom::show("camera-block", false);
            return;
        };
        dom::show("camera-block", !run.cameras.is_empty());
        let evaluation = self.evaluation_shown();
        let note = match (evaluation, &self.view.subject) {
            (Some(_), _) => "worst first".to_owned(),
            (None, Subject::Saved(iteration)) => format!("no evaluation at {iteration}"),
            (None, Subject::File(..)) => format!("of {}", self.name_of(&run.path)),
            (None, _) => String::new(),
        };
        dom::set_text("cameras-note", &note);
        let mut last = None;
        let rows = self.camera_order().into_iter().map(|at| {
            let camera = &run.cameras[at];
            let title = match (last.replace(camera.test) != Some(camera.test), camera.test) {
                (false, _) => "",
                (true, true) => "<li class=\"set\">test</li>",
                (true, false) => "<li class=\"set\">train</li>",
            };
            let psnr = evaluation.and_then(|evaluation| evaluation.psnr(&camera.name, camera.test));
            let value = psnr.map_or(String::new(), |psnr| format!("<small>{psnr:.1} dB</small>"));
            let current = self.view.through.as_deref() == Some(camera.name.as_str());
            let name = escape(&camera.name);
            format!(
                "{title}<li><button type=\"button\" class=\"quiet\" data-act=\"camera\" data-camera=\"{name}\" \
                 data-value=\"{name}\" aria-pressed=\"{current}\"><span>{name}</span>{value}</button></li>"
            )
        });
        dom::set_html("cameras", &rows.collect::<String>());
    }

    /// Saves what is seen: through a camera of the scene at its own resolution, else as large as the window.
    pub(super) fn screenshot(&mut self) {
        let Some(mut shot) = self.shot() else {
            return;
        };
        let iteration = self.view.subject.iteration().unwrap_or(0);
        let mut name = format!("view-{iteration}");
        if let Some(camera) = self.view.through.as_ref().and_then(|name| self.camera(name)) {
            shot = Shot {
                pose: camera.pose,
                lens: camera.lens,
            };
            name = format!("{}-{iteration}", camera.name);
        }
        let done = Box::new(move |result: Result<JsValue, JsValue>| {
            let saved = result.and_then(|picture| save(&picture, &format!("{name}.png")));
            if let Err(why) = saved {
                let why = why.as_string().unwrap_or_default();
                // The order that this picture waited for is being taken: speak when that is over.
                wasm_bindgen_futures::spawn_local(async move {
                    with(|app| app.say("screenshot", &format!("The picture could not be saved: {why}")));
                });
            }
        });
        self.order_picture(shot, done);
    }
}

pub(super) fn button(act: &str, value: &str, title: &str, on: bool, more: &str) -> String {
    format!(
        "<button type=\"button\" data-act=\"{act}\" data-value=\"{value}\" aria-pressed=\"{on}\"{more}>{title}</button>"
    )
}

/// Makes a PNG of `{width, height, rgba}` and hands it to the downloads.
fn save(picture: &JsValue, name: &str) -> Result<(), JsValue> {
    let (rgba, [width, height]) = rgba_of(picture)?;
    let data = ImageData::new_with_u8_clamped_array_and_sh(Clamped(&rgba), width, height)?;
    let document = dom::document().ok_or("no document")?;
    let canvas: HtmlCanvasElement = document.create_element("canvas")?.dyn_into()?;
    canvas.set_width(width);
    canvas.set_height(height);
    let context = canvas
        .get_context("2d")?
        .ok_or("no canvas")?
        .dyn_into::<CanvasRenderingContext2d>()?;
    context.put_image_data(&data, 0.0, 0.0)?;
    dom::save(name, &canvas.to_data_url()?);
    Ok(())
}
