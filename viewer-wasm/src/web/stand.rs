//! Where the camera of the splats tab stands: moved by hand, at a camera of the scene, or before a model.

use super::app::App;
use super::dom;
use super::photo::Photo;
use super::runs::Run;
use super::subject::Subject;
use crate::address::FreeView;
use crate::camera::{Lens, Pose};
use crate::frustum::{self, outline, pick, quality_tint};
use crate::navigate::{Mode, Navigator};
use crate::run::cameras::{Camera, arrangement, home};

/// Seconds of the way to a camera.
const JOURNEY_S: f32 = 0.5;

impl App {
    pub(super) fn fly_by_keys(&mut self, seconds: f32) -> bool {
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
        self.view.framed_by = self.view.sample.len();
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
}
