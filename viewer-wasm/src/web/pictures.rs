//! The two pictures of an evaluated view: photograph, render, how many Gaussians its tiles hold, and the difference of the
//! first two, which is computed here.

use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::Clamped;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement, ImageData};

use super::app::{App, with};
use super::dom;
use super::renderer::Shot;
use super::runs::decoded;
use crate::error_map::error_picture;
use crate::math::pow;

/// Sides of the stage, left to right.
const SIDES: [&str; 2] = ["picture-left", "picture-right"];
/// Binary logarithm of the gain at first, so that a quarter of the range is as bright as can be.
const GAIN_LOG2: i32 = 2;

/// Addresses of photograph, render and density; the last is empty while it is not shown.
type Files = [String; 3];

/// What the stage shows.
pub(super) struct Pictures {
    /// What is to be shown, and what is there.
    wanted: Files,
    held: Files,
    /// RGBA of each, and their size.
    pixels: [Vec<u8>; 3],
    size: [u32; 2],
    gain_log2: i32,
}

impl Default for Pictures {
    fn default() -> Self {
        Self {
            wanted: Files::default(),
            held: Files::default(),
            pixels: Default::default(),
            size: [0; 2],
            gain_log2: GAIN_LOG2,
        }
    }
}

impl App {
    /// Shows `kinds` of a view, whose pictures lie at `files`.
    pub(super) fn show_pair(&mut self, mut files: Files, kinds: [&str; 2]) {
        dom::show("error-bar", kinds.contains(&"error"));
        dom::show("density-bar", kinds.contains(&"density"));
        let pictures = &mut self.pictures;
        if !kinds.contains(&"density") {
            // One that is there stays.
            files[2] = match pictures.held[..2] == files[..2] {
                true => std::mem::take(&mut pictures.held[2]),
                false => String::new(),
            };
            pictures.held[2].clone_from(&files[2]);
        }
        pictures.wanted.clone_from(&files);
        if pictures.held == files {
            self.paint();
            return;
        }
        spawn_local(async move {
            let mut read = Vec::new();
            for url in files.iter().filter(|url| !url.is_empty()) {
                let image = decoded(url).await;
                read.push(image.and_then(|image| pixels_of(&image).ok()));
            }
            with(|app| app.take_pictures(files, read));
        });
    }

    /// Draws the camera of a view with the model on the screen, and shows that alone.
    pub(super) fn show_own_render(&mut self, camera: &str) {
        let Some(camera) = self.camera(camera) else {
            return;
        };
        let shot = Shot {
            pose: camera.pose,
            lens: camera.lens,
        };
        let wanted = [String::new(), camera.name.clone(), String::new()];
        self.pictures.wanted.clone_from(&wanted);
        let done = Box::new(move |result: Result<JsValue, JsValue>| {
            // The order that it waited for is being taken: painting comes after.
            spawn_local(async move {
                with(|app| match result.and_then(|picture| rgba_of(&picture)) {
                    Ok((rgba, size)) if app.pictures.wanted == wanted => {
                        app.pictures.held = Files::default();
                        let _ = put(SIDES[0], &rgba, size);
                    }
                    _ => {}
                });
            });
        });
        self.order_picture(shot, done);
    }

    fn take_pictures(&mut self, files: Files, read: Vec<Option<(Vec<u8>, [u32; 2])>>) {
        let pictures = &mut self.pictures;
        if pictures.wanted != files {
            return;
        }
        let names = ["photo", "render", "density picture"];
        let missing = read.iter().zip(names).find(|(one, _)| one.is_none());
        let size = read.iter().flatten().map(|one| one.1).next().unwrap_or_default();
        let why = if let Some((_, name)) = missing {
            format!(
                "The {name} of this view could not be read; `kiln eval RUN --write` makes the pictures of a run anew."
            )
        } else if read.iter().flatten().any(|one| one.1 != size) {
            "The pictures of this view have different sizes.".to_owned()
        } else {
            let mut all = read.into_iter().flatten().map(|one| one.0);
            pictures.pixels = std::array::from_fn(|_| all.next().unwrap_or_default());
            (pictures.size, pictures.held) = (size, files);
            self.unsay("pictures");
            self.paint();
            return;
        };
        pictures.held = Files::default();
        self.say("pictures", &why);
    }

    fn paint(&mut self) {
        let kinds = self.evaluation.kinds();
        let Pictures {
            pixels: [photo, render, density],
            size,
            gain_log2,
            ..
        } = &self.pictures;
        let gain = pow(2.0, f64::from(*gain_log2)) as f32;
        for (id, kind) in SIDES.into_iter().zip(kinds) {
            let painted = match kind {
                "gt" => put(id, photo, *size),
                "render" => put(id, render, *size),
                "density" => put(id, density, *size),
                _ => put(id, &error_picture(photo, render, gain), *size),
            };
            if painted.is_err() {
                self.say("pictures", "The browser could not draw the pictures of this view.");
                return;
            }
        }
        dom::set_text("error-most", &format!("≥ {:.3}", 1.0 / gain));
        dom::set_text("gain-value", &format!("×{gain:.0}"));
    }

    /// Takes the binary logarithm of the gain.
    pub(super) fn set_gain(&mut self, value: &str) {
        self.pictures.gain_log2 = value.parse().unwrap_or(GAIN_LOG2);
        self.paint();
    }
}

fn context_of(canvas: &HtmlCanvasElement) -> Result<CanvasRenderingContext2d, JsValue> {
    let context = canvas.get_context("2d")?.ok_or("no context")?;
    Ok(context.dyn_into()?)
}

fn pixels_of(image: &HtmlImageElement) -> Result<(Vec<u8>, [u32; 2]), JsValue> {
    let document = dom::document().ok_or("no document")?;
    let canvas: HtmlCanvasElement = document.create_element("canvas")?.dyn_into()?;
    let (width, height) = (image.natural_width(), image.natural_height());
    canvas.set_width(width);
    canvas.set_height(height);
    let context = context_of(&canvas)?;
    context.draw_image_with_html_image_element(image, 0.0, 0.0)?;
    let data = context.get_image_data(0.0, 0.0, f64::from(width), f64::from(height))?;
    Ok((data.data().0, [width, height]))
}

/// Pixels and size of `{width, height, rgba}`.
pub(super) fn rgba_of(picture: &JsValue) -> Result<(Vec<u8>, [u32; 2]), JsValue> {
    let get = |key: &str| Reflect::get(picture, &key.into());
    let side = |key: &str| Ok::<u32, JsValue>(get(key)?.as_f64().unwrap_or(0.0) as u32);
    let size = [side("width")?, side("height")?];
    Ok((Uint8Array::new(&get("rgba")?).to_vec(), size))
}

fn put(id: &str, rgba: &[u8], [width, height]: [u32; 2]) -> Result<(), JsValue> {
    let canvas: HtmlCanvasElement = dom::by_id(id).ok_or("no canvas")?.dyn_into()?;
    canvas.set_width(width);
    canvas.set_height(height);
    let data = ImageData::new_with_u8_clamped_array_and_sh(Clamped(rgba), width, height)?;
    context_of(&canvas)?.put_image_data(&data, 0.0, 0.0)
}
