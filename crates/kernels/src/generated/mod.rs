//! What the shaders declare: for each source in `shaders` its bindings, push and specialisation constants, and a kernel
//! for each of its modules. Made by `cargo xtask shaders`.

pub mod alpha_loss;
pub mod band_count;
pub mod bind;
pub mod camera_cull;
pub mod catch_up;
pub mod common;
pub mod conv3x3;
pub mod cull;
pub mod densify_begin;
pub mod densify_births;
pub mod densify_children;
pub mod densify_count;
pub mod densify_decide;
pub mod densify_moves;
pub mod densify_prune;
pub mod densify_scan;
pub mod densify_score;
pub mod densify_select_count;
pub mod densify_select_pick;
pub mod density_farthest;
pub mod density_gather;
pub mod density_rows;
pub mod density_sum;
pub mod density_terms;
pub mod depth_loss;
pub mod depth_mask;
pub mod emit;
pub mod error_score;
pub mod exposure;
pub mod fill;
pub mod filter_3d;
pub mod filter_3d_apply;
pub mod fusion_integrate;
pub mod fusion_touch;
pub mod gradient_check;
pub mod gradient_fold;
pub mod gradient_store;
pub mod guard_bands;
pub mod histogram;
pub mod intersection_scan;
pub mod level_hits;
pub mod level_points;
pub mod loss_gradient;
pub mod loss_gradient_strip;
pub mod loss_reduce;
pub mod lpips_difference;
pub mod lpips_input;
pub mod max_pool2x2;
pub mod mcmc_copies;
pub mod mcmc_scan;
pub mod mcmc_share;
pub mod mcmc_weigh;
pub mod mesh_draw;
pub mod mesh_gather;
pub mod mesh_shade;
pub mod morton_begin;
pub mod morton_keys;
pub mod morton_places;
pub mod move_rows;
pub mod neighbor_boxes;
pub mod neighbor_count;
pub mod neighbor_gather;
pub mod neighbor_loss;
pub mod neighbor_map;
pub mod neighbor_patches;
pub mod neighbor_rows;
pub mod neighbor_search;
pub mod neighbor_starts;
pub mod neighbor_take;
pub mod normal_map_loss;
pub mod opacity_reset;
pub mod plane_gather;
pub mod plane_loss;
pub mod pose;
pub mod position_noise;
pub mod prepare_args;
pub mod probe;
pub mod project;
pub mod rasterize;
pub mod rasterize_backward;
pub mod rasterize_backward_lanes;
pub mod rasterize_lanes;
pub mod record_ids;
pub mod reference;
pub mod reorder;
pub mod sample_place;
pub mod sort_count;
pub mod sort_scan;
pub mod sort_scatter;
pub mod splat_clear;
pub mod ssim_maps;
pub mod ssim_strip;
pub mod surface_depth;
pub mod tile_order;
pub mod tile_ranges;
pub mod tile_sum;
pub mod tile_survey;
pub mod triangle_backward;
pub mod triangle_band;
pub mod triangle_cull;
pub mod triangle_emit;
pub mod triangle_finish;
pub mod triangle_fold;
pub mod triangle_gather;
pub mod triangle_normals;
pub mod triangle_project;
pub mod triangle_rasterize;
pub mod triangle_terms;
pub mod triangle_update;
pub mod unbind_triangles;
pub mod unbind_vertices;
pub mod update;
pub mod vertex_colors;
pub mod visible_scan;

use kiln_program::Shader;

/// Every shader.
pub static ALL: [&Shader; 180] = [
    &alpha_loss::KERNEL.shader,
    &alpha_loss::REDUCE.shader,
    &band_count::KERNEL.shader,
    &band_count::HISTOGRAM.shader,
    &bind::KERNEL.shader,
    &camera_cull::KERNEL.shader,
    &catch_up::KERNEL.shader,
    &conv3x3::KERNEL.shader,
    &cull::KERNEL.shader,
    &cull::BAND.shader,
    &densify_begin::KERNEL.shader,
    &densify_births::KERNEL.shader,
    &densify_children::KERNEL.shader,
    &densify_count::KERNEL.shader,
    &densify_decide::KERNEL.shader,
    &densify_moves::KERNEL.shader,
    &densify_prune::KERNEL.shader,
    &densify_scan::KERNEL.shader,
    &densify_score::KERNEL.shader,
    &densify_select_count::KERNEL.shader,
    &densify_select_pick::KERNEL.shader,
    &density_farthest::KERNEL.shader,
    &density_gather::KERNEL.shader,
    &density_rows::KERNEL.shader,
    &density_sum::KERNEL.shader,
    &density_sum::TOTAL.shader,
    &density_terms::KERNEL.shader,
    &density_terms::SDF.shader,
    &depth_loss::KERNEL.shader,
    &depth_loss::REDUCE.shader,
    &depth_mask::KERNEL.shader,
    &emit::KERNEL.shader,
    &error_score::KERNEL.shader,
    &exposure::KERNEL.shader,
    &exposure::UPDATE.shader,
    &exposure::GRADIENT.shader,
    &fill::KERNEL.shader,
    &filter_3d::KERNEL.shader,
    &filter_3d_apply::KERNEL.shader,
    &fusion_integrate::KERNEL.shader,
    &fusion_touch::KERNEL.shader,
    &gradient_check::KERNEL.shader,
    &gradient_check::SURFACE.shader,
    &gradient_fold::KERNEL.shader,
    &gradient_fold::SURFACE.shader,
    &gradient_store::LOAD.shader,
    &gradient_store::SAVE.shader,
    &gradient_store::CHECK.shader,
    &gradient_store::CLEAR.shader,
    &gradient_store::LOAD_SURFACE.shader,
    &gradient_store::SAVE_SURFACE.shader,
    &gradient_store::CHECK_SURFACE.shader,
    &gradient_store::CLEAR_SURFACE.shader,
    &guard_bands::KERNEL.shader,
    &histogram::KERNEL.shader,
    &intersection_scan::KERNEL.shader,
    &level_hits::KERNEL.shader,
    &level_points::KERNEL.shader,
    &loss_gradient::KERNEL.shader,
    &loss_gradient_strip::KERNEL.shader,
    &loss_reduce::KERNEL.shader,
    &lpips_difference::KERNEL.shader,
    &lpips_input::KERNEL.shader,
    &max_pool2x2::KERNEL.shader,
    &mcmc_copies::KERNEL.shader,
    &mcmc_scan::KERNEL.shader,
    &mcmc_share::KERNEL.shader,
    &mcmc_weigh::KERNEL.shader,
    &mesh_draw::KERNEL.shader,
    &mesh_draw::LARGE.shader,
    &mesh_gather::KERNEL.shader,
    &mesh_shade::KERNEL.shader,
    &morton_begin::KERNEL.shader,
    &morton_keys::KERNEL.shader,
    &morton_places::KERNEL.shader,
    &move_rows::GATHER.shader,
    &move_rows::SCATTER.shader,
    &neighbor_boxes::KERNEL.shader,
    &neighbor_boxes::UPPER.shader,
    &neighbor_count::KERNEL.shader,
    &neighbor_count::FILL.shader,
    &neighbor_gather::KERNEL.shader,
    &neighbor_loss::KERNEL.shader,
    &neighbor_loss::REDUCE.shader,
    &neighbor_map::KERNEL.shader,
    &neighbor_patches::KERNEL.shader,
    &neighbor_rows::KERNEL.shader,
    &neighbor_search::KERNEL.shader,
    &neighbor_starts::KERNEL.shader,
    &neighbor_starts::CLEAR.shader,
    &neighbor_starts::BEFORE.shader,
    &neighbor_starts::BLOCKS.shader,
    &neighbor_take::KERNEL.shader,
    &normal_map_loss::KERNEL.shader,
    &normal_map_loss::REDUCE.shader,
    &opacity_reset::KERNEL.shader,
    &plane_gather::KERNEL.shader,
    &plane_gather::PLAIN.shader,
    &plane_loss::KERNEL.shader,
    &plane_loss::EDGES.shader,
    &plane_loss::PLAIN.shader,
    &plane_loss::REDUCE.shader,
    &pose::KERNEL.shader,
    &pose::UPDATE.shader,
    &pose::GRADIENT.shader,
    &pose::GRADIENT_SURFACE.shader,
    &position_noise::KERNEL.shader,
    &prepare_args::KERNEL.shader,
    &probe::KERNEL.shader,
    &project::KERNEL.shader,
    &project::HALF.shader,
    &project::SURFACE.shader,
    &project::DEFERRED.shader,
    &project::HALF_SURFACE.shader,
    &rasterize::KERNEL.shader,
    &rasterize::COLUMN.shader,
    &rasterize::SURFACE.shader,
    &rasterize::COLUMN_SURFACE.shader,
    &rasterize_backward::ATOMIC.shader,
    &rasterize_backward::COLUMN.shader,
    &rasterize_backward::ATOMIC_SURFACE.shader,
    &rasterize_backward::COLUMN_SURFACE.shader,
    &rasterize_backward::COMPARE_EXCHANGE.shader,
    &rasterize_backward::COMPARE_EXCHANGE_SURFACE.shader,
    &rasterize_backward_lanes::KERNEL.shader,
    &rasterize_lanes::KERNEL.shader,
    &record_ids::KERNEL.shader,
    &reference::KERNEL.shader,
    &reorder::PUT.shader,
    &reorder::TAKE.shader,
    &sample_place::KERNEL.shader,
    &sort_count::KERNEL.shader,
    &sort_scan::KERNEL.shader,
    &sort_scatter::KERNEL.shader,
    &sort_scatter::SUBGROUP.shader,
    &splat_clear::KERNEL.shader,
    &splat_clear::SURFACE.shader,
    &ssim_maps::KERNEL.shader,
    &ssim_maps::METRICS.shader,
    &ssim_strip::KERNEL.shader,
    &surface_depth::KERNEL.shader,
    &tile_order::KERNEL.shader,
    &tile_ranges::KERNEL.shader,
    &tile_sum::KERNEL.shader,
    &tile_survey::KERNEL.shader,
    &triangle_backward::KERNEL.shader,
    &triangle_backward::EXACT.shader,
    &triangle_band::KERNEL.shader,
    &triangle_band::HISTOGRAM.shader,
    &triangle_cull::KERNEL.shader,
    &triangle_cull::RECORDS.shader,
    &triangle_emit::KERNEL.shader,
    &triangle_finish::KERNEL.shader,
    &triangle_fold::KERNEL.shader,
    &triangle_fold::EXACT.shader,
    &triangle_gather::KERNEL.shader,
    &triangle_normals::KERNEL.shader,
    &triangle_normals::REDUCE.shader,
    &triangle_project::KERNEL.shader,
    &triangle_rasterize::KERNEL.shader,
    &triangle_terms::KERNEL.shader,
    &triangle_terms::REDUCE.shader,
    &triangle_update::KERNEL.shader,
    &triangle_update::EXACT.shader,
    &unbind_triangles::KERNEL.shader,
    &unbind_vertices::KERNEL.shader,
    &update::KERNEL.shader,
    &update::HALF.shader,
    &update::BOUND.shader,
    &update::DENSE.shader,
    &update::COMPACT.shader,
    &update::SURFACE.shader,
    &update::DEFERRED.shader,
    &update::COMPACT_BOUND.shader,
    &update::COMPACT_DENSE.shader,
    &update::SURFACE_DENSE.shader,
    &update::COMPACT_SURFACE.shader,
    &update::COMPACT_SURFACE_DENSE.shader,
    &vertex_colors::KERNEL.shader,
    &visible_scan::KERNEL.shader,
];
