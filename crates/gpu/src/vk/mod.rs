//! The Vulkan device: instance, capabilities, memory objects, pipelines, recorded programs, timeline.
//!
//! This is the only layer that may use `unsafe`. It promises that every handle it gives out
//! lives as long as the [`Device`] behind it, and it reports three families of trouble only: out of memory, a lost
//! device, and something the device does not support (see [`VkError`]).
#![expect(unsafe_code, reason = "this layer is the boundary to Vulkan")]

mod block;
mod caps;
mod cuts;
mod device;
mod error;
pub mod fence;
mod fill;
mod hazard;
pub mod hazards;
mod instance;
mod markers;
mod memory_type;
mod nvml;
mod overhead;
mod pipeline;
mod program;
mod progress;
mod queue;
mod recording;
mod rounding;
#[cfg(test)]
pub(crate) mod simulated;
mod statistics;
mod timestamps;
pub mod trial;
mod window;

pub use block::{Block, BlockKind};
pub use caps::{Caps, DeviceKind, MemoryHeap, MemoryType, Tier};
pub use device::Device;
pub use error::{DriverDeath, VkError};
pub use hazard::Hazard;
pub use instance::{Instance, Validation, ValidationReport};
pub use markers::Markers;
pub use nvml::{GpuSample, Nvml, Throttle};
pub use overhead::Overhead;
pub use pipeline::{LOCKSTEP, Pipeline};
pub use program::{CompiledProgram, Place, RecordOptions, Resolver};
pub use progress::{Progress, Pulse};
pub use queue::{Queue, Ticket};
pub use rounding::BlockRounding;
pub use statistics::Statistic;
pub use timestamps::PassTime;
pub use window::Window;
