//! `shaders/rasterize_backward_lanes.comp`: `rasterize_backward.column` on CPU drivers, a subgroup of eight lanes a
//! tile, see `common/lanes.glsl`. Made by `cargo xtask shaders`.

use super::rasterize_backward::{ColumnBind, Push, Spec};
use crate::program::Kernel;

/// `rasterize_backward_lanes.spv`.
pub static KERNEL: Kernel<ColumnBind, Push, Spec> = Kernel::new(
    "rasterize_backward_lanes",
    include_bytes!("../../../../shaders/spv/rasterize_backward_lanes.spv"),
);

/// `rasterize_backward_lanes.crowded.spv`, made with `CROWDED=1`.
pub static CROWDED: Kernel<ColumnBind, Push, Spec> = Kernel::new(
    "rasterize_backward_lanes.crowded",
    include_bytes!("../../../../shaders/spv/rasterize_backward_lanes.crowded.spv"),
);
