//! A folder that any web server can serve: the page, the index and copies of the runs' files.
//!
//! A record in the folder names every file of the export. A later export into the same folder replaces them and removes
//! those that are no more; files of other programs stay. Without the record, a folder that is not empty is refused.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ServeError;
use super::opening::open_below;
use super::root::{EXPORT_RECORD, RUN_JSON, RUN_JSON_BYTES, Root, Run};
use super::segments::is_plain;
use super::{assets, projects, published};
use crate::export::{ExportError, refuse_link, write_atomic, write_json};

/// Bytes of an export's record that are read.
const RECORD_BYTES: u64 = 64 << 20;

/// What an export wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Runs.
    pub runs: usize,
    /// Files, those of the page included.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

/// The record that makes a folder an export.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Version of this record.
    schema_version: u32,
    /// Paths of all files, `/` separated, sorted.
    files: BTreeSet<String>,
}

/// One file to write.
enum Source {
    Bytes(Vec<u8>),
    Copy(PathBuf),
}

/// Writes the runs of `folder` with the page into `output`.
///
/// # Errors
/// [`ServeError`] when there is nothing to export, the folder holds something else, or the disk refuses.
pub fn export(folder: &Path, output: &Path) -> Result<Exported, ServeError> {
    if assets::all().is_empty() {
        return Err(ServeError::NoPage);
    }
    let root = Root::open(folder)?;
    root.check()?;
    let before = earlier(output)?;
    let (runs, comparisons) = (root.runs(), root.comparisons());
    if runs.is_empty() && comparisons.is_empty() {
        return Err(ServeError::NoRuns {
            path: folder.to_owned(),
        });
    }
    let files = sources(&root, &runs, comparisons)?;
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    // Until the end the record names old files and new ones: a broken-off export can be done again.
    let all: BTreeSet<String> = names.union(&before.files).cloned().collect();
    // All are checked before the first is written.
    for name in &all {
        refuse_link(output, &below(output, name))?;
    }
    record(output, all)?;
    let mut bytes = 0;
    for (name, source) in &files {
        bytes += write(&root, &below(output, name), source)?;
    }
    for name in before.files.difference(&names) {
        remove(output, name);
    }
    let count = names.len();
    record(output, names)?;
    Ok(Exported {
        runs: runs.len(),
        files: count,
        bytes,
    })
}

/// The record of an earlier export; an empty one for a folder that is new or empty.
fn earlier(output: &Path) -> Result<Record, ServeError> {
    let fail = |error| ServeError::Write(ExportError::new(output, error));
    let empty = match fs::read_dir(output) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(fail(error)),
    };
    if empty {
        return Ok(Record::default());
    }
    let foreign = || ServeError::NotAnExport {
        path: output.to_owned(),
    };
    let folder = dunce::canonicalize(output).map_err(fail)?;
    let mut text = String::new();
    let read = open_below(&folder, Path::new(EXPORT_RECORD));
    let read = read.and_then(|file| file.take(RECORD_BYTES).read_to_string(&mut text));
    read.map_err(|_| foreign())?;
    let record: Record = serde_json::from_str(&text).map_err(|_| foreign())?;
    // Names in the record are removed: none may lead out of the folder.
    let plain = |name: &String| name.split('/').all(is_plain);
    record.files.iter().all(plain).then_some(record).ok_or_else(foreign)
}

fn record(output: &Path, files: BTreeSet<String>) -> Result<(), ServeError> {
    let record = Record {
        schema_version: 1,
        files,
    };
    Ok(write_json(&output.join(EXPORT_RECORD), &record)?)
}

/// All files of an export by name; the indices last, so that no reader of a running export sees a run that is not there.
fn sources(root: &Root, runs: &[Run], comparisons: Vec<String>) -> Result<Vec<(String, Source)>, ServeError> {
    let page = assets::all().iter();
    let mut files: Vec<_> = page
        .map(|asset| (asset.name.to_owned(), Source::Bytes(asset.bytes.to_vec())))
        .collect();
    for run in runs {
        for (path, place) in root.files(run) {
            let source = match path.last().is_some_and(|name| name == RUN_JSON) {
                true => published(root, place)?,
                false => Source::Copy(place),
            };
            files.push((format!("{}/{}", run.path(), path.join("/")), source));
        }
        let made = root.made_files(run).into_iter();
        files.extend(made.map(|(name, text)| (format!("{}/{name}", run.path()), Source::Bytes(text.into_bytes()))));
    }
    for path in &comparisons {
        let inside: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        files.extend(root.file(&inside).map(|place| (path.clone(), Source::Copy(place))));
    }
    let paths: Vec<String> = runs.iter().map(Run::path).collect();
    for (name, index) in [
        ("comparisons.json", comparisons.into()),
        ("projects.json", projects::index(root)),
        ("runs.json", paths.into()),
    ] {
        files.push((name.to_owned(), Source::Bytes(index.to_string().into_bytes())));
    }
    Ok(files)
}

/// The index of a run as others may see it.
///
/// # Errors
/// When it cannot be read, or is larger than one may be.
fn published(root: &Root, place: PathBuf) -> Result<Source, ServeError> {
    let mut text = String::new();
    let read = opened(root, &place).and_then(|file| file.take(RUN_JSON_BYTES + 1).read_to_string(&mut text));
    let fits = read.and_then(|bytes| match bytes as u64 > RUN_JSON_BYTES {
        true => Err(io::Error::other(format!(
            "it is larger than {} MiB",
            RUN_JSON_BYTES >> 20
        ))),
        false => Ok(()),
    });
    fits.map_err(|error| ExportError::new(&place, error))?;
    Ok(match published::index(&text) {
        Some(text) => Source::Bytes(text.into_bytes()),
        None => Source::Copy(place),
    })
}

fn opened(root: &Root, place: &Path) -> io::Result<File> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, "it is no file any more");
    root.open_at(place).ok_or_else(gone)
}

fn below(output: &Path, name: &str) -> PathBuf {
    name.split('/').fold(output.to_owned(), |path, part| path.join(part))
}

/// Writes one file; its bytes.
fn write(root: &Root, path: &Path, source: &Source) -> Result<u64, ServeError> {
    let mut bytes = 0;
    write_atomic(path, |file| {
        bytes = match source {
            Source::Bytes(content) => file.write_all(content).map(|()| content.len() as u64)?,
            Source::Copy(place) => io::copy(&mut opened(root, place)?, file)?,
        };
        Ok(())
    })?;
    Ok(bytes)
}

/// Removes a file of an earlier export, and the folders that it leaves empty. What is gone already is fine.
fn remove(output: &Path, name: &str) {
    let path = below(output, name);
    fs::remove_file(&path).ok();
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != output) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;
    use serde_json::Value;

    #[test]
    fn folders_with_other_things_are_refused() {
        let (runs, out) = (Scratch::new(), Scratch::new());
        runs.write("a/run.json", "{}");
        out.write("notes.txt", "mine");
        let refused = export(runs.path(), out.path()).unwrap_err();
        assert!(matches!(refused, ServeError::NotAnExport { .. }), "{refused}");
        for record in ["", "[]", r#"{"schema_version":1,"files":["../notes.txt"]}"#] {
            out.write(EXPORT_RECORD, record);
            let refused = export(runs.path(), out.path()).unwrap_err();
            assert!(matches!(refused, ServeError::NotAnExport { .. }), "{refused}");
        }
        assert_eq!(fs::read_to_string(out.path().join("notes.txt")).unwrap(), "mine");
    }

    #[test]
    fn commands_and_folders_of_this_machine_stay_here() {
        let (runs, out) = (Scratch::new(), Scratch::new());
        let index = r#"{"scene":{"name":"garden","path":"/home/me/garden"},
            "made_by":{"command":["train","/home/me/garden"],"recipe":"draft","seed":3}}"#;
        runs.write("a/run.json", index);
        export(runs.path(), out.path()).unwrap();
        let text = fs::read_to_string(out.path().join("runs/a/run.json")).unwrap();
        assert!(!text.contains("home") && !text.contains("command"), "{text}");
        let index: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(index["scene"]["path"], "garden");
        assert_eq!(
            (&index["made_by"]["recipe"], &index["made_by"]["seed"]),
            (&"draft".into(), &3.into())
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_folder_are_not_followed() {
        let (runs, out, theirs) = (Scratch::new(), Scratch::new(), Scratch::new());
        runs.write("a/run.json", "{}");
        export(runs.path(), out.path()).unwrap();
        fs::remove_dir_all(out.path().join("runs")).unwrap();
        theirs.write("a/run.json", "theirs");
        std::os::unix::fs::symlink(theirs.path(), out.path().join("runs")).unwrap();
        let refused = export(runs.path(), out.path()).unwrap_err().to_string();
        assert!(refused.contains("runs: it is a link"), "{refused}");
        assert_eq!(fs::read_to_string(theirs.path().join("a/run.json")).unwrap(), "theirs");
    }

    #[test]
    fn a_second_export_removes_what_is_no_more() {
        let (runs, out) = (Scratch::new(), Scratch::new());
        runs.write("a/run.json", "{}");
        runs.write("a/eval/iteration_1/render/test/v.png", "png");
        runs.write("b/run.json", "{}");
        runs.write("compare.json", "{}");
        let first = export(runs.path(), out.path()).unwrap();
        assert_eq!(first.runs, 2);
        out.write("robots.txt", "mine");
        fs::remove_dir_all(runs.path().join("a/eval")).unwrap();
        fs::remove_dir_all(runs.path().join("b")).unwrap();
        let second = export(runs.path(), out.path()).unwrap();
        assert_eq!((second.runs, first.files - second.files), (1, 2));
        let has = |name: &str| out.path().join(name).exists();
        assert!(has("index.html") && has("runs/a/run.json") && has("robots.txt"));
        assert!(has("compare.html") && has("runs/compare.json"));
        let index = fs::read_to_string(out.path().join("comparisons.json")).unwrap();
        assert_eq!(index, r#"["runs/compare.json"]"#);
        assert!(!has("runs/a/eval") && !has("runs/b"));
        assert_eq!(
            fs::read_to_string(out.path().join("runs.json")).unwrap(),
            r#"["runs/a"]"#
        );
    }

    #[test]
    fn nothing_to_export() {
        let (runs, out) = (Scratch::new(), Scratch::new());
        let refused = export(runs.path(), &out.path().join("site")).unwrap_err();
        assert!(matches!(refused, ServeError::NoRuns { .. }), "{refused}");
        assert!(!out.path().join("site").exists());
    }
}
