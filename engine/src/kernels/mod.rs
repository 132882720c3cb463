//! One file per kernel family: its shader and bindings, its push constants, its group rule, its `record` function. The
//! CPU twin of each, the reference in the tests, has the same name under [`cpu`]; the GLSL has it in `shaders/`.

pub mod begin;
pub mod conv3x3;
pub mod counters;
pub mod cpu;
pub mod cull;
pub mod filter_3d;
pub mod loss;
pub mod lpips;
pub mod max_pool2x2;
pub mod opacity_reset;
pub mod project;
pub mod radix_sort;
pub mod rasterize;
pub mod rasterize_backward;
pub mod tile_intersect;
pub mod tile_ranges;
pub mod uniforms;
pub mod update;
pub mod views;
