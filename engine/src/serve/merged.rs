//! A project's merged model as a run: the files that a run has and a merged model does not.
//!
//! The page knows runs. What it needs of one is made here from the model's header and the blocks' cameras, in bounded memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Folder of the merged model in a project.
pub(super) const FOLDER: &str = "merged";
/// The merged model in it.
pub(super) const MODEL: &str = "point_cloud.ply";
/// The cameras of a run.
pub(super) const CAMERAS: &str = "cameras.json";
/// All files that are made.
pub(super) const FILES: [&str; 6] = [
    "run.json",
    CAMERAS,
    "env.json",
    "config.resolved.yaml",
    "metrics.jsonl",
    "memory.jsonl",
];
/// Bytes at the beginning of a model in which its number of Gaussians is.
const HEADER_BYTES: u64 = 4096;
/// Largest record of a trained block that is read.
const DONE_BYTES: u64 = 1 << 20;
/// Largest file of cameras that is read, and most cameras that are shown.
const CAMERAS_BYTES: u64 = 16 << 20;
const MOST_CAMERAS: usize = 4000;

/// A file of the run called `title` whose model is `model`; nothing for one that a run does not have. `of_blocks` finds the files
/// that the project's blocks have under a path.
pub(super) fn made(
    title: &str,
    model: &Path,
    name: &str,
    of_blocks: impl FnOnce(&[&str]) -> Vec<PathBuf>,
) -> Option<String> {
    match name {
        "run.json" => Some(run(title, model, iterations(of_blocks(&["done.json"]))).to_string()),
        CAMERAS => Some(cameras(of_blocks(&["run", CAMERAS]))),
        "env.json" => Some("{}".to_owned()),
        "config.resolved.yaml" | "metrics.jsonl" | "memory.jsonl" => Some(String::new()),
        _ => None,
    }
}

/// A JSON file, as far as it is one.
fn json(path: PathBuf, most_bytes: u64) -> Option<Value> {
    let mut text = String::new();
    File::open(path).ok()?.take(most_bytes).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The most iterations that a block was trained for.
fn iterations(done: Vec<PathBuf>) -> u64 {
    let of_block = |path| json(path, DONE_BYTES)?.get("iterations")?.as_u64();
    done.into_iter().filter_map(of_block).max().unwrap_or(0)
}

/// The index of the run.
fn run(title: &str, model: &Path, iterations: u64) -> Value {
    let name = model.file_name().and_then(|name| name.to_str()).unwrap_or(MODEL);
    let bytes = model.metadata().map_or(0, |file| file.len());
    let ply = json!({
        "iteration": iterations, "kind": "fused", "path": name, "gaussians": gaussians(model).unwrap_or(0), "bytes": bytes,
    });
    json!({
        "schema_version": 1,
        "name": title,
        "scene": { "name": title },
        "status": "done",
        "iterations": { "done": iterations, "total": iterations },
        "plys": [ply],
        "evals": [],
    })
}

/// How many Gaussians the header of a model says.
fn gaussians(model: &Path) -> Option<u64> {
    let mut head = Vec::new();
    File::open(model).ok()?.take(HEADER_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().find_map(|line| line.strip_prefix("element vertex "))?;
    line.trim().parse().ok()
}

/// The cameras of all blocks, each once: neighbours share many.
fn cameras(files: Vec<PathBuf>) -> String {
    let mut known = BTreeSet::new();
    let mut cameras = Vec::new();
    for path in files {
        // A block whose file is damaged has its own cameras to say so.
        let Some(Value::Array(of_block)) = json(path, CAMERAS_BYTES) else {
            continue;
        };
        for camera in of_block {
            let name = camera.get("img_name").and_then(Value::as_str).unwrap_or_default();
            if cameras.len() < MOST_CAMERAS && known.insert(name.to_owned()) {
                cameras.push(camera);
            }
        }
    }
    Value::from(cameras).to_string()
}
