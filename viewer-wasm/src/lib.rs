//! Kiln's viewer.

mod address;
mod camera;
mod frustum;
mod json;
mod lines;
mod math;
mod navigate;
mod pack;
mod ply;
mod run;
mod sort;
mod splat;
