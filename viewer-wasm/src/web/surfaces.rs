//! Opening a mesh, and the part of the panel that is about it.

use wasm_bindgen::prelude::*;
use web_sys::{Blob, File, Url};

use super::app::{App, with};
use super::dom;
use super::mesh::{GpuMesh, MeshLook, Place};
use super::runs::decoded;
use super::sidebar::button;
use crate::formats::mesh::pictures;
use crate::framing::{Sample, Sampler};
use crate::html::count;
use crate::surface::Surface;

/// Endings of pictures that colour a mesh.
const PICTURES: [&str; 4] = [".png", ".jpg", ".jpeg", ".webp"];

fn ends(file: &File, endings: &[&str]) -> bool {
    let name = file.name().to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file goes with a mesh and is not one.
pub(super) fn is_beside(file: &File) -> bool {
    ends(file, &PICTURES) || ends(file, &[".mtl"])
}

/// Shows a mesh with its picture: in the file, or among those that came with it.
pub(super) async fn show(generation: u32, name: &str, surface: Surface, beside: &[File]) {
    let picture = picture_of(&surface, beside).await;
    let mut image = None;
    if let Some(blob) = &picture
        && let Ok(url) = Url::create_object_url_with_blob(blob)
    {
        image = decoded(&url).await;
        let _ = Url::revoke_object_url(&url);
    }
    let remark = match (&surface.library, &picture, &image) {
        (_, Some(_), None) => Some("its picture cannot be decoded by this browser".to_owned()),
        (Some(library), None, _) if surface.has_uvs => Some(format!(
            "drop {library} and its picture together with it to see its colours"
        )),
        _ => None,
    };
    with(|app| {
        if app.view.reading == generation {
            app.take_surface(name, &surface, image.as_ref(), remark);
        }
    });
}

async fn picture_of(surface: &Surface, beside: &[File]) -> Option<Blob> {
    if let Some(bytes) = &surface.picture {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes.as_slice()));
        return Blob::new_with_u8_array_sequence(&parts).ok();
    }
    let mut named = Vec::new();
    if let Some(library) = beside.iter().find(|file| ends(file, &[".mtl"])) {
        let text = wasm_bindgen_futures::JsFuture::from(library.text()).await.ok()?;
        named = pictures(&text.as_string()?);
    }
    let is_named = |file: &&File| {
        let leaf = |path: &String| path.rsplit(['/', '\\']).next() == Some(file.name().as_str());
        named.iter().any(leaf)
    };
    let mut pictures = beside.iter().filter(|file| ends(file, &PICTURES));
    let found = pictures.clone().find(is_named).or_else(|| pictures.next());
    found.map(|file| file.clone().unchecked_into())
}

impl App {
    fn take_surface(
        &mut self,
        name: &str,
        surface: &Surface,
        image: Option<&web_sys::HtmlImageElement>,
        remark: Option<String>,
    ) {
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        // A model of the run takes the place of the one before; a file of the reader's comes beside it.
        let of_run = self.view.is_loading();
        let made = GpuMesh::new(&renderer.gl, surface, image);
        let is_there = made.is_ok();
        match made {
            Ok(mut mesh) => {
                mesh.of_run = of_run;
                if of_run {
                    let models = [renderer.model.take(), self.view.incoming.take()];
                    for model in models.into_iter().flatten() {
                        model.delete(&renderer.gl);
                    }
                    self.view.shown = 0;
                    if let Some(worker) = &self.view.worker {
                        worker.keep(&[self.view.kept.number]);
                    }
                    self.view.subject = self.view.coming.clone();
                    self.view.loaded_ms = Some(dom::now_ms() - self.view.began_ms);
                    self.view.skipped = 0;
                }
                let old = renderer.mesh.replace(mesh);
                if let Some(old) = &old {
                    old.delete(&renderer.gl);
                }
                let was_of_run = old.is_some_and(|old| old.of_run);
                let goes_on = of_run && was_of_run;
                if let (true, false, Some(source)) = (was_of_run, of_run, &self.view.source) {
                    self.view.subject = source.subject();
                    self.view.coming = self.view.subject.clone();
                }
                // Without splats there is nothing that it could be compared with.
                let alone = renderer.model.is_none() && !of_run;
                // The name alone: the folders have no room.
                self.view.mesh_name = name.rsplit('/').next().unwrap_or(name).to_owned();
                if !goes_on {
                    self.view.mesh = MeshLook {
                        place: if alone { Place::Alone } else { Place::Over },
                        shaded: !surface.has_colors && image.is_none(),
                        ..MeshLook::default()
                    };
                }
                let mut sampler = Sampler::new(surface.n_triangles() * 3);
                let corners = surface.positions.as_chunks::<3>().0.iter().copied();
                self.view.sample = Sample::default();
                self.view.sample.add(&sampler.choose(corners));
                self.frame_model();
                self.unsay("model");
                if let Some(remark) = remark {
                    self.say("model", &format!("{name}: {remark}."));
                }
            }
            Err(why) => {
                self.view.coming = self.view.subject.clone();
                self.say("model", &format!("{name}: {why}."));
            }
        }
        self.view.dirty = true;
        if of_run {
            self.view.progress = None;
            self.model_ended(is_there);
        } else {
            self.show_progress();
            self.show_side();
        }
    }

    /// Takes the triangles of the run off the screen, where a model of splats came instead.
    pub(super) fn drop_run_mesh(&mut self) {
        let mesh = self.renderer.as_ref().and_then(|renderer| renderer.mesh.as_ref());
        if mesh.is_some_and(|mesh| mesh.of_run) {
            self.drop_mesh();
        }
    }

    /// Takes the mesh off the screen.
    pub(super) fn drop_mesh(&mut self) {
        if let Some(renderer) = &mut self.renderer
            && let Some(mesh) = renderer.mesh.take()
        {
            mesh.delete(&renderer.gl);
        }
        self.view.dirty = true;
        self.show_progress();
        self.show_side();
    }

    /// Draws the panel's part anew.
    pub(super) fn show_mesh(&self) {
        let mesh = self.renderer.as_ref().and_then(|renderer| renderer.mesh.as_ref());
        dom::show("mesh-block", mesh.is_some());
        let Some(mesh) = mesh else {
            return;
        };
        let look = &self.view.mesh;
        let triangles = count(f64::from(mesh.n_triangles));
        dom::set_text(
            "mesh-value",
            &format!("{} · {triangles} triangles", self.view.mesh_name),
        );
        let places = Place::ALL.map(|(place, id, title)| button("mesh-place", id, title, place == look.place, ""));
        dom::set_html("mesh-places", &places.concat());
        dom::select(
            "mesh-style",
            match (look.normals, look.shaded) {
                (true, _) => "normals",
                (false, true) => "shaded",
                (false, false) => "colours",
            },
        );
        if let Some(wires) = dom::input_by_id("mesh-wires") {
            wires.set_checked(look.wires);
        }
        if let Some(share) = dom::input_by_id("mesh-share") {
            share.set_value(&format!("{:.2}", look.share));
            share.set_disabled(look.place == Place::Alone);
        }
    }

    /// Takes a choice about the mesh.
    pub(super) fn set_mesh(&mut self, what: &str, value: &str) {
        let look = &mut self.view.mesh;
        match what {
            "mesh-place" => {
                look.place = Place::of_name(value);
                look.share = if look.place == Place::Wipe { 0.5 } else { 1.0 };
            }
            "mesh-style" => (look.normals, look.shaded) = (value == "normals", value == "shaded"),
            "mesh-share" => look.share = crate::number::parse(value).map_or(1.0, |share| share.clamp(0.0, 1.0)) as f32,
            _ => look.wires = value == "true",
        }
        self.view.dirty = true;
        self.show_mesh();
    }
}
