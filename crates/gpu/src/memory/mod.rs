//! Device memory: what is needed, where it lies, and the one commitment at start-up.
//!
//! A [`TensorTable`](kiln_program::TensorTable) lists every tensor with its class; a
//! [`Program`](kiln_program::Program) lists the passes that read and write them; a [`Plan`] turns both into block sizes and
//! offsets without touching a device; [`Memory`] commits the plan. After that nothing allocates.

mod budget;
mod commit;
mod gpu;
mod guard_bands;
mod layout;
mod plan;

pub use crate::vk::BlockRounding;
pub use budget::{Budget, BudgetLimit, GIB, MIB};
pub use commit::Memory;
pub use gpu::{Gpu, TRANSFER_BYTES};
pub use guard_bands::{BAND_BYTES, GUARD_PATTERN, GuardBands, GuardWindow};
use kiln_program::Tag;
pub use layout::Layout;
pub use plan::{ArenaPeak, Plan, PlanLimits, PlannedBlock, Slot};

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Why memory could not be planned or committed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The plan needs more than the cap.
    #[error(
        "the plan needs {:.1} MiB of device memory but the cap is {:.1} MiB; largest tensors: {largest}",
        mib(*needed_bytes),
        mib(*cap_bytes)
    )]
    OverBudget {
        /// Bytes the plan needs.
        needed_bytes: u64,
        /// Bytes it may use.
        cap_bytes: u64,
        /// Names and sizes of the largest tensors.
        largest: String,
    },
    /// One tensor is larger than a block or a binding can be.
    #[error(
        "tensor `{tensor}` needs {:.1} MiB but a {limit} holds at most {:.1} MiB",
        mib(*bytes),
        mib(*limit_bytes)
    )]
    TooLarge {
        /// Tensor name.
        tensor: String,
        /// What it is for.
        tag: Tag,
        /// Its size, or of a binding the part that a pass binds.
        bytes: u64,
        /// Which limit it exceeds.
        limit: &'static str,
        /// The limit.
        limit_bytes: u64,
    },
    /// The sizes requested from the driver differ from the planned ones.
    #[error(
        "internal error: the plan counts {planned_bytes} bytes for {block} but the request to the driver was \
         {requested_bytes}; please report this with the driver's name and version"
    )]
    NotAsPlanned {
        /// Which block.
        block: String,
        /// What the plan says.
        planned_bytes: u64,
        /// Bytes requested from the driver.
        requested_bytes: u64,
    },
    /// A host transfer outside a tensor.
    #[error(
        "internal error: a transfer of {bytes} bytes at {offset} lies outside of tensor `{tensor}`; please report this"
    )]
    OutOfRange {
        /// Tensor name.
        tensor: String,
        /// Byte offset asked for.
        offset: u64,
        /// Bytes asked for.
        bytes: u64,
    },
    /// Something wrote beyond its tensor.
    #[error(
        "internal error: {count} words {side} tensor `{tensor}` were overwritten, the first {distance} bytes away from it \
         with {found:#010x}; please report this"
    )]
    Overrun {
        /// The tensor that is nearest to the first of them.
        tensor: String,
        /// On which side of it, `before` or `behind`.
        side: &'static str,
        /// Bytes between the tensor and the first word.
        distance: u64,
        /// The first word.
        found: u32,
        /// Words in this band.
        count: u32,
    },
    /// The device said no.
    #[error(transparent)]
    Vulkan(#[from] crate::vk::VkError),
}
