//! `cargo xtask replay`: stored memory traces on every allocator.
//!
//! Owns nothing but the call: the allocators are the engine's, so the harness is a program beside its tests.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::steps;

/// Builds the harness and hands it `args`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let mut cargo = vec![
        "run",
        "--release",
        "--quiet",
        "--package",
        "kiln-tests",
        "--bin",
        "replay",
    ];
    if args.iter().any(|arg| arg == "--vma") {
        cargo.extend(["--features", "vma"]);
    }
    cargo.push("--");
    cargo.extend(args.iter().map(String::as_str).filter(|arg| *arg != "--vma"));
    let mut command = steps::cargo(root, &cargo);
    let status = command
        .status()
        .map_err(|e| Failure::new(format!("cannot start cargo: {e}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::usage("the replay was refused, see above")),
        _ => Err(Failure::new(format!("`{}` ended with {status}", steps::line(&command)))),
    }
}
