//! `kiln-lab bench`: how fast training is, where the time goes and how far that is from what memory allows.
//!
//! Owns: the order of runs and the files of a bench. Each scene is trained twice with the same settings: once as people
//! train, for the rates, and once with timestamps on every fiftieth step, for the passes. With `--curve` synthetic scenes
//! of many sizes are trained briefly instead. Promises: the figures come from the files of finished runs, and everything
//! needed to repeat a run is stored beside them. Refuses: a run that fails.

mod arguments;
mod figures;
mod model;
mod reference;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use arguments::Arguments;
use figures::{Figures, Scene};
use xtask::failure::{Failure, Result};
use xtask::say;
use xtask::steps::Steps;

use crate::synth::{self, Synthetic};

/// Steps between two that write timestamps.
const TIMED_EVERY: u32 = 50;
/// Gaussians of the curve's first part, at [`CURVE_SIZE`].
const CURVE_GAUSSIANS: [u32; 5] = [100_000, 300_000, 1_000_000, 3_000_000, 6_000_000];
/// Width and height of the curve's first part, px: 1 megapixel.
const CURVE_SIZE: [u32; 2] = [1224, 817];
/// Sizes of the curve's second part, px: 0.5, 1, 2 and 4 megapixels.
const CURVE_SIZES: [[u32; 2]; 4] = [[866, 577], CURVE_SIZE, [1732, 1155], [2449, 1633]];
/// Gaussians of the curve's second part; so many are seen in every scene of both, or all where there are fewer.
const CURVE_VISIBLE: u32 = 500_000;
/// Views of a scene of the curve.
const CURVE_VIEWS: u32 = 24;
/// Steps of a run of the curve: before the first densification.
const CURVE_ITERATIONS: u32 = 400;

/// Trains every scene twice, prints the tables and writes `bench.json`.
///
/// # Errors
/// [`Failure`] when a run fails or its files lack a figure.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::default();
    let kiln = arguments.program.find(root, &mut steps)?;
    fs::create_dir_all(&arguments.out).map_err(|e| Failure::io("create", &arguments.out, e))?;
    let commit = commit(root);
    let mut all = Vec::new();
    for (name, scene, gaussians) in scenes(arguments, &mut steps)? {
        let plain = train(arguments, &kiln, &mut steps, &name, &scene, gaussians, None)?;
        let timed = train(
            arguments,
            &kiln,
            &mut steps,
            &name,
            &scene,
            gaussians,
            Some(TIMED_EVERY),
        )?;
        let scene = Scene {
            name,
            commit: commit.clone(),
        };
        let mut figures = Figures::read(scene, &plain, &timed, arguments.bandwidth)?;
        figures.reference_ms = reference::milliseconds(&figures.device)?;
        eprintln!("\n{}", table::of_passes(&figures));
        all.push(figures);
        let path = arguments.out.join("bench.json");
        fs::write(&path, figures::json(&all)).map_err(|e| Failure::io("write", &path, e))?;
    }
    steps.report();
    say(table::of_scenes(&all));
    say(arguments.out.join("bench.json").display());
    Ok(())
}

/// What to train: name, folder, and for scenes of the curve the number of Gaussians.
type Trained = (String, PathBuf, Option<u32>);

/// The scenes that were named, and those of the curve, which are made here.
fn scenes(arguments: &Arguments, steps: &mut Steps) -> Result<Vec<Trained>> {
    let named = arguments.scenes.iter().map(|path| {
        let name = path
            .file_name()
            .map_or_else(|| "scene".into(), |n| n.to_string_lossy().into_owned());
        (name, path.clone(), None)
    });
    let mut list: Vec<Trained> = named.collect();
    if !arguments.curve {
        return Ok(list);
    }
    let by_count = CURVE_GAUSSIANS.iter().map(|&count| (count, CURVE_SIZE));
    let by_size = CURVE_SIZES
        .iter()
        .filter(|size| **size != CURVE_SIZE)
        .map(|&size| (CURVE_VISIBLE, size));
    let at_one_megapixel = [(CURVE_VISIBLE, CURVE_SIZE)];
    for (count, size_px) in by_count.chain(by_size).chain(at_one_megapixel) {
        let name = format!("synthetic-{count}-{}x{}", size_px[0], size_px[1]);
        let folder = arguments.out.join(&name);
        let scene = Synthetic {
            gaussians: count,
            visible: Some(count.min(CURVE_VISIBLE)),
            size_px,
            views: CURVE_VIEWS,
            ..Synthetic::default()
        };
        synth::provide(&scene, &folder, steps)?;
        list.push((name, folder, Some(count)));
    }
    Ok(list)
}

/// Trains one scene into a folder of its own and returns that folder.
fn train(
    arguments: &Arguments,
    kiln: &Path,
    steps: &mut Steps,
    name: &str,
    scene: &Path,
    gaussians: Option<u32>,
    timed_every: Option<u32>,
) -> Result<PathBuf> {
    let suffix = if timed_every.is_some() { "-timed" } else { "" };
    let run = arguments.out.join(format!("run-{name}{suffix}"));
    if run.exists() {
        fs::remove_dir_all(&run).map_err(|e| Failure::io("remove", &run, e))?;
    }
    let mut command = Command::new(kiln);
    command.arg("train").arg(scene);
    command.args(["--recipe", &arguments.recipe, "--profile", &arguments.program.profile]);
    let iterations = match gaussians {
        Some(_) => CURVE_ITERATIONS,
        None => arguments.iterations,
    };
    command.args([
        "--iterations",
        &iterations.to_string(),
        "--seed",
        &arguments.seed.to_string(),
    ]);
    // Rates are those of training; what evaluation costs is no part of them.
    command.args(["--set", "eval.lpips=false"]);
    match gaussians {
        Some(count) => {
            command.args(["--set", "schedule.test=[]", "--no-eval"]);
            // Photos as large as they were made: people's runs make wide ones smaller.
            command.args(["--max-gaussians", &count.to_string(), "--resolution", "1"]);
        }
        None => {
            command.args(["--set", &format!("schedule.test=[{iterations}]")]);
        }
    }
    if let Some(every) = timed_every {
        command.args(["--set", &format!("diagnose.timed_every={every}")]);
    }
    command.args(&arguments.program.passed_on).arg("-o").arg(&run);
    let step = match timed_every {
        Some(_) => format!("{name}, with timestamps"),
        None => name.to_owned(),
    };
    steps.run(&step, command, true)?;
    Ok(run)
}

/// The commit of the working tree, with a mark when it has changes; `unknown` outside a repository.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short", "HEAD"]), git(&["status", "--porcelain"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        _ => "unknown".to_owned(),
    }
}
