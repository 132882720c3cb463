//! Training: what happens at which iteration, on which device, within which plan.

pub mod checkpoint;
mod error;
mod model;
mod open;
mod planning;
pub mod schedule;
mod trainer;
mod uniforms;

pub use error::TrainError;
pub use model::{gib_to_bytes, initial_model, scene_options};
pub use open::{OpenDevice, list_devices, open_device, variants_for};
pub use planning::{PlanReport, TrainPlan, plan};
pub use trainer::{StepStatus, Trainer, ViewSums};
