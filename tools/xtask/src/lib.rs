//! Project tasks, called as `cargo xtask VERB`.
//!
//! A library as well as a program, so that the integration tests check
//! manifests with the code that writes them, and `kiln-lab` runs its steps.

pub mod advisories;
pub mod bundle;
pub mod compiler;
pub mod demo;
pub mod failure;
pub mod foreign;
pub mod glsl;
pub mod kernels;
pub mod manifest;
mod python;
pub mod ray;
pub mod release;
mod rust;
pub mod setup;
pub mod shaders;
mod slim;
pub mod source;
pub mod spirv;
pub mod steps;
pub mod system;
pub mod test;
pub mod viewer;
pub mod windows;

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The root of the repository.
///
/// Cargo names the running package's folder in the environment; the folder at
/// build time is the fallback for a program started by hand. The first is
/// right even when several checkouts share one target folder.
pub fn root() -> PathBuf {
    let built_in = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let running = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| built_in.clone(), PathBuf::from);
    let holds_tools = |folder: &&Path| folder.join("tools").join("xtask").is_dir();
    let found = running
        .ancestors()
        .find(holds_tools)
        .or_else(|| built_in.ancestors().find(holds_tools));
    found.map_or(built_in.clone(), Path::to_path_buf)
}

/// Prints a line. A reader that has seen enough and closes the pipe is no failure.
pub fn say(line: impl Display) {
    writeln!(std::io::stdout(), "{line}").ok();
}

/// The SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
