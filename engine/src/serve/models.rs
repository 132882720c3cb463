//! Models without a run: a file, or a folder of Streamed SOG. Each stands for a run whose other files are made.
//!
//! Owns which files of such a folder are shown: `lod-meta.json`, cameras beside it, and the descriptions and images of chunks.

use std::path::Path;

use kiln_formats::sog::{INDEX, META};
use serde_json::Value;

use super::merged::{self, Open};
use super::numbers::number;

/// The file that makes a folder one of 3D Tiles.
const TILESET: &str = "tileset.json";
/// Folders above a chunk's files, at most.
const DEPTH: usize = 4;
/// Largest description in which the number of Gaussians is looked for.
const INDEX_BYTES: u64 = 64 << 20;

/// Whether a folder holds levels of detail, and is not a run.
pub(super) fn is_streamed(folder: &Path) -> bool {
    folder.join(INDEX).is_file() && !folder.join("run.json").exists()
}

/// What a folder is in which a model lies that is not shown.
pub(super) fn other(folder: &Path) -> Option<&'static str> {
    let kinds = [
        (TILESET, "a folder of 3D Tiles"),
        (META, "a folder of SOG without levels of detail"),
    ];
    let found = kinds.into_iter().find(|(name, _)| folder.join(name).is_file());
    found.map(|(_, what)| what)
}

/// Whether a path inside a folder of Streamed SOG is one of its files.
pub(super) fn is_shown(path: &[String]) -> bool {
    match path {
        [name] => name == INDEX || name == merged::CAMERAS,
        [_, .., name] => path.len() <= DEPTH && (name == META || name.ends_with(".webp")),
        [] => false,
    }
}

/// Whether a folder inside one of Streamed SOG may hold files of it.
pub(super) fn may_hold(folder: &[String]) -> bool {
    folder.len() < DEPTH
}

/// A file of the run that the model `name` in `folder` stands for; nothing for one that lies there or that a run does not have.
pub(super) fn made(folder: &Path, name: &str, title: &str, file: &str, open: Open<'_>) -> Option<String> {
    let streamed = name == INDEX;
    if streamed && file == merged::CAMERAS && folder.join(file).is_file() {
        return None;
    }
    let model = folder.join(name);
    merged::made(title, &model, file, open, |_| Vec::new()).map(|text| match (streamed, file) {
        (true, "run.json") => with_count(&text, &model, open).unwrap_or(text),
        _ => text,
    })
}

/// The index of a run with the number of Gaussians that a description of levels says.
fn with_count(run: &str, index: &Path, open: Open<'_>) -> Option<String> {
    let count = number(open(index)?, INDEX_BYTES, "counts")?;
    let mut run: Value = serde_json::from_str(run).ok()?;
    *run.pointer_mut("/plys/0/gaussians")? = count.into();
    Some(run.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::root::Root;
    use super::*;
    use kiln_scratch::Scratch;

    fn path(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    fn made_json(root: &Root, name: &str) -> Value {
        serde_json::from_str(&root.made(&path(name)).unwrap()).unwrap()
    }

    #[test]
    fn a_folder_of_levels_stands_for_a_run() {
        let folder = Scratch::new();
        folder.write(
            "city/lod-meta.json",
            r#"{"counts":[70,35],"filenames":["0_0/meta.json"]}"#,
        );
        for name in ["0_0/meta.json", "0_0/means_l.webp", "0_0/notes.txt", "secret.json"] {
            folder.write(&format!("city/{name}"), "x");
        }
        folder.write("run/run.json", "{}");
        folder.write("run/lod-meta.json", "{}");
        let root = Root::open(folder.path()).unwrap();
        let runs: Vec<String> = root.runs().iter().map(|run| run.path()).collect();
        assert_eq!(runs, ["runs/city", "runs/run"]);
        let ply = &made_json(&root, "city/run.json")["plys"][0];
        assert_eq!((&ply["path"], &ply["gaussians"]), (&"lod-meta.json".into(), &70.into()));
        assert_eq!(made_json(&root, "city/cameras.json"), Value::Array(Vec::new()));
        for name in ["lod-meta.json", "0_0/meta.json", "0_0/means_l.webp"] {
            assert!(root.file(&path(&format!("city/{name}"))).is_some(), "{name}");
        }
        for name in [
            "city/secret.json",
            "city/0_0/notes.txt",
            "city/0_0",
            "run/lod-meta.json",
        ] {
            assert_eq!(root.file(&path(name)), None, "{name}");
        }
        folder.write("city/cameras.json", "[1]");
        assert_eq!(root.made(&path("city/cameras.json")), None);
        let files: Vec<String> = root
            .files(&root.runs()[0])
            .iter()
            .map(|(path, _)| path.join("/"))
            .collect();
        assert_eq!(
            files,
            ["0_0/means_l.webp", "0_0/meta.json", "cameras.json", "lod-meta.json"]
        );
        let files = root.made_files(&root.runs()[0]);
        assert!(files.iter().all(|(name, _)| *name != "cameras.json") && files.len() == 5);
        // The folder itself, by its own name or that of its description.
        for place in ["city", "city/lod-meta.json"] {
            let one = Root::open(&folder.path().join(place)).unwrap();
            assert_eq!(one.runs()[0].path(), "runs/city", "{place}");
            assert!(one.file(&path("city/0_0/meta.json")).is_some());
        }
    }

    #[test]
    fn a_file_stands_for_a_run_and_what_lies_beside_it_is_not_shown() {
        let folder = Scratch::new();
        for name in ["a.sog", "b.sog", "cameras.json", "run.json", "notes.txt"] {
            folder.write(name, "x");
        }
        let root = Root::open(&folder.path().join("a.sog")).unwrap();
        assert_eq!(root.runs()[0].path(), "runs/a.sog");
        assert_eq!(made_json(&root, "a.sog/run.json")["plys"][0]["path"], "a.sog");
        assert_eq!(made_json(&root, "a.sog/cameras.json"), Value::Array(Vec::new()));
        assert!(root.file(&path("a.sog/a.sog")).is_some());
        for name in [
            "a.sog/b.sog",
            "a.sog/run.json",
            "a.sog/notes.txt",
            "a.sog",
            "b.sog/b.sog",
            "b.sog",
        ] {
            assert_eq!(root.file(&path(name)), None, "{name}");
        }
        assert_eq!(root.files(&root.runs()[0]).len(), 1);
        assert!(Root::open(&folder.path().join("notes.txt")).is_err());
    }
}
