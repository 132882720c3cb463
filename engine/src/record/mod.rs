//! What a run says and leaves behind: events, the files they go to, pictures, and the folder that holds them.
//!
//! Owns the rows of a run ([`events`]), where they go ([`sinks`]) and the layout of the run folder ([`run_folder`]).
//! Promises that whatever is in the folder is whole at any moment. Knows nothing of how a run comes about.

pub mod clock;
pub(crate) mod creep;
pub(crate) mod environment;
mod evaluated_view;
pub mod events;
mod findings;
pub mod pictures;
pub mod run_folder;
pub mod sinks;
pub(crate) mod telemetry;
pub(crate) mod ticker;
pub(crate) mod words;

pub use evaluated_view::{EvaluatedView, PictureKind};
pub use findings::{MemoryPlace, PressureChange, Response, SpillEvidence, Verdict};

pub(crate) use evaluated_view::masked_pair;
