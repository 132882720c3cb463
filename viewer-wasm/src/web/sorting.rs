//! The draw order, made by a worker.

use js_sys::{Array, Float32Array, Object, Reflect, Uint32Array};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Worker, WorkerOptions, WorkerType};

use super::dom;
use crate::sort::Sorter;

/// The worker's side: positions of one model.
#[wasm_bindgen]
pub struct Sorting(Sorter);

#[wasm_bindgen]
impl Sorting {
    /// Room for `count` splats.
    #[wasm_bindgen(constructor)]
    pub fn new(count: u32) -> Self {
        Self(Sorter::with_capacity(count as usize))
    }

    /// Appends splats: x, y, z each.
    pub fn add(&mut self, positions: &[f32]) {
        self.0.add(positions);
    }

    /// Indices from far to near, for a row that gives a point's depth.
    pub fn sort(&mut self, a: f32, b: f32, c: f32, d: f32) -> Uint32Array {
        Uint32Array::from(self.0.sort([a, b, c, d]))
    }
}

/// Milliseconds of the fastest of five sorts of `count` splats.
pub(super) fn bench(count: u32) -> f64 {
    let mut sorter = Sorter::with_capacity(count as usize);
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    let positions: Vec<f32> = (0..count * 3).map(|_| next()).collect();
    sorter.add(&positions);
    let time = |_| {
        let start = dom::now_ms();
        sorter.sort([0.36, 0.48, 0.8, 2.0]);
        dom::now_ms() - start
    };
    (0..5).map(time).fold(f64::MAX, f64::min)
}

/// An order that came back.
pub(super) struct Sorted {
    pub(super) generation: u32,
    pub(super) id: u32,
    pub(super) order: Uint32Array,
    pub(super) ms: f64,
}

/// The page's side.
pub(super) struct SortClient {
    worker: Worker,
    next_id: u32,
}

impl SortClient {
    /// Starts the worker; `done` is called with each order.
    pub(super) fn new(
        mut done: impl FnMut(Sorted) + 'static,
        mut failed: impl FnMut(String) + 'static,
    ) -> Option<Self> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options("./sorter.js", &options).ok()?;
        dom::on(&worker, "message", move |event: MessageEvent| {
            let data = event.data();
            let number = |key: &str| {
                Reflect::get(&data, &key.into())
                    .ok()
                    .and_then(|v| v.as_f64())
                    .unwrap_or(0.0)
            };
            let order = Reflect::get(&data, &"order".into())
                .ok()
                .and_then(|v| v.dyn_into::<Uint32Array>().ok());
            match order {
                Some(order) => done(Sorted {
                    generation: number("generation") as u32,
                    id: number("id") as u32,
                    order,
                    ms: number("ms"),
                }),
                None => failed("The worker that sorts splats ran out of memory; open a model with fewer.".to_owned()),
            }
        });
        Some(Self { worker, next_id: 1 })
    }

    fn post(&self, fields: &[(&str, JsValue)], transfer: Option<&JsValue>) {
        let message = Object::new();
        for (key, value) in fields {
            let _ = Reflect::set(&message, &(*key).into(), value);
        }
        let _ = match transfer {
            Some(buffer) => self.worker.post_message_with_transfer(&message, &Array::of1(buffer)),
            None => self.worker.post_message(&message),
        };
    }

    /// A new model; the ones before `oldest` are forgotten.
    pub(super) fn begin(&self, generation: u32, count: u32, oldest: u32) {
        let fields = [
            ("kind", "begin".into()),
            ("generation", generation.into()),
            ("count", count.into()),
            ("oldest", oldest.into()),
        ];
        self.post(&fields, None);
    }

    pub(super) fn add(&self, generation: u32, positions: &[f32]) {
        let array = Float32Array::from(positions);
        let buffer: JsValue = array.buffer().into();
        let fields = [
            ("kind", "add".into()),
            ("generation", generation.into()),
            ("positions", array.into()),
        ];
        self.post(&fields, Some(&buffer));
    }

    /// Asks for an order and gives the number that it will carry.
    pub(super) fn sort(&mut self, generation: u32, row: [f32; 4]) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        let fields = [
            ("kind", "sort".into()),
            ("generation", generation.into()),
            ("id", id.into()),
            ("row", Float32Array::from(row.as_slice()).into()),
        ];
        self.post(&fields, None);
        id
    }
}
