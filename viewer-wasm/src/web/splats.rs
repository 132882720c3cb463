//! The splats tab: what is drawn, when, and what the reader sees beside it.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlCanvasElement;

use super::app::{App, with};
use super::beside::{Beside, KeptScene};
use super::dom;
use super::loading::Source;
use super::mesh::MeshLook;
use super::model::GpuModel;
use super::orders::{Asked, Order};
use super::photo::Photo;
use super::renderer::{Look, Renderer, Shot};
use super::runs::load_thumbnails;
use super::subject::Subject;
use super::worker::WorkerClient;
use crate::address::Tab;
use crate::camera::{Lens, Pose};
use crate::framing::Sample;
use crate::html::count;
use crate::math::pow;
use crate::navigate::Navigator;
use crate::pace::{Pace, SLOW_MS};
use crate::run::cameras::Arrangement;
use crate::style::Style;

/// Splats over a pixel at the bright end of their scale.
const MOST_COUNTED: f32 = 255.0;
/// A camera that has not moved for so long rests.
const REST_MS: f64 = 200.0;
/// Most pixels a side of the page's canvas has per CSS pixel.
const MAX_RATIO: f64 = 2.0;

/// State of the splats tab.
pub(super) struct View {
    pub(super) navigator: Navigator,
    /// The lens looked through, at the size it was made for.
    pub(super) lens: Lens,
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
    /// How many of these the model was framed by.
    pub(super) framed_by: usize,
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
    pub(super) pace: Pace,
    pub(super) orders: Vec<Order>,
    /// The order of the model is that of a picture, of what another camera sees.
    pub(super) strayed: bool,
    last_frame_ms: f64,
    /// The camera stands before a file that lies elsewhere than the run.
    pub(super) framed: bool,
    /// The camera was moved by hand, and the address does not say so yet.
    pub(super) moved: bool,
    /// When the camera moved last, and whether fewer pixels are drawn for that.
    pub(super) turned_ms: Option<f64>,
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
            framed_by: 0,
            follow: true,
            shown: 0,
            reading: 0,
            incoming: None,
            source: None,
            elsewhere: None,
            asked: Asked::default(),
            kept: KeptScene::default(),
            pace: Pace::default(),
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
        self.asked.forget();
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
        if self.view.strayed || !self.view.dirty {
            self.settle();
            return;
        }
        if !self.draws_now(now_ms) {
            return;
        }
        self.view.dirty = false;
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
    fn draws_now(&mut self, now_ms: f64) -> bool {
        let view = &mut self.view;
        let slow = view.frame_ms.is_some_and(|ms| ms > SLOW_MS);
        // The order of a model that is still being read is none of what is on the screen.
        let expected = view.asked.is_expected() && view.shown > 0 && view.incoming.is_none();
        view.pace.draws(now_ms, slow && view.first_frame_ms.is_some(), expected)
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

    fn show_hud(&self) {
        let view = &self.view;
        let renderer = self.renderer.as_ref();
        let model = renderer.and_then(|renderer| renderer.model.as_ref().or(renderer.kept.model.as_ref()));
        let splats = model.map_or(0, |model| {
            model.streamed.map_or(model.loaded, |streamed| streamed.shown)
        });
        let streamed = model.and_then(|model| model.streamed);
        let of = streamed.map_or(String::new(), |streamed| {
            format!(" of {}", count(f64::from(streamed.finest)))
        });
        // What the run has made, in its own word.
        let mesh = renderer
            .and_then(|renderer| renderer.mesh.as_ref())
            .filter(|_| model.is_none());
        let (n, word) = mesh.map_or((splats, "splats"), |mesh| (mesh.n_triangles, "triangles"));
        let mut parts = vec![format!("{}{of} {word}", count(f64::from(n)))];
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
