//! `kiln-lab net`: digests of everything that a change of structure must leave as it is.
//!
//! Owns: which runs, meshes, exports and files count, and the file of digests. Everything runs on the CPU driver `llvmpipe` in
//! deterministic mode, on the bundled scene, tiny and for a few steps. Left out is what holds times or paths: `run.json`, `env.json`,
//! metrics, reports, the indices of projects, and of a checkpoint its seconds and its settings. Pictures of the viewer are in no file;
//! its bundle is. Refuses: a command that fails.

mod digests;
mod runs;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use digests::Digests;
use runs::Net;
use xtask::failure::{Failure, Result};
use xtask::say;
use xtask::steps::{self, Steps};

/// What to do with the digests, and of which program.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Program to run; without it the development build of this source tree
    #[arg(long, value_name = "FILE", global = true)]
    kiln: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    /// Write the digests
    Write {
        /// File of digests
        file: PathBuf,
    },
    /// Make them again and name those that differ
    Compare {
        /// File of digests
        file: PathBuf,
    },
}

/// Makes everything in `target/net`, and writes or compares its digests.
///
/// # Errors
/// [`Failure`] when a command fails, a file cannot be read or written, or digests differ.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::default();
    let before = match &arguments.action {
        Action::Write { .. } => None,
        Action::Compare { file } => Some(Digests::parse(
            &fs::read_to_string(file).map_err(|e| Failure::io("read", file, e))?,
        )),
    };
    let kiln = match &arguments.kiln {
        Some(file) => file.clone(),
        None => {
            // As the tests build it, or all of it is built twice.
            let build = ["build", "--workspace", "--bin", "kiln", "--test", "sources"];
            steps.run("build", steps::cargo(root, &build), false)?;
            steps::kiln("debug")?
        }
    };
    let folder = root.join("target/net");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| Failure::io("remove", &folder, e))?;
    }
    let mut net = Net::new(root, &kiln, &folder);
    steps.time("trainings", || net.trainings())?;
    steps.time("meshes", || net.meshes())?;
    steps.time("sugar", || net.sugar())?;
    steps.time("blocks", || net.blocks())?;
    steps.time("exports", || net.exports())?;
    steps.time("files", || net.files())?;
    steps.report();
    match (before, &arguments.action) {
        (Some(before), _) => {
            let differ = before.differences(&net.digests);
            for line in &differ {
                say(line);
            }
            match differ.len() {
                0 => say(format_args!("{} digests, all equal", net.digests.len())),
                n => return Err(Failure::new(format!("{n} of {} digests differ", net.digests.len()))),
            }
        }
        (None, Action::Write { file } | Action::Compare { file }) => {
            fs::write(file, net.digests.text()).map_err(|e| Failure::io("write", file, e))?;
            say(format_args!("{} digests in {}", net.digests.len(), file.display()));
        }
    }
    Ok(())
}
