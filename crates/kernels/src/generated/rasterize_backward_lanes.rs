//! `shaders/rasterize_backward_lanes.comp`: `rasterize_backward.column` on CPU drivers, a subgroup of eight lanes a
//! tile, see `common/lanes.glsl`. Made by `cargo xtask shaders`.

use super::rasterize_backward::{ColumnBind, ColumnSpec, Push};
use kiln_program::Kernel;

/// `rasterize_backward_lanes.spv`.
pub static KERNEL: Kernel<ColumnBind, Push, ColumnSpec> = Kernel::new(
    "rasterize_backward_lanes",
    include_bytes!("../../../../shaders/spv/rasterize_backward_lanes.spv"),
);
