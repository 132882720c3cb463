//! A project's merged model as a run: the files that a run has and a merged model does not.
//!
//! The page knows runs. What it needs of one is made here from the model's header and the blocks' cameras, in bounded memory: files
//! are read piece by piece, and what is not requested is passed over.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::numbers::number;
use crate::export::CameraRecord;

/// Opens a file of the folder that is shown; nothing for one that leads out of it.
pub(super) type Open<'a> = &'a dyn Fn(&Path) -> Option<File>;

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
/// Largest file of cameras that is read, bytes read of those of all blocks, most cameras that are shown, and longest name of one.
const CAMERAS_BYTES: u64 = 16 << 20;
const ALL_CAMERAS_BYTES: u64 = 64 << 20;
const MOST_CAMERAS: usize = 4000;
const NAME_BYTES: usize = 1024;

/// A file of the run called `title` whose model is `model`; nothing for one that a run does not have. `of_blocks` finds the files
/// that the project's blocks have under a path.
pub(super) fn made(
    title: &str,
    model: &Path,
    name: &str,
    open: Open<'_>,
    of_blocks: impl FnOnce(&[&str]) -> Vec<PathBuf>,
) -> Option<String> {
    // Of several requests one is answered at a time: what they take does not add up.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match name {
        "run.json" => Some(run(title, model, open, iterations(of_blocks(&["done.json"]), open)).to_string()),
        CAMERAS => serde_json::to_string(&cameras(of_blocks(&["run", CAMERAS]), open)).ok(),
        "env.json" => Some("{}".to_owned()),
        "config.resolved.yaml" | "metrics.jsonl" | "memory.jsonl" => Some(String::new()),
        _ => None,
    }
}

/// The most iterations that a block was trained for.
fn iterations(done: Vec<PathBuf>, open: Open<'_>) -> u64 {
    let of_block = |path: PathBuf| number(open(&path)?, DONE_BYTES, "iterations");
    done.into_iter().filter_map(of_block).max().unwrap_or(0)
}

/// The index of the run.
fn run(title: &str, model: &Path, open: Open<'_>, iterations: u64) -> Value {
    let name = model.file_name().and_then(|name| name.to_str()).unwrap_or(MODEL);
    let file = open(model);
    let bytes = file
        .as_ref()
        .and_then(|file| file.metadata().ok())
        .map_or(0, |file| file.len());
    let gaussians = file.and_then(gaussians).unwrap_or(0);
    let ply = json!({
        "iteration": iterations, "kind": "fused", "path": name, "gaussians": gaussians, "bytes": bytes,
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
fn gaussians(model: File) -> Option<u64> {
    let mut head = Vec::new();
    model.take(HEADER_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().find_map(|line| line.strip_prefix("element vertex "))?;
    line.trim().parse().ok()
}

/// The cameras of all blocks, each once: neighbours share many.
fn cameras(files: Vec<PathBuf>, open: Open<'_>) -> Vec<CameraRecord> {
    let mut known = BTreeSet::new();
    let mut cameras: Vec<CameraRecord> = Vec::new();
    let mut left = ALL_CAMERAS_BYTES;
    for path in files {
        let Some(file) = open(&path) else { continue };
        let bytes = file.metadata().map_or(0, |file| file.len());
        // A block whose file is damaged has its own cameras to say so.
        let (true, Some(rest)) = (bytes <= CAMERAS_BYTES, left.checked_sub(bytes)) else {
            continue;
        };
        left = rest;
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(file.take(bytes)));
        for camera in json.deserialize_seq(Cameras).unwrap_or_default() {
            if cameras.len() < MOST_CAMERAS && known.insert(camera.img_name.clone()) {
                cameras.push(camera);
            }
        }
    }
    cameras
}

/// Reads a list of cameras, no more of them than are shown.
struct Cameras;

impl<'de> Visitor<'de> for Cameras {
    type Value = Vec<CameraRecord>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of cameras")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        let mut cameras: Vec<CameraRecord> = Vec::new();
        while let Some(mut camera) = list.next_element::<CameraRecord>()? {
            let fits = camera.img_name.len() <= NAME_BYTES && camera.split.len() <= NAME_BYTES;
            if fits && cameras.len() < MOST_CAMERAS {
                // What was read in pieces has room for more.
                camera.img_name.shrink_to_fit();
                camera.split.shrink_to_fit();
                cameras.push(camera);
            }
        }
        Ok(cameras)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn cameras_of_blocks_each_once_and_of_a_bounded_size() {
        let folder = Scratch::new();
        let camera = |name: &str| {
            format!(
                r#"{{"id": 0, "img_name": "{name}", "width": 4, "height": 3, "position": [0.1, 0.0, 3.0], "more": [[1], {{}}],
                    "rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "fy": 2.5, "fx": 2.5, "cx": 2.0, "cy": 1.5, "split": "train"}}"#
            )
        };
        let files = [
            ("a", format!("[{}, {}]", camera("1"), camera("2"))),
            ("b", format!("[{}, {}]", camera("2"), camera("3"))),
            ("damaged", format!("[{}, ", camera("4"))),
            ("no camera", "[{}]".to_owned()),
            (
                "names",
                format!("[{}, {}]", camera(&"x".repeat(NAME_BYTES + 1)), camera("5")),
            ),
            ("large", format!("[{}]", camera("6"))),
        ];
        for (name, text) in &files {
            folder.write(name, text);
        }
        // What follows the list is not read, and counts.
        let enlarge = |path: &Path, bytes: u64| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(bytes).unwrap();
        };
        enlarge(&folder.path().join("large"), CAMERAS_BYTES + 1);
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        let open = |path: &Path| File::open(path).ok();
        let names = |files: Vec<PathBuf>| -> Vec<String> {
            let found = cameras(files, &open).into_iter();
            found.map(|camera| camera.img_name).collect()
        };
        assert_eq!(names(paths), ["1", "2", "3", "5"]);
        // As many as are shown, and as many bytes as are read of all.
        let many: Vec<String> = (0..MOST_CAMERAS + 9).map(|at| camera(&at.to_string())).collect();
        folder.write("many", format!("[{}]", many.join(",")));
        assert_eq!(names(vec![folder.path().join("many")]).len(), MOST_CAMERAS);
        let large = |at: usize| {
            let name = format!("large {at}");
            let path = folder.write(&name, format!("[{}]", camera(&name)));
            enlarge(&path, CAMERAS_BYTES);
            path
        };
        assert_eq!(names((0..6).map(large).collect()).len(), 4);
    }
}
