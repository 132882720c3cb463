//! The loop of a run, and everything that looks at its steps; models that a run left behind.
//!
//! Owns [`run()`]: photos in, steps, evaluations, files out; resuming, Ctrl-C ([`interrupt`]), a device that is lost, memory
//! that gets short. [`Stored`] is a model on disk, to be evaluated and rendered.

mod device_loss;
mod early_stop;
mod error;
mod evaluation;
mod growth;
mod guard;
pub mod interrupt;
mod left_out;
mod memory_watch;
mod monitor;
mod renderer;
mod resolution_phases;
mod session;
mod stored;
mod watchdog;

pub use error::{DeviceLoss, RunError, StoredError};
pub use guard::device_budget;
pub use session::{ResumeFrom, RunEnd, RunRequest, run};
pub use stored::{Cameras, Evaluated, Location, Stored};
