//! `cargo xtask windows`: checks that the program compiles for Windows.
//!
//! Promises nothing of the result: it is neither linked nor run.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::steps;
use crate::viewer::Compiler;

const USAGE: &str =
    "usage: cargo xtask windows    check that the program compiles for Windows (the first time takes minutes)";

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Libraries in C are compiled on the way.
const C_COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return Err(Failure::usage(USAGE));
    }
    let has_c = Command::new(C_COMPILER).arg("--version").output().is_ok();
    if !has_c {
        return Err(Failure::set_up(format!(
            "the program `{C_COMPILER}` does not run; it compiles libraries in C\nhint: \
             `sudo apt-get install -y gcc-mingw-w64-x86-64`"
        )));
    }
    let compiler = Compiler::find(TARGET)?;
    let mut command = Command::new(&compiler.cargo);
    command
        .current_dir(root)
        .args(["check", "--locked", "-p", "kiln", "--target", TARGET]);
    command.arg("--target-dir").arg(root.join("target").join("windows"));
    command.env("RUSTC", &compiler.rustc).env_remove("RUSTUP_TOOLCHAIN");
    if compiler.std_source.is_some() {
        command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
    }
    let line = steps::line(&command);
    let status = command
        .status()
        .map_err(|e| Failure::new(format!("cannot start `{line}`: {e}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{line}` ended with {status}")))
    }
}
