//! `shaders/rasterize_lanes.comp`: `rasterize` on CPU drivers: blends the sorted splats of a tile front to back (Kerbl
//! et al. 2023, eq. 3), a subgroup of eight lanes a tile. Made by `cargo xtask shaders`.

use super::rasterize::{ColumnBind, ColumnSpec, Push};
use kiln_program::Kernel;

/// `rasterize_lanes.spv`.
pub static KERNEL: Kernel<ColumnBind, Push, ColumnSpec> = Kernel::new(
    "rasterize_lanes",
    include_bytes!("../../../../shaders/spv/rasterize_lanes.spv"),
);
