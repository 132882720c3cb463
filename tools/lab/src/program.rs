//! The `kiln` program that is measured.
//!
//! Owns: the options that all measurements have, and what identifies a program. Promises: without `--kiln` the
//! program is built from the source tree first, so that figures are never those of an older build.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest as _, Sha256};
use xtask::failure::{Failure, Result};
use xtask::steps::{self, Steps};

/// Options of every measurement.
#[derive(Args, Clone, Debug)]
pub struct Program {
    /// Memory profile
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub profile: String,
    /// Program to measure; without it the release build of this source tree
    #[arg(long, value_name = "FILE")]
    pub kiln: Option<PathBuf>,
    /// Passed on to `kiln train`, for example --allow-cpu
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub passed_on: Vec<String>,
}

impl Program {
    /// Where the program lies; builds it when none is named.
    ///
    /// # Errors
    /// [`Failure`] when it does not build, or is not there.
    pub(crate) fn find(&self, root: &Path, steps: &mut Steps) -> Result<PathBuf> {
        let path = match &self.kiln {
            Some(path) => path.clone(),
            None if !root.join("engine/Cargo.toml").is_file() => {
                return Err(Failure::usage(format!(
                    "there is no source tree at {} to build `kiln` from\nhint: name the program with `--kiln FILE`",
                    root.display()
                )));
            }
            None => {
                let build = steps::cargo(root, &["build", "--release", "-p", "kiln"]);
                steps.run("build", build, false)?;
                steps::kiln("release")?
            }
        };
        if path.is_file() {
            return Ok(path);
        }
        Err(Failure::usage(format!(
            "there is no program {}\nhint: `--kiln FILE` names the one to measure",
            path.display()
        )))
    }
}

/// Identifies a program with a recipe file: 16 digits of the SHA-256 of the program followed by the recipe's file.
///
/// # Errors
/// [`Failure`] when one of them cannot be read.
pub(crate) fn inputs(program: &Path, recipe: &str) -> Result<String> {
    let read = |path: &Path| fs::read(path).map_err(|e| Failure::io("read", path, e));
    let mut digest = Sha256::new_with_prefix(read(program)?);
    let file = Path::new(recipe);
    // A shipped recipe is part of the program.
    if file.is_file() {
        digest.update(read(file)?);
    }
    let mut digits = format!("{:x}", digest.finalize());
    digits.truncate(16);
    Ok(digits)
}
