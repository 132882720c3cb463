//! The command line: arguments to a [`Request`], errors to messages and exit codes.
//!
//! Owns what people type and read. [`parse`] is pure: it looks at no file and no device. Data goes to stdout, messages
//! to stderr.

mod args;
mod doctor;
mod error;
mod eval;
mod exit;
mod failures;
mod plan;
mod profiles;
mod refused;
mod render;
mod request;
mod stored;
mod train;
mod view;

pub use doctor::run as run_doctor;
pub use error::UsageError;
pub use eval::run as run_eval;
pub use exit::{Exit, Failure, report};
pub use plan::run as run_plan;
pub use profiles::{ProfilesError, run as run_profiles};
pub use render::run as run_render;
pub use request::{
    Doctor, Eval, Model, Plan, Profiles, Render, RenderViews, Request, Resume, Settings, Train, View, ViewAction, parse,
};
pub use train::run as run_train;
pub use view::run as run_view;
