//! Names in a run folder, and where things lie below it.

use std::path::{Path, PathBuf};

use super::record::PlyKind;
use crate::record::sinks::MEMORY_FILE;

/// The report of a run whose device was lost twice, inside its folder.
pub const REPORT_FILE: &str = "device_lost.json";
pub(super) const RUN: &str = "run.json";
pub(super) const ENVIRONMENT: &str = "env.json";
pub(super) const CONFIG: &str = "config.resolved.yaml";
pub(super) const CAMERAS: &str = "cameras.json";
pub(super) const GIVEN_CAMERAS: &str = "cameras_given.json";
pub(super) const INPUT: &str = "input.ply";
pub(super) const LIVE: &str = "live.ply";
pub(super) const MODELS: &str = "point_cloud";
/// The mesh that a model is bound to, beside the model.
pub const BOUND_MESH: &str = "mesh.ply";
pub(super) const EVALS: &str = "eval";
pub(super) const METRICS: &str = "metrics.json";
pub(super) const CHECKPOINTS: &str = "checkpoints";
pub(super) const TIMINGS: &str = "timings.json";
/// The run of the stage of SuGaR that refines, inside of the run.
pub const REFINED: &str = "refined";
/// The models of the stages of SuGaR, for viewers.
pub const COARSE_PLY: &str = "coarse.ply";
/// See [`COARSE_PLY`].
pub const BOUND_PLY: &str = "bound.ply";

/// What a file is called in the records of the run in `root`, or its path where it lies elsewhere: with `/` on every system, so that
/// each reads what another wrote.
#[must_use]
pub fn name_inside(root: &Path, path: &Path) -> String {
    let Ok(inside) = path.strip_prefix(root) else {
        return path.display().to_string();
    };
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Where the index of the run in `root` is.
#[must_use]
pub fn record_path(root: &Path) -> PathBuf {
    root.join(RUN)
}

/// Folder of the checkpoints of the run in `root`.
#[must_use]
pub fn checkpoints_path(root: &Path) -> PathBuf {
    root.join(CHECKPOINTS)
}

/// Where the circumstances of the run in `root` are.
#[must_use]
pub fn environment_path(root: &Path) -> PathBuf {
    root.join(ENVIRONMENT)
}

/// Where the memory records of the run in `root` are.
#[must_use]
pub fn memory_path(root: &Path) -> PathBuf {
    root.join(MEMORY_FILE)
}

/// Where the settings of the run in `root` are.
#[must_use]
pub fn config_path(root: &Path) -> PathBuf {
    root.join(CONFIG)
}

/// Where the cameras of the run in `root` may be: as the data set gave them, where the run corrected them, and as the run drew them.
#[must_use]
pub fn cameras_paths(root: &Path) -> [PathBuf; 2] {
    [GIVEN_CAMERAS, CAMERAS].map(|name| root.join(name))
}

/// Folder of the models of the run in `root`: one folder `iteration_N` each.
#[must_use]
pub fn models_path(root: &Path) -> PathBuf {
    root.join(MODELS)
}

/// Where the evaluation of an iteration of the run in `root` is.
#[must_use]
pub fn eval_path(root: &Path, iteration: u32) -> PathBuf {
    root.join(eval_name(iteration)).join(METRICS)
}

pub(super) fn ply_name(iteration: u32, kind: PlyKind) -> String {
    format!("{}/{}", iteration_name(iteration), kind.file_name())
}

pub(super) fn iteration_name(iteration: u32) -> String {
    format!("{MODELS}/iteration_{iteration}")
}

/// The iteration of a model file, by its path in the index.
pub(super) fn model_iteration(file: &str) -> Option<u32> {
    let inside = file.strip_prefix(MODELS)?.strip_prefix("/iteration_")?;
    inside.split('/').next()?.parse().ok()
}

pub(super) fn eval_name(iteration: u32) -> String {
    format!("{EVALS}/iteration_{iteration}")
}
