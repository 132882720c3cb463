//! Training: what happens at which iteration, on which device, within which plan, and what a run leaves behind.
//!
//! [`schedule`] is pure arithmetic on iteration numbers; [`Trainer`] is the device side of a run; [`checkpoint`] its state
//! on disk. [`Stored`] is a model that a run left behind, to be evaluated and rendered. [`events`] are the rows a run emits and [`sinks`] where they go; [`clock`] and [`interrupt`] are time and
//! Ctrl-C.

mod background;
mod bands;
mod bytes;
mod capacity;
pub mod checkpoint;
pub mod clock;
mod compiled;
mod counting;
mod deferred;
mod device_choice;
mod device_loss;
mod early_stop;
mod environment;
mod error;
mod evaluation;
pub mod events;
mod first;
mod growing;
mod growth;
mod guard;
mod headroom;
pub mod interrupt;
mod kernel_timing;
mod losses;
mod memory_watch;
mod model;
mod monitor;
mod open;
mod order;
mod phases;
mod photos;
pub mod pictures;
mod planning;
mod ram;
mod renderer;
mod replay;
pub mod run_folder;
mod sample_view;
pub mod schedule;
mod self_test;
mod session;
pub mod sinks;
mod skips;
mod staging;
mod stored;
mod telemetry;
mod timed;
mod timing;
mod tracing;
mod trainer;
mod uniforms;
mod upload;
mod watchdog;

pub use bytes::{ByteTable, Row, Unit};
pub use capacity::CapacitySource;
pub use counting::{Demand, DemandSource};
pub use device_loss::{DeviceLoss, REPORT_FILE};
pub use error::TrainError;
pub use first::{FirstModel, plan_first};
pub use guard::{
    PressureChange, ProbeTensors, REFERENCE_BYTES, Residency, Response, SpillEvidence, Verdict, device_budget,
};
pub use kernel_timing::KernelTiming;
pub use losses::LossError;
pub use memory_watch::Peaks;
pub use model::{gib_to_bytes, scene_options};
pub use open::{OpenDevice, backend_choice, list_devices, open_device, variants_for};
pub use photos::image_host_bytes;
pub use planning::{ArenaUse, Measures, PlanReport, TrainPlan, plan};
pub use ram::available_bytes;
pub use self_test::Pinned;
pub use session::{ResumeFrom, RunEnd, RunRequest, run};
pub use stored::{Cameras, Evaluated, Location, Stored, StoredError};
pub use timing::{GaussianBytes, PassRow, TimedStep, Timings, WindowTimes};
pub use trainer::{StepStatus, Target, Trainer, ViewSums};
