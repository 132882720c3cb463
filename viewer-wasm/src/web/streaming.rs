//! Streamed models: the worker's side of one, and what the page makes of what it says.

use js_sys::{Array, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use super::app::App;
use super::dom;
use super::model::GpuModel;
use super::worker::{Piece, model_object, piece_object};
use crate::levels::pager::Pager;
use crate::sort::Sight;

/// Most splats that are held, where the address says nothing else, on devices with a mouse and without.
const BUDGET: [u32; 2] = [3_000_000, 1_000_000];
/// Least and most that the address may say.
const BUDGETS: [f64; 2] = [64.0, 16_000_000.0];

/// A streamed model in the worker.
#[wasm_bindgen]
pub struct Paging {
    pager: Pager,
    begun: bool,
}

#[wasm_bindgen]
impl Paging {
    /// Of its `lod-meta.json`, with a budget of splats.
    ///
    /// # Errors
    /// A sentence when that describes nothing that can be shown.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &[u8], budget: u32) -> Result<Self, String> {
        Ok(Self {
            pager: Pager::new(text, budget)?,
            begun: false,
        })
    }

    /// Number of the chunk to fetch next.
    pub fn next_chunk(&mut self) -> Option<u32> {
        self.pager.next_chunk().map(|chunk| chunk as u32)
    }

    /// Where its description lies, from the folder of `lod-meta.json`, percent-encoded.
    pub fn path(&self, chunk: u32) -> String {
        self.pager.path(chunk as usize).to_owned()
    }

    /// Takes the description of a chunk: where its images lie.
    ///
    /// # Errors
    /// A sentence when it makes no sense.
    pub fn describe(&mut self, chunk: u32, text: &[u8]) -> Result<Vec<String>, String> {
        self.pager.describe(chunk as usize, text)
    }

    /// Takes its images.
    ///
    /// # Errors
    /// A sentence when they are not what the description says.
    pub fn come(&mut self, chunk: u32, files: &Array) -> Result<(), String> {
        let files: Vec<Vec<u8>> = files.iter().map(|file| Uint8Array::new(&file).to_vec()).collect();
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        self.pager.come(chunk as usize, &files)
    }

    /// Goes on without a chunk.
    pub fn lose(&mut self, chunk: u32) {
        self.pager.lose(chunk as usize);
    }

    /// Has it asked for again.
    pub fn forgive(&mut self, chunk: u32) {
        self.pager.forgive(chunk as usize);
    }

    /// What goes to the page next, as [`super::worker::Reading::take`] gives it.
    pub fn take(&mut self) -> JsValue {
        let Some(model) = self.pager.model() else {
            return JsValue::UNDEFINED;
        };
        if !std::mem::replace(&mut self.begun, true) {
            return model_object(&model, Some(self.pager.finest()));
        }
        let piece = self.pager.take();
        piece.map_or(JsValue::UNDEFINED, |(batch, sample)| piece_object(&batch, &sample))
    }

    /// What [`Pager::news`] says.
    pub fn news(&mut self) -> Option<Vec<u32>> {
        self.pager.news().map(Vec::from)
    }

    /// Share of what the first whole picture takes.
    pub fn share(&self) -> f64 {
        self.pager.share()
    }

    /// Indices from far to near, for what [`Sight::words`] says is seen.
    pub fn sort(&mut self, sight: &[f32]) -> Uint32Array {
        Uint32Array::from(self.pager.sort(&Sight::of_words(sight)))
    }
}

/// What the page knows of a streamed model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streamed {
    /// Splats of the finest level.
    pub(super) finest: u32,
    /// Splats of all levels that are drawn.
    pub(super) shown: u32,
    /// Levels still to come.
    pub(super) pending: u32,
}

impl App {
    /// Most splats of a streamed model that are held.
    pub(super) fn budget(&self) -> u32 {
        let [least, most] = BUDGETS;
        let stated = self.address.number("budget");
        stated.map_or(BUDGET[usize::from(dom::is_handheld())], |stated| {
            stated.clamp(least, most) as u32
        })
    }

    /// The streamed model of a number that is on the screen, kept, or about to come there.
    fn streamed(&mut self, number: u32) -> Option<&mut GpuModel> {
        let renderer = self.renderer.as_mut()?;
        let models = [&mut self.view.incoming, &mut renderer.model, &mut renderer.kept.model];
        models
            .into_iter()
            .flatten()
            .find(|model| model.number == number && model.streamed.is_some())
    }

    /// Takes a piece that is not of a model's first reading.
    pub(super) fn add_later(&mut self, number: u32, piece: &Piece) {
        let gl = self.renderer.as_ref().map(|renderer| renderer.gl.clone());
        if let (Some(gl), Some(model)) = (gl, self.streamed(number)) {
            model.upload(&gl, piece);
        }
    }

    /// Takes what the worker says of what it holds: the next order shows it.
    pub(super) fn take_news(&mut self, number: u32, [held, shown, pending]: [u32; 3]) {
        if let Some(model) = self.streamed(number) {
            model.loaded = held;
            model.streamed = model.streamed.map(|streamed| Streamed {
                shown,
                pending,
                ..streamed
            });
        }
        self.view.kept.asked.forget();
        self.view.resort();
    }

    /// Names a part that does not come; the coarser level stays.
    pub(super) fn take_lost(&mut self, lost: Option<String>) {
        match lost {
            Some(what) => self.say("chunk", &format!("{what}; what stands for it is shown instead.")),
            None => self.unsay("chunk"),
        }
    }
}
