//! One file per kernel family: its group rule and its `record` function. What a kernel binds and takes is declared by its
//! GLSL in `shaders/` and stands in [`generated`]; the CPU twin, the reference in the tests, is under `kiln_twins`.

pub mod alpha_loss;
pub mod bands;
pub mod bound;
pub mod camera_cull;
pub mod catch_up;
pub mod conv3x3;
pub mod counters;
pub mod cull;
pub mod densify;
pub mod density_terms;
pub mod depth_loss;
pub mod depth_mask;
pub mod error_guided;
pub mod exposure;
pub mod fading;
pub mod filter_3d;
pub mod fusion;
pub mod generated;
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
pub mod morton;
pub mod move_rows;
pub mod neighbor_loss;
pub mod neighbor_of;
pub mod neighbors;
pub mod normal_map_loss;
pub mod opacity_reset;
pub mod plane_loss;
pub mod pose;
pub mod position_noise;
pub mod prepare_args;
pub mod probe;
pub mod project;
pub mod radix_sort;
pub mod rasterize;
pub mod rasterize_backward;
pub mod reference;
pub mod surface_depth;
pub mod swaths;
pub mod tile_intersect;
pub mod tile_ranges;
pub mod tile_survey;
pub mod triangles;
pub mod uniforms;
pub mod update;
pub mod vertex_colors;
pub mod views;

pub use generated::ALL;
use generated::common;
use kiln_gaussians::layout;

/// Most storage buffers that a pass of the steps that train planes of Gaussians, or with terms of the density, binds; other passes bind
/// 16 at most, which every device has to have.
pub const SURFACE_BINDINGS: u32 = 19;

// The model's layout stands in `gaussians`, which knows no kernels.
const _: () = {
    assert!(layout::GEOMETRY_PLANES == common::GEOMETRY_PLANES);
    assert!(layout::PLANE_MEANS == common::PLANE_MEANS);
    assert!(layout::PLANE_QUATS == common::PLANE_QUATS);
    assert!(layout::PLANE_SCALES == common::PLANE_SCALES);
    assert!(layout::PLANE_OPACITY == common::PLANE_OPACITY);
    assert!(layout::PLANE_TURN == common::PLANE_TURN);
    assert!(layout::BOUND_LEARNED_PLANES == common::BOUND_LEARNED_PLANES);
    assert!(layout::BOUND_PULL_PLANES == common::BOUND_PULL_PLANES);
    assert!(layout::STATISTICS_PLANES == common::STATISTICS_PLANES);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_bind_no_more_than_devices_are_asked_for() {
        let most = |surface: bool| {
            let of_surfaces = |name: &str| name.ends_with("surface") || name.ends_with("dense");
            let kernels = ALL.iter().filter(|shader| of_surfaces(shader.name) == surface);
            kernels.map(|shader| shader.bindings.len()).max()
        };
        assert_eq!([most(true), most(false)], [Some(SURFACE_BINDINGS as usize), Some(16)]);
    }
}
