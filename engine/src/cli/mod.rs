//! The command line: arguments to a [`Request`], errors to messages and exit codes.
//!
//! Owns what people type and read. [`parse`] is pure: it looks at no file and no device. Data goes to stdout, messages
//! to stderr.

mod args;
mod doctor;
mod error;
mod eval;
mod eval_mesh;
mod examples;
mod exit;
mod explain;
mod export;
mod failures;
mod find;
mod flags;
mod generate;
mod inspect;
mod job_failures;
mod listener;
mod memory;
mod merge;
mod mesh;
mod mesh_words;
#[cfg(test)]
mod messages;
mod parse;
mod plan;
mod poses_shown;
mod profiles;
mod render;
mod request;
mod scene_failures;
mod split;
mod status;
mod summary;
mod train;
mod view;
mod windows;

use std::io::{self, Write};

pub use args::{FormatName, MeshFormatName, Shell};
pub use doctor::run as run_doctor;
pub use error::UsageError;
pub use eval::run as run_eval;
pub use exit::{Exit, Failure, report};
pub use export::run as run_export;
pub use generate::{completions, man, man_pages};
pub use inspect::run as run_inspect;
pub use memory::run as run_memory;
pub use merge::run as run_merge;
pub use mesh::run as run_mesh;
pub use parse::parse;
pub use plan::run as run_plan;
pub use profiles::{ProfilesError, run as run_profiles};
pub use render::run as run_render;
pub use request::{
    Doctor, DrawnMesh, Eval, Export, Inspect, Memory, Merge, Mesh, Plan, Profiles, Render, RenderViews, Request,
    SplitScene, Status, Train, View, ViewAction,
};
pub use split::run as run_split;
pub use status::run as run_status;
pub use train::run as run_train;
pub use view::run as run_view;
pub use windows::{WindowsError, advice as windows_advice, run as run_windows};

/// The page on flags of other trainers, as Markdown.
#[must_use]
pub fn flags_page() -> String {
    flags::page()
}

/// Prints a text that is made without reading anything.
///
/// # Errors
/// When `out` cannot be written.
pub fn run_text(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Box<dyn Failure>> {
    write(out).map_err(|error| Box::new(ProfilesError::Write(error)) as Box<dyn Failure>)?;
    Ok(Exit::Ok)
}
