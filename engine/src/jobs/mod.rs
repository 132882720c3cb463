//! What happens next: a training with all that goes before and behind it, blocks, meshes, models that are stored.
//!
//! A job takes a typed request and a listener, prints nothing, knows no exit code, and returns what came of it. The command line turns
//! arguments into requests, and news and outcomes into words; programs that use the library do the same in their own way.

mod block;
mod checks;
mod cut;
mod error;
pub(crate) mod kinds;
mod mesh;
pub(crate) mod named;
mod news;
mod outline;
mod plan;
mod planned;
mod poses;
mod request_error;
mod resume;
mod scene;
mod settings;
pub(crate) mod shell;
mod split;
mod stages;
pub(crate) mod stored;
mod train;

pub use error::JobError;
pub use mesh::{Mesh, Meshed, mesh};
pub use named::{Purpose, located};
pub use news::{KernelBy, Listener, News, PosesNews};
pub use outline::{Outline, OutlinedBlock};
pub use plan::{Plan, Planned, plan};
pub use poses::PosesError;
pub use request_error::RequestError;
pub use scene::ForScene;
pub use settings::{Resume, Settings};
pub use split::{Split, SplitEnd, split};
pub use stored::{Model, Opened, OpenedScene};
pub use train::{Train, TrainEnd, Trained, train};
