//! One file per kernel family: its shader and bindings, its push constants, its group rule, its `record` function. The
//! CPU twin of each, the reference in the tests, has the same name under [`cpu`]; the GLSL has it in `shaders/`.

pub mod alpha_loss;
pub mod bands;
pub mod begin;
pub mod budgeted;
pub mod camera_cull;
pub mod catch_up;
pub mod clusters;
pub mod conv3x3;
pub mod counters;
pub mod cpu;
pub mod cull;
pub mod densify;
pub mod explore;
pub mod exposure;
pub mod filter_3d;
pub mod gradient_store;
pub mod guard_bands;
pub mod histogram;
pub mod loss;
pub mod lpips;
pub mod max_pool2x2;
pub mod morton;
pub mod opacity_reset;
pub mod probe;
pub mod project;
pub mod radix_sort;
pub mod rasterize;
pub mod rasterize_backward;
pub mod relocate;
pub mod resample;
pub mod survey;
pub mod tile_intersect;
pub mod tile_ranges;
pub mod uniforms;
pub mod update;
pub mod views;

use crate::program::Shader;

/// Every shader of the engine, for checks over all of them.
#[must_use]
pub fn all() -> Vec<&'static Shader> {
    vec![
        &bands::COUNT,
        &bands::HISTOGRAM,
        &survey::SHADER,
        &gradient_store::CLEAR,
        &gradient_store::LOAD,
        &gradient_store::SAVE,
        &gradient_store::CHECK,
        &begin::SHADER,
        &clusters::SHADER,
        &cull::CULL,
        &cull::CULL_BAND,
        &cull::SCAN,
        &project::EXACT,
        &project::HALF,
        &project::DEFERRED,
        &project::HALF_DEFERRED,
        &project::COMPACT_DEFERRED,
        &radix_sort::COUNT,
        &radix_sort::SCAN,
        &radix_sort::SCATTER,
        &radix_sort::SCATTER_SUBGROUP,
        &tile_intersect::SUM,
        &tile_intersect::SCAN,
        &tile_intersect::EMIT,
        &tile_ranges::SHADER,
        &tile_ranges::ORDER,
        &rasterize::PIXEL,
        &rasterize::COLUMN,
        &rasterize::LANES,
        &loss::SSIM,
        &loss::REDUCE,
        &loss::GRADIENT,
        &loss::METRICS,
        &loss::SSIM_MASKED,
        &loss::GRADIENT_MASKED,
        &loss::METRICS_MASKED,
        &loss::SSIM_STRIP,
        &loss::GRADIENT_STRIP,
        &loss::SSIM_STRIP_MASKED,
        &loss::GRADIENT_STRIP_MASKED,
        &alpha_loss::GRADIENT,
        &alpha_loss::REDUCE,
        &exposure::APPLY,
        &exposure::GRADIENT,
        &exposure::UPDATE,
        &rasterize_backward::CLEAR,
        &rasterize_backward::COLUMN,
        &rasterize_backward::LANES,
        &rasterize_backward::ATOMIC,
        &rasterize_backward::COMPARE_EXCHANGE,
        &rasterize_backward::FOLD,
        &rasterize_backward::CHECK,
        &update::EXACT,
        &update::HALF,
        &update::COMPACT,
        &update::DEFERRED,
        &update::HALF_DEFERRED,
        &update::COMPACT_DEFERRED,
        &catch_up::EXACT,
        &catch_up::HALF,
        &catch_up::COMPACT,
        &filter_3d::DISTANCE,
        &filter_3d::APPLY,
        &histogram::SHADER,
        &opacity_reset::SHADER,
        &probe::SHADER,
        &guard_bands::SHADER,
        &densify::BEGIN,
        &densify::SCORE,
        &densify::SELECT_COUNT,
        &densify::SELECT_PICK,
        &densify::DECIDE,
        &densify::COUNT,
        &densify::SCAN,
        &densify::BIRTHS,
        &densify::CHILDREN,
        &densify::PRUNE,
        &densify::MOVES,
        &budgeted::SCORE,
        &camera_cull::MARK,
        &explore::SHADER,
        &resample::WEIGH,
        &resample::SCAN,
        &resample::COPIES,
        &resample::SHARE,
        &relocate::GATHER,
        &relocate::SCATTER,
        &morton::BEGIN,
        &morton::KEYS,
        &morton::PLACES,
        &morton::TAKE,
        &morton::PUT,
        &lpips::INPUT,
        &lpips::DIFFERENCE,
        &conv3x3::CONV,
        &max_pool2x2::POOL,
    ]
}
