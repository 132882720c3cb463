//! Which run a person means: a run folder, the newest run of a folder, or `latest`.

use std::path::{Path, PathBuf};

use crate::record::run_folder::{RunFolderError, RunRecord, record_path};

/// The word for the newest run below `runs`.
pub(super) const LATEST: &str = "latest";

/// A run folder with its index.
pub(super) struct Found {
    pub(super) root: PathBuf,
    pub(super) record: RunRecord,
}

/// Finds a run: `target` itself when it is a run folder, else the newest run in it; `latest` is the newest in `runs`.
///
/// # Errors
/// [`RunFolderError`] when there is none, or its index cannot be read.
pub(super) fn run(target: &Path) -> Result<Found, RunFolderError> {
    let folder = if target == Path::new(LATEST) && !target.exists() {
        Path::new("runs")
    } else {
        target
    };
    if record_path(folder).exists() {
        let record = RunRecord::read(&record_path(folder))?;
        return Ok(Found {
            root: folder.to_owned(),
            record,
        });
    }
    newest(folder).ok_or_else(|| RunFolderError::NoRun {
        path: folder.to_owned(),
    })
}

/// The run that started last among the folders right below; of two that started in the same second, the one whose name
/// sorts last. Folders whose index cannot be read are passed over.
fn newest(folder: &Path) -> Option<Found> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries.filter_map(|entry| {
        let root = entry.path();
        let record = RunRecord::read(&record_path(&root)).ok()?;
        Some(Found { root, record })
    });
    runs.max_by(|a, b| {
        let key = |found: &Found| (found.record.started_unix_s, found.root.clone());
        key(a).cmp(&key(b))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn the_newest_run_of_a_folder() {
        let scratch = Scratch::new();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run/run.json");
        let text = std::fs::read_to_string(golden).unwrap();
        for (name, started) in [("a", "1750000009"), ("b", "1750000010"), ("c", "1750000001")] {
            scratch.write(&format!("runs/{name}/run.json"), text.replace("1750000000", started));
        }
        scratch.write("runs/broken/run.json", "{");
        scratch.write("runs/other/file", "");
        let runs = scratch.path().join("runs");
        assert_eq!(run(&runs).unwrap().root, runs.join("b"));
        assert_eq!(run(&runs.join("c")).unwrap().root, runs.join("c"));
        assert!(matches!(
            run(&runs.join("broken")),
            Err(RunFolderError::Unreadable { .. })
        ));
        for empty in [runs.join("other"), runs.join("nowhere"), LATEST.into()] {
            assert!(matches!(run(&empty), Err(RunFolderError::NoRun { .. })), "{empty:?}");
        }
    }
}
