//! `cargo xtask ray`: the tests of `tools/ray`, which are a step of `cargo xtask test` too.
//!
//! Owns: the virtual environment in the target folder. Promises: it is made again when the package's dependencies, its
//! place or Python change, and not otherwise. Refuses: packages of the system's Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::steps::{self, Steps};
use crate::system::Need;
use crate::{setup, sha256};

const USAGE: &str = "usage: cargo xtask ray
  builds the program and runs the tests of tools/ray: two nodes on loopback; KILN=PATH names a program that is built already";

const PACKAGE: &str = "tools/ray";
/// Its packages, each with its hashes.
const LOCK: &str = "requirements.lock";
/// Names the program that the tests start.
const KILN: &str = "KILN";
/// In the environment's folder, written last: what it was made for.
const STAMP: &str = "made-for.txt";

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
    let folder = root.join("target/ray-venv");
    let python = folder.join("bin/python");
    let manifest = root.join(PACKAGE).join("pyproject.toml");
    let text = fs::read(&manifest).map_err(|e| Failure::io("read", &manifest, e))?;
    let lock = root.join(PACKAGE).join(LOCK);
    let locked = fs::read(&lock).map_err(|e| Failure::io("read", &lock, e))?;
    let version = Command::new("python3").arg("--version").output();
    let version = version.map_err(|e| Failure::set_up(format!("cannot start python3: {e}")))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let wanted = format!(
        "{}\n{}\n{version}\n{}\n",
        sha256(&text),
        sha256(&locked),
        root.display()
    );
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && python.is_file() {
        eprintln!("== environment of kiln-ray\nnothing changed");
    } else {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&folder).current_dir(root);
        steps.run("environment of kiln-ray", make, false)?;
        let pip = |args: &[&str]| {
            let mut install = Command::new(&python);
            install
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(args)
                .current_dir(root);
            install
        };
        let packages = pip(&["--require-hashes", "-r", &format!("{PACKAGE}/{LOCK}")]);
        steps.run("packages of kiln-ray", packages, false)?;
        let own = pip(&["--no-deps", "--no-build-isolation", "--editable", PACKAGE]);
        steps.run("kiln-ray", own, false)?;
        fs::write(&stamp, wanted).map_err(|e| Failure::io("write", &stamp, e))?;
    }
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", PACKAGE])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root);
    Ok(tests)
}
