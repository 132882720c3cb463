//! The loop of a run, and everything that looks at its steps; models that a run left behind.
//!
//! Owns [`run()`]: photos in, steps, evaluations, files out; resuming, Ctrl-C ([`interrupt`]), a device that is lost, memory
//! that gets short. [`Stored`] is a model on disk, to be evaluated and rendered, and [`Drawn`] a mesh.

mod bound;
mod device_loss;
mod drawn;
mod early_stop;
mod error;
mod evaluation;
pub mod interrupt;
mod judges;
mod left_out;
mod lens_reach;
mod mesh;
mod mesh_renderer;
mod model_parts;
mod outlets;
mod own_split;
mod reach;
mod renderer;
mod resolution_phases;
mod session;
mod stages;
mod stored;
mod watch;

pub use bound::refinement_outlook;
pub use drawn::{Drawn, MeshEvaluated};
pub use error::{DeviceLoss, RunError, StoredError};
pub use mesh::mesh_outlook;
pub use outlets::Outlets;
pub use session::{ResumeFrom, RunEnd, RunRequest, run};
pub use stages::{StagesOutlook, stages_outlook};
pub use stored::{Cameras, Evaluated, Location, News, Stored};
pub use watch::device_budget;
