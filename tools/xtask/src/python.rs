//! Virtual environments of Python in the target folder, from lists of packages with their hashes.
//!
//! Owns: when one is made again: when the list, anything else that it was made for, its place or Python change, and not otherwise.
//! Refuses: packages of the system's Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::sha256;
use crate::steps::Steps;

/// In the environment's folder, written last: what it was made for.
const STAMP: &str = "made-for.txt";

/// An environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment<'a> {
    /// What it is for, in the names of steps.
    pub(crate) title: &'a str,
    /// Its folder, in the root.
    pub(crate) folder: &'a str,
    /// Its packages, each with its hashes, in the root.
    pub(crate) lock: &'a str,
    /// A package of this project that tests import from its sources.
    pub(crate) editable: Option<&'a str>,
}

impl Environment<'_> {
    /// Makes the environment unless it is there; its interpreter.
    ///
    /// # Errors
    /// When Python or packages cannot be installed.
    pub(crate) fn ensure(&self, root: &Path, steps: &mut Steps) -> Result<PathBuf> {
        let folder = root.join(self.folder);
        let python = folder.join("bin/python");
        let mut made_for = String::new();
        let manifest = self.editable.map(|package| format!("{package}/pyproject.toml"));
        for file in manifest.as_deref().into_iter().chain([self.lock]) {
            let path = root.join(file);
            made_for += &sha256(&fs::read(&path).map_err(|e| Failure::io("read", &path, e))?);
            made_for.push('\n');
        }
        let version = Command::new("python3").arg("--version").output();
        let version = version.map_err(|e| Failure::set_up(format!("cannot start python3: {e}")))?;
        let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let wanted = format!("{made_for}{version}\n{}\n", root.display());
        let stamp = folder.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && python.is_file() {
            eprintln!("== environment of {}\nnothing changed", self.title);
            return Ok(python);
        }
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&folder).current_dir(root);
        steps.run(&format!("environment of {}", self.title), make, false)?;
        let pip = |args: &[&str]| {
            let mut install = Command::new(&python);
            install
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(args)
                .current_dir(root);
            install
        };
        let packages = pip(&["--require-hashes", "-r", self.lock]);
        steps.run(&format!("packages of {}", self.title), packages, false)?;
        if let Some(package) = self.editable {
            let own = pip(&["--no-deps", "--no-build-isolation", "--editable", package]);
            steps.run(self.title, own, false)?;
        }
        fs::write(&stamp, wanted).map_err(|e| Failure::io("write", &stamp, e))?;
        Ok(python)
    }
}
