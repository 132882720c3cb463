//! Everything that needs a browser.

mod actions;
mod app;
mod beside;
mod curves;
mod dom;
mod evaluation;
mod frusta;
mod gl;
mod link;
mod live;
mod loading;
mod mesh;
mod model;
mod net;
mod orders;
mod photo;
mod pictures;
mod pointer;
mod renderer;
mod runs;
mod sidebar;
mod splats;
mod stand;
mod streaming;
mod subject;
mod surfaces;
mod table;
mod worker;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

pub use streaming::Paging;
pub use worker::Reading;

/// Builds the page and begins to load. `stored` says that the browser keeps the token, so that the address need not.
#[wasm_bindgen]
pub fn start(token: Option<String>, stored: bool) {
    app::start(token, stored);
}

/// How the page stands, as JSON.
#[wasm_bindgen]
pub fn status() -> String {
    app::with(|app| app.status_json()).unwrap_or_default()
}

/// The picture of a camera of the scene at its own resolution: `{width, height, rgba}`.
#[wasm_bindgen]
pub fn picture(name: &str) -> Promise {
    orders::picture_promise(name)
}

/// Milliseconds of the fastest of five sorts of `count` splats in this instance.
#[wasm_bindgen]
pub fn sort_bench(count: u32) -> f64 {
    worker::bench(count)
}
