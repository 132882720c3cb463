//! CPU twins: each kernel's mathematics on slices, in f32 or f64, the reference the GPU is tested against.
//!
//! One file per kernel family, named as its shader. Twins favour plain loops over speed: they define what a kernel
//! computes, including every constant, branch and order of evaluation that shows in the result. In f64 they are
//! checked against finite differences (see [`step`]); in f32 they are what a device result is compared with.
//!
//! Conventions shared by all of them:
//!
//! - pixel centres are integers: the principal point of a [`Camera`](kiln_scene::Camera) is shifted by one half;
//! - images are row-major slices of RGB triples, tiles are [`TILE`] pixels square, numbered row-major;
//! - matrices are row-major, quaternions are (w, x, y, z);
//! - a gradient always has the shape of the thing it is a gradient of.
//!
//! Twins do not validate: slice lengths are the caller's contract and stated by each function.

pub mod adam;
pub mod alpha_loss;
pub mod bands;
pub mod bound;
pub mod camera_cull;
pub mod catch_up;
pub mod codes;
pub mod conv3x3;
pub mod densify;
pub mod density_terms;
pub mod depth_loss;
pub mod depth_mask;
pub mod dropout;
pub mod error_guided;
pub mod exposure;
pub mod filter_3d;
pub mod fusion;
pub mod gaussian;
pub mod gradient_store;
pub mod guard_bands;
pub mod histogram;
pub mod level;
pub mod loss;
pub mod lpips;
pub mod max_pool2x2;
pub mod mcmc_relocate;
pub mod mesh_draw;
pub mod mesh_gather;
pub mod mesh_shade;
pub mod metrics;
pub mod morton;
pub mod neighbor_loss;
pub mod neighbors;
pub mod normal_map_loss;
pub mod opacity_reset;
pub mod plane_loss;
pub mod pose;
pub mod position_noise;
pub mod probe;
pub mod project;
pub mod project_backward;
pub mod radix_sort;
pub mod rasterize;
pub mod rasterize_backward;
pub mod regularize;
pub mod rng;
pub mod scan;
#[cfg(test)]
mod scenes;
pub mod sh;
pub mod statistics;
pub mod step;
pub mod stored_adam;
pub mod surface;
pub mod tile_intersect;
pub mod tile_ranges;
pub mod tile_survey;
pub mod triangles;
pub mod unscented;
pub mod vertex_colors;

/// Side of a square tile, pixels.
pub const TILE: u32 = 16;

/// Tiles across and down an image of the given size; border tiles may be partly outside.
#[must_use]
pub fn tile_grid(width_px: u32, height_px: u32) -> [u32; 2] {
    [width_px.div_ceil(TILE), height_px.div_ceil(TILE)]
}
