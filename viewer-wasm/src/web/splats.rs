//! The splats tab: what is drawn, when, and what the reader sees beside it.

use js_sys::{Function, Object, Promise, Reflect, Uint32Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlCanvasElement;

use super::app::{App, with};
use super::beside::{Beside, KeptScene};
use super::dom;
use super::loading::Source;
use super::mesh::MeshLook;
use super::model::GpuModel;
use super::photo::Photo;
use super::renderer::{Look, Renderer, Shot};
use super::runs::{Run, load_thumbnails};
use super::subject::Subject;
use super::worker::WorkerClient;
use crate::address::{FreeView, Tab};
use crate::camera::{Lens, Pose};
use crate::framing::Sample;
use crate::frustum::{self, outline, pick, quality_tint};
use crate::html::count;
use crate::math::pow;
use crate::navigate::{Mode, Navigator};
use crate::run::cameras::{Arrangement, Camera, arrangement, home};
use crate::style::Style;

/// Seconds of the way to a camera.
const JOURNEY_S: f32 = 0.5;
/// Splats over a pixel at the bright end of their scale.
const MOST_COUNTED: f32 = 255.0;
/// A camera that has not moved for so long rests.
const REST_MS: f64 = 200.0;
/// Frames that take longer have fewer pixels while the camera moves.
const SLOW_MS: f64 = 40.0;
/// And such frames wait for the order of their splats for so long at most.
const MOST_WAIT_MS: f64 = 150.0;
/// Most pixels a side of the page's canvas has per CSS pixel.
const MAX_RATIO: f64 = 2.0;

/// A picture somebody waits for.
struct Order {
    sort: u32,
    shot: Shot,
    done: Box<dyn FnOnce(Result<JsValue, JsValue>)>,
}

/// The order that was asked for last: for which camera, lens and size of splats, and the number it will carry.
#[derive(Default)]
pub(super) struct Asked {
    of: Option<(Shot, f32)>,
    waits: Option<u32>,
    since_ms: f64,
}

impl Asked {
    /// Whether another order is needed for a camera.
    fn is_stale(&self, shot: &Shot, scale: f32, reach: f32) -> bool {
        let serves = |(of, of_scale): &(Shot, f32)| {
            !of.pose.differs(&shot.pose, reach) && of.lens == shot.lens && *of_scale == scale
        };
        self.waits.is_none() && !self.of.as_ref().is_some_and(serves)
    }
}

/// State of the splats tab.
pub(super) struct View {
    pub(super) navigator: Navigator,
    /// The lens looked through, at the size it was made for.
    lens: Lens,
    pub(super) look: Look,
    pub(super) frusta: bool,
    /// Camera of the scene one looks through.
    pub(super) through: Option<String>,
    /// How its photograph lies over the splats, and how much of it.
    pub(super) photo: Photo,
    pub(super) photo_share: f64,
    pub(super) mesh: MeshLook,
    pub(super) mesh_name: String,
    pub(super) dirty: bool,
    /// Keys that are held, and those of them that were let go since the last frame.
    pub(super) keys: Vec<String>,
    pub(super) let_go: Vec<String>,
    pub(super) worker: Option<WorkerClient>,
    /// What is on the screen, and what is being read.
    pub(super) subject: Subject,
    pub(super) coming: Subject,
    /// Some of the centres of the model that was read last.
    pub(super) sample: Sample,
    /// The newest model of a running run is shown as it comes.
    pub(super) follow: bool,
    /// Number of the model on the screen, and of the one being read.
    pub(super) shown: u32,
    pub(super) reading: u32,
    pub(super) incoming: Option<GpuModel>,
    /// Where the models on the screen and on the way come from.
    pub(super) source: Option<Source>,
    /// Run and iteration of a model of a link that is to be kept.
    pub(super) elsewhere: Option<String>,
    pub(super) asked: Asked,
    pub(super) kept: KeptScene,
    orders: Vec<Order>,
    /// The order of the model is that of a picture, of what another camera sees.
    strayed: bool,
    last_frame_ms: f64,
    /// The camera stands before a file that lies elsewhere than the run.
    framed: bool,
    /// The camera was moved by hand, and the address does not say so yet.
    pub(super) moved: bool,
    /// When the camera moved last, and whether fewer pixels are drawn for that.
    turned_ms: Option<f64>,
    pub(super) coarse: bool,
    pub(super) sorts: u32,
    pub(super) sort_ms: Option<f64>,
    pub(super) frame_ms: Option<f64>,
    pub(super) first_frame_ms: Option<f64>,
    pub(super) loaded_ms: Option<f64>,
    pub(super) began_ms: f64,
    pub(super) skipped: u32,
    pub(super) progress: Option<f64>,
    /// Splats that must have been read before the next picture on the way.
    pub(super) next_look: u32,
}

impl View {
    pub(super) fn new() -> Self {
        let target = Arrangement {
            target: [0.0; 3],
            up: [0.0, -1.0, 0.0],
            radius: 4.0,
        };
        let home = Pose::looking_at([0.0, -1.0, -4.0], target.target, target.up);
        Self {
            navigator: Navigator::new(home, target),
            lens: Lens::plain([1600, 1000]),
            look: Look {
                degree: 3,
                scale: 1.0,
                style: Style::Splats,
                range: [0.0, 1.0],
                background: [0.0; 3],
            },
            frusta: true,
            through: None,
            photo: Photo::Off,
            photo_share: 0.5,
            mesh: MeshLook::default(),
            mesh_name: String::new(),
            dirty: true,
            keys: Vec::new(),
            let_go: Vec::new(),
            worker: None,
            subject: Subject::Nothing,
            coming: Subject::Nothing,
            sample: Sample::default(),
            follow: true,
            shown: 0,
            reading: 0,
            incoming: None,
            source: None,
            elsewhere: None,
            asked: Asked::default(),
            kept: KeptScene::default(),
            orders: Vec::new(),
            strayed: false,
            last_frame_ms: 0.0,
            framed: false,
            moved: false,
            turned_ms: None,
            coarse: false,
            sorts: 0,
            sort_ms: None,
            frame_ms: None,
            first_frame_ms: None,
            loaded_ms: None,
            began_ms: 0.0,
            skipped: 0,
            progress: None,
            next_look: 0,
        }
    }

    pub(super) fn is_loading(&self) -> bool {
        self.progress.is_some()
    }

    /// The camera of a page without cameras and models.
    pub(super) fn leave_scene(&mut self) {
        let fresh = Self::new();
        (self.navigator, self.lens) = (fresh.navigator, fresh.lens);
        (self.through, self.skipped) = (None, 0);
        (self.first_frame_ms, self.loaded_ms) = (None, None);
        self.look.background = fresh.look.background;
        (self.follow, self.framed) = (true, false);
    }

    /// Has the order made again, as after new splats.
    pub(super) fn resort(&mut self) {
        self.asked.of = None;
        self.dirty = true;
    }
}

impl App {
    /// Prepares the canvas and the worker; says so when the browser cannot.
    pub(super) fn start_drawing(&mut self) {
        let canvas = dom::by_id("view").and_then(|element| element.dyn_into::<HtmlCanvasElement>().ok());
        let renderer = canvas
            .ok_or_else(|| "The page has no canvas.".to_owned())
            .and_then(Renderer::new);
        match renderer {
            Ok(renderer) => {
                dom::on(&renderer.canvas, "webglcontextlost", |event: web_sys::Event| {
                    event.prevent_default();
                    let text = "The graphics driver took its memory back; the page draws again when it has it.";
                    with(|app| app.say("webgl", text));
                });
                dom::on(&renderer.canvas, "webglcontextrestored", |_: web_sys::Event| {
                    with(App::draw_again);
                });
                self.renderer = Some(renderer);
            }
            Err(why) => self.say("webgl", &why),
        }
        self.view.worker = WorkerClient::new(|number, said, share| {
            with(|app| app.hear(number, said, share));
        });
        if self.view.worker.is_none() {
            self.say(
                "sort",
                "This browser starts no worker, so splats cannot be read and sorted.",
            );
        }
    }

    /// Builds all that was on the graphics device anew, and reads the model again.
    fn draw_again(&mut self) {
        let Some(canvas) = self.renderer.take().map(|renderer| renderer.canvas) else {
            return;
        };
        match Renderer::new(canvas) {
            Ok(renderer) => {
                self.renderer = Some(renderer);
                let view = &mut self.view;
                (view.incoming, view.progress, view.kept) = (None, None, KeptScene::default());
                view.shown = 0;
                let subject = std::mem::take(&mut view.subject);
                self.unsay("webgl");
                if let Some(run) = self.runs.first_mut() {
                    run.thumbnails.clear();
                    spawn_local(load_thumbnails(run.path.clone()));
                }
                self.set_frusta();
                self.show_side();
                match (subject, self.view.source.clone()) {
                    (Subject::Nothing | Subject::File(..), Some(source)) => self.open_model(source),
                    (subject, _) => self.show_subject(subject),
                }
            }
            Err(why) => self.say("webgl", &why),
        }
    }

    /// Camera and lens on the canvas as it is.
    pub(super) fn shot(&self) -> Option<Shot> {
        let canvas = &self.renderer.as_ref()?.canvas;
        let size = [canvas.width().max(1), canvas.height().max(1)];
        Some(Shot {
            pose: self.view.navigator.pose,
            lens: self.view.lens.fitted(size),
        })
    }

    /// Keeps the canvas as large as its place on the page.
    fn fit_canvas(&mut self) {
        let Some(renderer) = &self.renderer else {
            return;
        };
        let ratio = dom::window()
            .map_or(1.0, |window| window.device_pixel_ratio())
            .clamp(0.5, MAX_RATIO);
        let side = |css: i32| (f64::from(css) * ratio).round().clamp(1.0, 8192.0) as u32;
        let size = [
            side(renderer.canvas.client_width()),
            side(renderer.canvas.client_height()),
        ];
        if [renderer.canvas.width(), renderer.canvas.height()] != size {
            renderer.canvas.set_width(size[0]);
            renderer.canvas.set_height(size[1]);
            self.view.dirty = true;
        }
    }

    /// One frame: moves the camera, asks for an order, draws when something changed.
    fn frame(&mut self, now_ms: f64) {
        if self.address.tab != Tab::Splats {
            self.view.last_frame_ms = 0.0;
            self.settle();
            if self.view.incoming.is_some() {
                // The next model takes its place as soon as it is in order.
                self.ask_for_order();
            }
            return;
        }
        self.fit_canvas();
        let gone_ms = if self.view.last_frame_ms > 0.0 {
            now_ms - self.view.last_frame_ms
        } else {
            0.0
        };
        let seconds = (gone_ms / 1000.0).min(0.1) as f32;
        let flown = self.fly_by_keys(seconds);
        if self.view.navigator.advance(seconds) || flown {
            self.view.turned_ms = Some(dom::now_ms());
            self.view.dirty = true;
        }
        // A frame took until the next one could begin.
        if std::mem::take(&mut self.view.last_frame_ms) > 0.0 {
            let old = self.view.frame_ms.unwrap_or(gone_ms);
            self.view.frame_ms = Some(old + 0.2 * (gone_ms - old));
        }
        self.ask_for_order();
        self.choose_pixels();
        if self.waits_for_order() {
            return;
        }
        if self.view.strayed || !std::mem::take(&mut self.view.dirty) {
            self.settle();
            return;
        }
        self.view.last_frame_ms = now_ms;
        let shot = self.shot();
        self.view.look.range = match (self.view.look.style, &shot) {
            (Style::Depth, Some(shot)) => self.view.sample.depths(&shot.pose),
            _ => [0.0, MOST_COUNTED],
        };
        let (Some(shot), Some(renderer)) = (shot, &mut self.renderer) else {
            return;
        };
        let frusta = self.view.frusta && self.view.through.is_none();
        let near = self.view.navigator.reach() * 1e-3;
        let drawn = renderer.draw(
            &shot,
            &self.view.look,
            (&self.view.mesh, near),
            (self.view.kept.beside, self.view.kept.share as f32),
            frusta,
            self.view.coarse,
        );
        let splats = renderer.model.as_ref().is_some_and(|model| model.drawn > 0);
        if splats && self.view.first_frame_ms.is_none() {
            self.view.first_frame_ms = Some(dom::now_ms() - self.view.began_ms);
        }
        if let Err(why) = drawn {
            self.say("webgl", &why);
        }
        self.show_hud();
    }

    /// Draws fewer pixels while the camera moves on a device that is slow at all of them.
    fn choose_pixels(&mut self) {
        let view = &mut self.view;
        let moves = view.turned_ms.is_some_and(|turned| dom::now_ms() - turned < REST_MS);
        // What began coarse stays so until it rests: the next frames are quick because of it.
        let coarse = moves && (view.coarse || view.frame_ms.is_some_and(|ms| ms > SLOW_MS));
        if coarse != view.coarse {
            view.coarse = coarse;
            view.dirty = true;
        }
    }

    /// A slow device draws what moves once, in its new order, and not first in the old one.
    fn waits_for_order(&self) -> bool {
        let view = &self.view;
        let waits = view.asked.waits.is_some() && dom::now_ms() - view.asked.since_ms < MOST_WAIT_MS;
        waits && view.shown > 0 && view.first_frame_ms.is_some() && view.frame_ms.is_some_and(|ms| ms > SLOW_MS)
    }

    fn fly_by_keys(&mut self, seconds: f32) -> bool {
        let held = |key: &str| f32::from(u8::from(self.view.keys.iter().any(|held| held == key)));
        let direction = [held("d") - held("a"), held("e") - held("q"), held("w") - held("s")];
        let moving = direction.iter().any(|v| *v != 0.0);
        if moving {
            let fast = if held("shift") > 0.0 { 4.0 } else { 1.0 };
            self.view.navigator.fly(direction, fast, seconds.max(0.016));
            self.left_camera();
        }
        let view = &mut self.view;
        let let_go = std::mem::take(&mut view.let_go);
        view.keys.retain(|key| !let_go.contains(key));
        moving
    }

    /// The camera moved by hand: one no longer looks through a camera of the scene. The address follows when it rests.
    pub(super) fn left_camera(&mut self) {
        self.view.dirty = true;
        self.view.moved = true;
        self.view.turned_ms = Some(dom::now_ms());
        self.touch();
        if self.view.through.take().is_some() {
            self.address.camera = None;
            self.show_side();
        }
    }

    /// Remembers the place that the camera was moved to by hand, once it is there.
    pub(super) fn remember_place(&mut self) {
        if !self.view.moved || self.view.navigator.is_on_journey() {
            return;
        }
        self.view.moved = false;
        // A place before a file of the reader means nothing to who opens the address.
        let run = self.view.through.is_none() && !self.view.framed;
        self.address.view = run.then(|| self.place());
    }

    /// Where the camera is.
    pub(super) fn place(&self) -> FreeView {
        FreeView {
            pose: self.view.navigator.pose,
            distance: self.view.navigator.distance,
        }
    }

    fn ask_for_order(&mut self) {
        let Some(shot) = self.shot() else {
            return;
        };
        let view = &mut self.view;
        let (reach, scale) = (view.navigator.reach(), view.look.scale.max(1.0));
        let model = if view.incoming.is_some() {
            view.reading
        } else {
            view.shown
        };
        let Some(worker) = &mut view.worker else {
            return;
        };
        for (number, asked) in [(model, &mut view.asked), (view.kept.number, &mut view.kept.asked)] {
            if number > 0 && asked.is_stale(&shot, scale, reach) {
                asked.waits = Some(worker.sort(number, &shot.pose.sight(&shot.lens, scale)));
                asked.of = Some((shot, scale));
                asked.since_ms = dom::now_ms();
            }
        }
    }

    /// Takes an order that the worker made for a model.
    pub(super) fn take_order(&mut self, number: u32, id: u32, order: &Uint32Array, ms: f64) {
        let view = &mut self.view;
        for asked in [&mut view.asked, &mut view.kept.asked] {
            if asked.waits == Some(id) {
                asked.waits = None;
            }
        }
        view.sorts += 1;
        view.sort_ms = Some(ms);
        let mut replaced = false;
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        if number == view.kept.number {
            if let Some(model) = &mut renderer.kept.model {
                model.set_order(&renderer.gl, order);
                view.dirty = true;
            }
            return;
        }
        if number == view.reading
            && !view.is_loading()
            && let Some(model) = view.incoming.take()
        {
            // The next model is whole and in order: it takes the place of the last.
            if let Some(old) = renderer.model.replace(model) {
                old.delete(&renderer.gl);
            }
            view.shown = view.reading;
            view.subject = view.coming.clone();
            replaced = true;
        }
        if number != view.shown {
            view.resort();
            return;
        }
        if let Some(model) = &mut renderer.model {
            model.set_order(&renderer.gl, order);
            view.dirty = true;
        }
        let waiting = std::mem::take(&mut view.orders);
        let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|order| order.sort <= id);
        view.orders = later;
        view.strayed = !ready.is_empty();
        for order in ready {
            let look = Look {
                scale: 1.0,
                style: Style::Splats,
                ..view.look
            };
            let picture = renderer.picture(&order.shot, &look);
            let result = picture.map_err(|why| JsValue::from_str(&why)).map(|rgba| {
                let out = Object::new();
                let size = order.shot.lens.size;
                for (key, value) in [
                    ("width", size[0].into()),
                    ("height", size[1].into()),
                    ("rgba", rgba.into()),
                ] {
                    let _ = Reflect::set(&out, &key.into(), &value);
                }
                out.into()
            });
            (order.done)(result);
            view.resort();
        }
        if replaced {
            self.subject_changed();
        }
    }

    /// Takes the model off the screen, and gives up the one being read.
    pub(super) fn clear_model(&mut self) {
        let view = &mut self.view;
        view.reading += 1;
        (view.shown, view.progress) = (0, None);
        (view.subject, view.coming) = Default::default();
        view.strayed = false;
        (view.source, view.elsewhere) = (None, None);
        for order in std::mem::take(&mut view.orders) {
            (order.done)(Err("the model was taken off the screen".into()));
        }
        if let Some(renderer) = &mut self.renderer {
            let models = view.incoming.take().into_iter().chain(renderer.model.take());
            models.for_each(|model| model.delete(&renderer.gl));
            renderer.forget_records();
            if let Some(mesh) = renderer.mesh.take() {
                mesh.delete(&renderer.gl);
            }
        }
        if let Some(worker) = &view.worker {
            worker.keep(&[view.kept.number]);
        }
        view.resort();
    }

    /// Draws a picture as soon as an order for its camera is there.
    pub(super) fn order_picture(&mut self, shot: Shot, done: Box<dyn FnOnce(Result<JsValue, JsValue>)>) {
        let view = &mut self.view;
        match &mut view.worker {
            Some(worker) if view.shown > 0 && view.incoming.is_none() => {
                let sort = worker.sort(view.shown, &shot.pose.sight(&shot.lens, 1.0));
                view.orders.push(Order { sort, shot, done });
            }
            _ => done(Err("no model is on the screen yet".into())),
        }
    }

    /// A camera of the shown run.
    pub(super) fn camera(&self, name: &str) -> Option<&Camera> {
        self.runs.first()?.cameras.iter().find(|camera| camera.name == name)
    }

    /// Looks through a camera of the scene.
    pub(super) fn go_to_camera(&mut self, name: &str, at_once: bool) {
        let Some(camera) = self.camera(name).cloned() else {
            return;
        };
        // A photograph is compared at its place only.
        let compares = self.view.photo != Photo::Off;
        let seconds = if at_once || compares || dom::calm() {
            0.0
        } else {
            JOURNEY_S
        };
        self.view.lens = camera.lens;
        self.view.navigator.go_to(camera.pose, seconds);
        self.view.through = Some(camera.name.clone());
        self.view.moved = false;
        self.address.camera = Some(camera.name);
        self.address.view = None;
        self.view.dirty = true;
        self.sync_address();
        self.show_side();
    }

    pub(super) fn go_home(&mut self) {
        self.view.navigator.go_home(if dom::calm() { 0.0 } else { JOURNEY_S });
        self.left_camera();
    }

    /// Brings a model before the camera that no camera of the scene is there for: a file from elsewhere, or a run without
    /// cameras. One that lies where the run's cameras look is left in their places, and one that is compared with what is kept
    /// is seen from where that is.
    pub(super) fn frame_model(&mut self) {
        let Some(space) = self.view.sample.space().filter(|_| !self.kept_is_there()) else {
            return;
        };
        let cameras = self.runs.first().is_some_and(|run| !run.cameras.is_empty());
        let navigator = &self.view.navigator;
        let own = !matches!(self.view.coming, Subject::File(..));
        if own && cameras && std::mem::take(&mut self.view.framed) {
            // Back from a file that lies elsewhere.
            self.arrange();
            return;
        }
        if cameras && (own || space.is_around(navigator.arrangement())) || own && self.address.view.is_some() {
            return;
        }
        let mode = navigator.mode;
        let up = navigator.arrangement().up;
        let found = space.arrangement(up);
        self.view.navigator = Navigator::new(space.pose(up), found);
        self.view.navigator.mode = mode;
        self.view.framed = !own;
        self.left_camera();
        self.view.lens = Lens::plain([1600, 1000]);
        self.view.resort();
    }

    /// Turns to what is drawn at a point of the canvas, CSS pixels, and moves about that.
    pub(super) fn turn_to(&mut self, at: [f32; 2]) {
        let Some(shot) = self.shot() else {
            return;
        };
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        let ratio = shot.lens.size[0] as f32 / renderer.canvas.client_width().max(1) as f32;
        let px = at.map(|v| v * ratio);
        let depth = renderer.depth_at(&shot, &self.view.look, px.map(|v| v as u32));
        self.view.dirty = true;
        if let Some(depth) = depth {
            let side = |axis: usize| (px[axis] - shot.lens.centre[axis]) / shot.lens.focal[axis] * depth;
            let point = shot.pose.to_world([side(0), side(1), depth]);
            self.view
                .navigator
                .turn_to(point, if dom::calm() { 0.0 } else { JOURNEY_S });
            self.left_camera();
        }
    }

    /// Turns the scene so that another axis is up.
    pub(super) fn set_up(&mut self, axis: &str) {
        let up = match axis {
            "y" => [0.0, 1.0, 0.0],
            "z" => [0.0, 0.0, 1.0],
            _ => [0.0, -1.0, 0.0],
        };
        self.view.navigator.set_up(up);
        self.left_camera();
        self.sync_address();
        self.show_side();
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.view.navigator.mode = mode;
        self.show_side();
    }

    /// Sets the camera up for a scene: where its cameras look, from one of them.
    pub(super) fn arrange(&mut self) {
        let Some(run) = self.runs.first() else {
            return;
        };
        let poses: Vec<Pose> = run.cameras.iter().map(|camera| camera.pose).collect();
        let Some(found) = arrangement(&poses) else {
            return;
        };
        let newest = run.newest_evaluation();
        let psnr = |camera: &Camera| newest?.psnr(&camera.name, camera.test);
        let first = home(&run.cameras, psnr).map(|at| &run.cameras[at]);
        let start = first.map_or(self.view.navigator.pose, |camera| camera.pose);
        if let Some(camera) = first {
            self.view.lens = camera.lens;
        }
        let mode = self.view.navigator.mode;
        self.view.navigator = Navigator::new(start, found);
        self.view.navigator.mode = mode;
        if let Some(place) = self.address.view {
            self.view.navigator.go_to(place.pose, 0.0);
            self.view.navigator.distance = place.distance;
        }
        if let Some(name) = self.address.camera.clone() {
            if self.camera(&name).is_some() {
                self.go_to_camera(&name, true);
            } else {
                self.address.camera = None;
                self.say("camera", &format!("The run has no camera `{name}`."));
            }
        }
        self.set_frusta();
        self.view.resort();
    }

    /// Colours the cameras by their PSNR in the model on the screen; grey where that is not known.
    pub(super) fn set_frusta(&mut self) {
        let none = Run::default();
        let run = self.runs.first().unwrap_or(&none);
        let evaluation = self.evaluation_shown();
        let range = evaluation.and_then(|evaluation| evaluation.psnr_range());
        let depth = self.view.navigator.reach() * 0.08;
        let outlines = run.cameras.iter().map(|camera| {
            let psnr = evaluation.and_then(|evaluation| evaluation.psnr(&camera.name, camera.test));
            let rgb = match (psnr, range) {
                (Some(psnr), Some((low, high))) => quality_tint(((psnr - low) / (high - low).max(1e-9)) as f32),
                _ => [0.62, 0.64, 0.67],
            };
            let opacity = if camera.test { 1.0 } else { 0.55 };
            let tint = [rgb[0], rgb[1], rgb[2], opacity];
            let thumbnail = run
                .thumbnails
                .iter()
                .position(|name| *name == camera.name)
                .map(|slot| slot as u32);
            outline(&camera.pose, &camera.lens, &frustum::Style { depth, tint, thumbnail })
        });
        let outlines: Vec<_> = outlines.collect();
        if let Some(renderer) = &mut self.renderer {
            renderer.frusta.set(&renderer.gl, &outlines, depth);
        }
        self.view.dirty = true;
    }

    /// The camera whose outline is under a point of the canvas, CSS pixels.
    pub(super) fn camera_at(&self, at: [f32; 2]) -> Option<String> {
        let (run, shot) = (self.runs.first()?, self.shot()?);
        if !self.view.frusta || self.view.through.is_some() {
            return None;
        }
        let cameras: Vec<_> = run.cameras.iter().map(|camera| (camera.pose, camera.lens)).collect();
        let css = self.renderer.as_ref()?.canvas.client_width().max(1);
        let ratio = shot.lens.size[0] as f32 / css as f32;
        let depth = self.view.navigator.reach() * 0.08;
        let found = pick(
            &cameras,
            depth,
            &shot.pose,
            &shot.lens,
            at.map(|v| v * ratio),
            16.0 * ratio,
        )?;
        Some(run.cameras[found].name.clone())
    }

    fn show_hud(&self) {
        let view = &self.view;
        let renderer = self.renderer.as_ref();
        let model = renderer.and_then(|renderer| renderer.model.as_ref().or(renderer.kept.model.as_ref()));
        let splats = model.map_or(0, |model| model.loaded);
        let mut parts = vec![format!("{} splats", count(f64::from(splats)))];
        parts.extend(view.sort_ms.map(|ms| format!("sort {ms:.1} ms")));
        parts.extend(view.frame_ms.map(|ms| {
            let fps = 1000.0 / ms.max(1.0);
            let digits = usize::from(fps < 9.5);
            format!("{fps:.digits$} fps")
        }));
        let [low, high] = view.look.range;
        match view.look.style {
            _ if view.kept.number > 0 && view.kept.beside == Beside::Difference => {
                let most = pow(2.0, -6.0 * view.kept.share);
                parts.push(format!("difference, mean over channels: 0 to {most:.3} (bright)"));
            }
            Style::Depth => parts.push(format!("depth {low:.2} (bright) to {high:.2}")),
            Style::Counts => parts.push(format!("0 to {high:.0} splats per pixel (bright)")),
            _ => {}
        }
        dom::set_text("hud", &parts.join("  ·  "));
    }
}

/// Draws for as long as the page lives.
pub(super) fn animate() {
    fn next() {
        let step = Closure::once_into_js(|now: f64| {
            with(|app| app.frame(now));
            next();
        });
        if let Some(window) = dom::window() {
            let _ = window.request_animation_frame(step.unchecked_ref());
        }
    }
    next();
}

/// See [`super::picture`].
pub(super) fn picture_promise(name: &str) -> Promise {
    Promise::new(&mut |resolve: Function, reject: Function| {
        let absent = reject.clone();
        let done = Box::new(move |result: Result<JsValue, JsValue>| {
            let _ = match result {
                Ok(value) => resolve.call1(&JsValue::NULL, &value),
                Err(why) => reject.call1(&JsValue::NULL, &why),
            };
        });
        let ordered = with(|app| {
            let camera = app.camera(name)?;
            let shot = Shot {
                pose: camera.pose,
                lens: camera.lens,
            };
            app.order_picture(shot, done);
            Some(())
        });
        if ordered.flatten().is_none() {
            let why = format!("the run has no camera `{name}`");
            let _ = absent.call1(&JsValue::NULL, &why.into());
        }
    })
}
