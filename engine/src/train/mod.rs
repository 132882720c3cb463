//! The device side of training: submits steps, reads their status words late, evaluates between steps, saves and restores.
//!
//! Owns [`Trainer`] and its state on disk ([`checkpoint`]). Promises that a step that does not fit is done again in bands of
//! tiles, that a step that is not finite is left out, and that in deterministic mode equal runs give equal bytes. Knows
//! nothing of photo files, of run folders or of the loop that calls it.

mod bands;
pub mod checkpoint;
mod common_motion;
mod error;
mod growth_hold;
mod judged;
mod peaks;
mod poses;
mod probe;
mod timing;
mod trainable;
mod trainer;
pub(crate) mod uniforms;
mod upload;

pub use error::TrainError;
pub use judged::Judged;
pub use peaks::Peaks;
pub use poses::RefinedPoses;
pub use timing::{GaussianBytes, PassRow, TimedStep, Timings, WindowTimes};
pub use trainer::{StepStatus, Target, Trainer};

pub(crate) use bands::BandRing;
pub(crate) use probe::Rates;
pub(crate) use timing::Timing;
