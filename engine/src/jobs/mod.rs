//! What happens next: a training with all that goes before and behind it, blocks, meshes, models that are stored.
//!
//! A job takes a typed request and a listener, prints nothing, knows no exit code, and returns what came of it. The command line turns
//! arguments into requests, and news and outcomes into words; programs that use the library do the same in their own way.

mod error;
pub(crate) mod kinds;
mod request_error;
mod settings;
pub(crate) mod shell;

pub use error::JobError;
pub use request_error::RequestError;
pub use settings::{Resume, Settings};
