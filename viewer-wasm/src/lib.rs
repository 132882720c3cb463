//! Kiln's viewer: the splats, curves and evaluation pictures of training runs, in any browser with WebGL2.
//!
//! Owns the page that `kiln view` and static web servers serve; `PROTOCOL.md` says what it asks of them. Everything but
//! `web` works without a browser and is tested there: reading files, packing, sorting, cameras, axes, tables. `web` puts
//! it on the page: one state (`web::app::App`), events that name their action, requests, and the drawing.

mod address;
mod camera;
mod chart;
mod error_map;
mod formats;
mod framing;
mod frustum;
mod html;
mod json;
mod levels;
mod lines;
mod math;
mod navigate;
mod number;
mod order;
mod pace;
mod pack;
mod ply;
mod report;
mod run;
mod slim;
mod sort;
mod splat;
mod style;
mod surface;
mod web;
mod wipe;

pub use web::{Paging, Reading, picture, sort_bench, start, status};
