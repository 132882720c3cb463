//! `cargo xtask ray`: the tests of `tools/ray`, which are a step of `cargo xtask test` too.
//!
//! Owns: the virtual environment in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::python::Environment;
use crate::setup;
use crate::steps::{self, Steps};
use crate::system::Need;

const USAGE: &str = "usage: cargo xtask ray
  builds the program and runs the tests of tools/ray: two nodes on loopback; KILN=PATH names a program that is built already";

const PACKAGE: &str = "tools/ray";
/// Its packages, each with its hashes.
const LOCK: &str = "tools/ray/requirements.lock";
/// Names the program that the tests start.
const KILN: &str = "KILN";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--help" | "-h"] => {
            crate::say(USAGE);
            return Ok(());
        }
        _ => return Err(Failure::usage(USAGE)),
    }
    let mut steps = Steps::default();
    let result = alone(root, &mut steps);
    steps.report();
    result
}

fn alone(root: &Path, steps: &mut Steps) -> Result<()> {
    steps.time("set-up", || {
        setup::ensure(&[Need::Loader, Need::Driver, Need::PythonVenv])
    })?;
    let kiln = match std::env::var_os(KILN) {
        Some(named) => PathBuf::from(named),
        None => {
            steps.run("build", steps::cargo(root, &["build", "-p", "kiln"]), false)?;
            steps::kiln("debug")?
        }
    };
    let mut tests = tests(root, steps)?;
    tests.env(KILN, kiln);
    steps.run("tests of kiln-ray", tests, false)
}

/// The command that runs the tests, after the environment is there. It wants the program's path in the variable `KILN`, unless
/// that is the one of the debug build in this checkout.
///
/// # Errors
/// When Python or its packages cannot be installed.
pub fn tests(root: &Path, steps: &mut Steps) -> Result<Command> {
    let environment = Environment {
        title: "kiln-ray",
        folder: "target/ray-venv",
        lock: LOCK,
        editable: Some(PACKAGE),
    };
    let python = environment.ensure(root, steps)?;
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", PACKAGE])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root);
    Ok(tests)
}
