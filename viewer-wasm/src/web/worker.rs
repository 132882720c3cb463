//! The worker: reads files of models, and makes the draw order. Both its side and the page's.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Float32Array, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;
use web_sys::{Event, File, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::dom;
use crate::formats::Reader;
use crate::framing::Sampler;
use crate::pack::balls;
use crate::ply::{self, Batch, Model};
use crate::sort::{Sight, Sorter};
use crate::surface::Surface;

/// An object for JavaScript.
fn object(fields: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (key, value) in fields {
        let _ = Reflect::set(&object, &(*key).into(), value);
    }
    object
}

/// The worker's side: a file, and the positions of its splats.
#[wasm_bindgen]
pub struct Reading {
    reader: Reader,
    sorter: Sorter,
    sampler: Sampler,
    begun: bool,
    got: u64,
    /// Read and not taken yet, the next last.
    ready: Vec<Batch>,
}

#[wasm_bindgen]
impl Reading {
    /// Begins to read a file called `name`.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str) -> Self {
        Self {
            reader: Reader::new(name),
            sorter: Sorter::default(),
            sampler: Sampler::default(),
            begun: false,
            got: 0,
            ready: Vec::new(),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// A sentence when they show that the file cannot be drawn.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.got += bytes.len() as u64;
        if self.got > ply::MAX_BYTES {
            return Err(ply::too_large(self.got));
        }
        self.reader.push(bytes)
    }

    /// The end of the file: `{ splats, skipped, warning, surface }`. What it still brings is to be taken.
    ///
    /// # Errors
    /// A sentence when it holds nothing that can be drawn.
    pub fn finish(&mut self) -> Result<JsValue, String> {
        let warning = self.reader.finish()?;
        let surface = self.reader.take_surface().map(|surface| surface_object(&surface));
        let end = object(&[
            ("splats", self.reader.len().into()),
            ("skipped", self.reader.skipped().into()),
            ("warning", warning.into()),
            ("surface", surface.into()),
        ]);
        Ok(end.into())
    }

    /// What was read: first `{ model }`, then pieces `{ first, geometry, sh_first, sh, sample }`; `undefined` when all is
    /// taken.
    pub fn take(&mut self) -> JsValue {
        let Some(model) = self.reader.model() else {
            return JsValue::UNDEFINED;
        };
        if !std::mem::replace(&mut self.begun, true) {
            self.sorter = Sorter::with_capacity(model.count as usize);
            self.sampler = Sampler::new(model.count);
            return model_object(&model, None);
        }
        if self.ready.is_empty() {
            self.ready = self.reader.take_ready();
            self.ready.reverse();
        }
        let Some(batch) = self.ready.pop() else {
            return JsValue::UNDEFINED;
        };
        self.sorter.add(balls(&batch.geometry));
        let sample = self.sampler.choose(balls(&batch.geometry).map(|(centre, _)| centre));
        piece_object(&batch, &sample)
    }

    /// Indices from far to near, for what [`Sight::words`] says is seen.
    pub fn sort(&mut self, sight: &[f32]) -> Uint32Array {
        Uint32Array::from(self.sorter.sort(&Sight::of_words(sight)))
    }
}

/// What is said of a model first; of a streamed one also the splats of its finest level.
pub(super) fn model_object(model: &Model, finest: Option<u32>) -> JsValue {
    let numbers = model.numbers().map(JsValue::from).into_iter().collect::<Array>();
    object(&[("model", numbers.into()), ("finest", finest.into())]).into()
}

pub(super) fn piece_object(batch: &Batch, sample: &[f32]) -> JsValue {
    object(&[
        ("first", batch.first.into()),
        ("geometry", Uint32Array::from(batch.geometry.as_slice()).into()),
        ("sh_first", batch.sh_first.into()),
        ("sh", Uint32Array::from(batch.sh.as_slice()).into()),
        ("sample", Float32Array::from(sample).into()),
    ])
    .into()
}

fn surface_object(surface: &Surface) -> JsValue {
    object(&[
        ("corners", Uint8Array::from(surface.corners.as_slice()).into()),
        ("positions", Float32Array::from(surface.positions.as_slice()).into()),
        ("has_colors", surface.has_colors.into()),
        ("has_uvs", surface.has_uvs.into()),
        ("picture", surface.picture.as_deref().map(Uint8Array::from).into()),
        ("library", surface.library.clone().into()),
    ])
    .into()
}

/// What an object holds under a key.
pub(super) fn field(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &key.into()).unwrap_or_default()
}

fn number(object: &JsValue, key: &str) -> Option<f64> {
    field(object, key).as_f64()
}

fn surface_of(object: &JsValue) -> Option<Surface> {
    let bytes = |key: &str| field(object, key).dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
    Some(Surface {
        corners: bytes("corners")?,
        positions: field(object, "positions").dyn_ref::<Float32Array>()?.to_vec(),
        has_colors: field(object, "has_colors").is_truthy(),
        has_uvs: field(object, "has_uvs").is_truthy(),
        picture: bytes("picture"),
        library: field(object, "library").as_string(),
    })
}

/// Milliseconds of the fastest of five sorts of `count` splats, all of them seen.
pub(super) fn bench(count: u32) -> f64 {
    let mut sorter = Sorter::with_capacity(count as usize);
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    sorter.add((0..count).map(|_| ([next(), next(), next()], 0.001)));
    let wide = [-1e3, 1e3];
    let sight = Sight {
        rows: [[0.8, 0.0, -0.6, 0.0], [0.0, 1.0, 0.0, 0.0], [0.36, 0.48, 0.8, 2.0]],
        slopes: [wide; 2],
        reach: [4.0; 2],
        focal: 1000.0,
    };
    let time = |_| {
        let start = dom::now_ms();
        sorter.sort(&sight);
        dom::now_ms() - start
    };
    (0..5).map(time).fold(f64::MAX, f64::min)
}

/// Splats in the words of the textures, on their way to the graphics device.
pub(super) struct Piece {
    pub(super) first: u32,
    pub(super) geometry: Uint32Array,
    pub(super) sh_first: u32,
    pub(super) sh: Uint32Array,
    /// Some of the centres, three numbers each.
    pub(super) sample: Vec<f32>,
}

/// How the reading of a file ended.
pub(super) struct Outcome {
    pub(super) splats: u32,
    pub(super) skipped: u32,
    pub(super) warning: Option<String>,
    /// The mesh that the file held instead of splats.
    pub(super) surface: Option<Surface>,
}

/// Why a file could not be read.
pub(super) enum Failure {
    /// The server's answer; 0 when there was none.
    Status(u16),
    Reason(String),
}

/// What the worker says of a model.
pub(super) enum Said {
    Order {
        id: u32,
        order: Uint32Array,
        ms: f64,
    },
    /// Of a streamed one also the splats of its finest level.
    Model(Model, Option<u32>),
    Piece(Piece),
    /// Of a streamed model: splats that are held and that are drawn, and levels still to come.
    News([u32; 3]),
    /// A part of a streamed model does not come, or came after all.
    Lost(Option<String>),
    Share,
    End(Result<Outcome, Failure>),
    /// It works no more.
    Broke,
}

impl Said {
    fn of(data: &JsValue) -> Self {
        let count = |key: &str| number(data, key).unwrap_or(0.0) as u32;
        let words = |key: &str| field(data, key).dyn_into::<Uint32Array>().ok();
        if let Some(order) = words("order") {
            let (id, ms) = (count("id"), number(data, "ms").unwrap_or(0.0));
            return Self::Order { id, order, ms };
        }
        if let Some(geometry) = words("geometry") {
            return Self::Piece(Piece {
                first: count("first"),
                geometry,
                sh_first: count("sh_first"),
                sh: words("sh").unwrap_or_default(),
                sample: field(data, "sample")
                    .dyn_ref::<Float32Array>()
                    .map(Float32Array::to_vec)
                    .unwrap_or_default(),
            });
        }
        if let Some(numbers) = field(data, "model").dyn_ref::<Array>() {
            let model = Model::of_numbers(std::array::from_fn(|at| numbers.get(at as u32).as_f64().unwrap_or(0.0)));
            return Self::Model(model, number(data, "finest").map(|finest| finest as u32));
        }
        if number(data, "held").is_some() {
            return Self::News(["held", "shown", "pending"].map(count));
        }
        let lost = field(data, "lost");
        if !lost.is_undefined() {
            return Self::Lost(lost.as_string());
        }
        let end = field(data, "end");
        if end.is_object() {
            return Self::End(Ok(Outcome {
                splats: number(&end, "splats").unwrap_or(0.0) as u32,
                skipped: number(&end, "skipped").unwrap_or(0.0) as u32,
                warning: field(&end, "warning").as_string(),
                surface: surface_of(&field(&end, "surface")),
            }));
        }
        let failed = field(data, "failed");
        if let Some(status) = failed.as_f64() {
            return Self::End(Err(Failure::Status(status as u16)));
        }
        if !failed.is_undefined() {
            let reason = failed
                .as_string()
                .unwrap_or_else(|| "the browser cannot read it".to_owned());
            return Self::End(Err(Failure::Reason(reason)));
        }
        if field(data, "broke").is_undefined() {
            Self::Share
        } else {
            Self::Broke
        }
    }
}

/// The page's side.
pub(super) struct WorkerClient {
    worker: Worker,
    next_id: u32,
}

impl WorkerClient {
    /// Starts the worker; `hear` is called with a model's number, what is said of it, and the share of its file that was
    /// read.
    pub(super) fn new(hear: impl FnMut(u32, Said, Option<f64>) + 'static) -> Option<Self> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options("./worker.js", &options).ok()?;
        let hear = Rc::new(RefCell::new(hear));
        let ended = Rc::clone(&hear);
        dom::on(&worker, "error", move |_: Event| {
            (ended.borrow_mut())(0, Said::Broke, None);
        });
        dom::on(&worker, "message", move |event: MessageEvent| {
            let data = event.data();
            let of = number(&data, "number").unwrap_or(0.0) as u32;
            (hear.borrow_mut())(of, Said::of(&data), number(&data, "share"));
        });
        Some(Self { worker, next_id: 1 })
    }

    fn post(&self, fields: &[(&str, JsValue)]) {
        let _ = self.worker.post_message(&object(fields));
    }

    /// Reads a file of the server or of the reader, of `stated` bytes; all models but `kept` are forgotten.
    /// Of a streamed model no more than a budget of splats is held.
    pub(super) fn read(
        &self,
        number: u32,
        name: &str,
        stated: u64,
        from: Result<(&str, bool), &File>,
        kept: &[u32],
        budget: u32,
    ) {
        let mut fields = vec![
            ("budget", budget.into()),
            ("kind", "read".into()),
            ("number", number.into()),
            ("name", name.into()),
            ("stated", (stated as f64).into()),
            ("kept", Uint32Array::from(kept).into()),
        ];
        match from {
            Ok((url, fresh)) => fields.extend([("url", url.into()), ("fresh", fresh.into())]),
            Err(file) => fields.push(("file", file.into())),
        }
        self.post(&fields);
    }

    /// Forgets all models but these, and gives up reading any other.
    pub(super) fn keep(&self, kept: &[u32]) {
        self.post(&[("kind", "keep".into()), ("kept", Uint32Array::from(kept).into())]);
    }

    /// A piece was taken: the next may come.
    pub(super) fn taken(&self) {
        self.post(&[("kind", "taken".into())]);
    }

    /// Asks for an order and gives the number that it will carry.
    pub(super) fn sort(&mut self, number: u32, sight: &Sight) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.post(&[
            ("kind", "sort".into()),
            ("number", number.into()),
            ("id", id.into()),
            ("sight", Float32Array::from(sight.words().as_slice()).into()),
        ]);
        id
    }
}
