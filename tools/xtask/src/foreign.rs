//! `cargo xtask foreign`: programs of others that read Kiln's files, and the tests that have them do so.
//!
//! Owns: the folder `target/foreign`. Promises: it is made again when what `tools/foreign` pins, its place or Python
//! change, and not otherwise. Refuses: Node.js and npm of the system, whatever their versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::python::Environment;
use crate::steps::{self, Steps};
use crate::system::Need;
use crate::{setup, sha256};

const USAGE: &str = "usage: cargo xtask foreign
  installs what tools/foreign pins, and has it read what Kiln writes";

/// What is pinned, and by which files.
const PACKAGE: &str = "tools/foreign";
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// In the folder, written last: what it was made for.
const STAMP: &str = "made-for.txt";
/// The converter's program.
const SPLAT_TRANSFORM: &str = "node_modules/@playcanvas/splat-transform/bin/cli.mjs";

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
    steps.time("set-up", || setup::ensure(&[Need::PythonVenv]))?;
    ensure(root, steps)?;
    let tests = steps::cargo(root, &["test", "--workspace", "--test", "host", "foreign::"]);
    steps.run_tests("tests", tests)
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/foreign")
}

fn program(root: &Path, name: &str) -> PathBuf {
    folder(root).join("venv/bin").join(name)
}

/// Installs what is pinned, unless it is there.
///
/// # Errors
/// When Python or packages cannot be installed.
pub fn ensure(root: &Path, steps: &mut Steps) -> Result<()> {
    let environment = Environment {
        title: "programs of others",
        folder: "target/foreign/venv",
        lock: "tools/foreign/requirements.lock",
        editable: None,
    };
    environment.ensure(root, steps)?;
    let (folder, package) = (folder(root), root.join(PACKAGE));
    let mut pins = Vec::new();
    for name in PINS {
        let path = package.join(name);
        pins.extend(fs::read(&path).map_err(|e| Failure::io("read", &path, e))?);
    }
    let wanted = format!("{}\n{}\n", sha256(&pins), root.display());
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && folder.join(SPLAT_TRANSFORM).is_file() {
        eprintln!("== programs of others\nnothing changed");
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(|e| Failure::io("make", &folder, e))?;
    // From now on what is there is not what the stamp says.
    if stamp.exists() {
        fs::remove_file(&stamp).map_err(|e| Failure::io("remove", &stamp, e))?;
    }
    for name in PINS {
        let (from, to) = (package.join(name), folder.join(name));
        fs::copy(&from, &to).map_err(|e| Failure::io("copy", &from, e))?;
    }
    let mut install = Command::new(program(root, "npm"));
    install.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder);
    steps.run("programs of others", install, false)?;
    fs::write(&stamp, wanted).map_err(|e| Failure::io("write", &stamp, e))
}

/// Starts splat-transform, which is to be installed.
///
/// # Errors
/// When it is not.
pub fn splat_transform(root: &Path) -> Result<Command> {
    let (node, script) = (program(root, "node"), folder(root).join(SPLAT_TRANSFORM));
    if !node.is_file() || !script.is_file() {
        return Err(Failure::set_up(
            "splat-transform is not installed\nhint: `cargo xtask foreign` installs it and runs these tests",
        ));
    }
    let mut command = Command::new(node);
    command.arg(script);
    Ok(command)
}
