//! What can end a step.

use super::checkpoint::CheckpointError;
use crate::eval::lpips::LpipsError;
use crate::export::ExportError;
use crate::plan::NoJob;
use kiln_gpu::memory::MemoryError;
use kiln_gpu::vk::VkError;
use kiln_kernels::counters::{Counters, Stall};

/// What keeps the device side of a run from going on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Memory that was planned or committed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device.
    #[error(transparent)]
    Vulkan(#[from] VkError),
    /// LPIPS or its weights.
    #[error(transparent)]
    Lpips(#[from] LpipsError),
    /// A file of the run.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// What happens to triangles between steps.
    #[error(transparent)]
    Triangles(#[from] kiln_triangles::Error),
    /// A checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The plan is not whole.
    #[error(transparent)]
    Job(#[from] NoJob),
    /// A view cannot be cut into bands: one tile alone has more splats than there are visible records.
    #[error(
        "iteration {iteration}: {splats} Gaussians touch the tile in column {column}, row {row}, and the plan has \
         {v_cap} visible records: not even a band of one tile fits"
    )]
    TileTooFull {
        /// Iteration of the view, or of the model when it is evaluated.
        iteration: u32,
        /// Tiles to the left.
        column: u32,
        /// Tiles above.
        row: u32,
        /// Gaussians that touch the tile.
        splats: u32,
        /// Capacity of visible records.
        v_cap: u32,
    },
    /// A step became a no-op and the run cannot go on.
    #[error("{}", stall_text(.counters, *.v_cap, *.i_cap))]
    Stalled {
        /// The status word of the stalled step.
        counters: Box<Counters>,
        /// Capacity of visible records.
        v_cap: u32,
        /// Capacity of intersections.
        i_cap: u32,
    },
}

impl TrainError {
    /// What noticed that the device is lost, when that is the error.
    pub(crate) fn lost(&self) -> Option<&str> {
        match self {
            Self::Vulkan(VkError::Lost { during })
            | Self::Memory(MemoryError::Vulkan(VkError::Lost { during }))
            | Self::Lpips(LpipsError::Memory(MemoryError::Vulkan(VkError::Lost { during }))) => Some(during),
            _ => None,
        }
    }
}

fn stall_text(c: &Counters, v_cap: u32, i_cap: u32) -> String {
    let it = c.stall_iteration;
    match c.stall() {
        Some(Stall::Visible) => {
            format!(
                "iteration {it} sees {} Gaussians at once but the plan holds {v_cap}",
                c.visible_wanted
            )
        }
        Some(Stall::Intersections) => {
            format!(
                "iteration {it} makes {} tile intersections but the plan holds {i_cap}",
                c.intersections_wanted
            )
        }
        Some(Stall::Loops) => {
            format!(
                "iteration {it} has a tile with so much in it that the Vulkan driver ended the loop over its list early"
            )
        }
        _ => format!(
            "iteration {it} has a non-finite loss or 2D gradient ({} visible Gaussians, first at {})",
            c.nonfinite, c.nonfinite_index
        ),
    }
}
