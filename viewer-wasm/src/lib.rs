//! Kiln's viewer.

mod math;
mod pack;
mod ply;
mod sort;
mod splat;
