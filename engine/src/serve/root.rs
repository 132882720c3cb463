//! The folder with the runs: which there are, and where a file of one lies.
//!
//! A run is a folder with a `run.json`; a run inside a run is not looked for, but for that of a stage that refines. The folder itself may be one run. Beside
//! runs there may be comparisons of them, one JSON file each. Projects of blocks hold runs, however deep they lie themselves, and
//! the folder of a merged model stands for a run whose other files are made ([`super::merged`]). So do a folder of Streamed SOG, and
//! a model's file where that is all that is shown ([`super::models`]).

use std::fs::{self, File, FileType};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use kiln_formats::sog::INDEX;

use super::ServeError;
use super::numbers::number;
use super::opening::open_below;
use super::segments::is_plain;
use super::{layout, merged, models};
use crate::export::check_model;
use crate::project::{BLOCKS, ProjectFolder};

/// How deep below the folder a run may lie: `runs/sweep/scene/run` has depth 3.
const DEPTH: usize = 4;
/// How deep below a project its runs lie: `blocks/b0000/run`.
const PROJECT_DEPTH: usize = 3;
/// Runs in the index; more are left out.
const RUNS: usize = 1000;
/// Entries of folders looked at for one index, so that a folder with a million files costs a moment and no more.
const ENTRIES: usize = 20_000;
/// Bytes of a `run.json` that are read.
pub(super) const RUN_JSON_BYTES: u64 = 4 << 20;

/// The record that [`super::export()`] leaves; a folder with it is a copy, and its runs are listed where they came from.
pub(super) const EXPORT_RECORD: &str = "kiln-export.json";

/// The file that makes a folder a run.
pub(super) const RUN_JSON: &str = "run.json";

/// The folder whose runs are shown.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// Absolute, with all symbolic links resolved.
    folder: PathBuf,
    /// The model in it that is shown alone.
    file: Option<String>,
}

/// A run inside the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Names of the folders that lead to it; its own name when the root is the run.
    pub(super) name: Vec<String>,
    /// Where it lies.
    pub(super) folder: PathBuf,
}

impl Run {
    /// The path as the page knows it: `runs/...`, relative, not percent-encoded.
    pub(super) fn path(&self) -> String {
        format!("runs/{}", self.name.join("/"))
    }
}

/// A project of blocks inside the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Project {
    /// Names of the folders that lead to it; none when the root is the project.
    pub(super) name: Vec<String>,
    /// Where it lies.
    pub(super) folder: PathBuf,
}

/// What a folder holds.
#[derive(Debug, Default)]
struct Found {
    runs: Vec<Run>,
    projects: Vec<Project>,
    /// Paths of comparisons, relative to the root.
    comparisons: Vec<String>,
}

impl Found {
    const fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.projects.is_empty() && self.comparisons.is_empty()
    }
}

impl Root {
    /// # Errors
    /// [`ServeError::Folder`] when there is no such folder, or file of a model.
    pub(super) fn open(folder: &Path) -> Result<Self, ServeError> {
        let fail = |source| ServeError::Folder {
            path: folder.to_owned(),
            source,
        };
        let resolved = folder.canonicalize().map_err(fail)?;
        let name = resolved.file_name().and_then(|name| name.to_str());
        if let (true, Some(name), Some(above)) = (resolved.is_file(), name, resolved.parent()) {
            let alone = is_plain(name) && layout::is_model(name);
            if alone || name == INDEX {
                return Ok(Self {
                    folder: above.to_owned(),
                    file: alone.then(|| name.to_owned()),
                });
            }
        }
        fs::read_dir(&resolved).map_err(fail)?;
        Ok(Self {
            folder: resolved,
            file: None,
        })
    }

    /// Looks at what is shown alone before it is: a model, or a folder of another format, which would look like one without runs yet.
    ///
    /// # Errors
    /// [`ServeError::Model`] or [`ServeError::NotShown`].
    pub(super) fn check(&self) -> Result<(), ServeError> {
        if let Some(file) = &self.file {
            return Ok(check_model(&self.folder.join(file))?);
        }
        match models::other(&self.folder) {
            Some(what) if self.itself().is_none() && self.found().is_empty() => Err(ServeError::NotShown {
                path: self.folder.clone(),
                what,
            }),
            _ => Ok(()),
        }
    }

    /// All runs, the newest first; looked for anew on each call, because training goes on.
    pub(super) fn runs(&self) -> Vec<Run> {
        let runs = match self.itself() {
            Some(run) => vec![run],
            None => self.found().runs,
        };
        let stages: Vec<Run> = runs.iter().filter_map(refined).collect();
        let runs = runs.into_iter().chain(stages);
        let mut dated: Vec<(u64, Run)> = runs.map(|run| (self.started(&run.folder), run)).collect();
        dated.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.name.cmp(&y.name)));
        dated.into_iter().map(|(_, run)| run).collect()
    }

    /// Paths of all comparisons as the page knows them: `runs/...`, relative, not percent-encoded. Sorted.
    pub(super) fn comparisons(&self) -> Vec<String> {
        if self.itself().is_some() {
            return Vec::new();
        }
        let mut paths = self.found().comparisons;
        paths.sort();
        paths
    }

    /// All projects of blocks, sorted by name.
    pub(super) fn projects(&self) -> Vec<Project> {
        if self.itself().is_some() {
            return Vec::new();
        }
        let mut projects = self.found().projects;
        projects.sort_by(|a, b| a.name.cmp(&b.name));
        projects
    }

    /// Whether the folder itself is a project.
    pub(super) fn is_project(&self) -> bool {
        self.itself().is_none() && is_project(&self.folder)
    }

    fn found(&self) -> Found {
        let mut found = Found::default();
        collect(&self.folder, &mut Vec::new(), DEPTH, &mut ENTRIES.clone(), &mut found);
        found
    }

    /// The folder as messages may name it: nobody who looks at the page needs to know where on the machine it lies.
    pub(super) fn without_folder(&self, text: &str) -> String {
        // The longer name of Windows first: the plain one is a part of it.
        let names = [self.folder.as_path(), dunce::simplified(&self.folder)].map(|path| path.display().to_string());
        names.iter().fold(text.to_owned(), |text, name| {
            let inside = |text: String, separator| text.replace(&format!("{name}{separator}"), "");
            ['/', '\\'].into_iter().fold(text, inside).replace(name, "the folder")
        })
    }

    /// When a run started, in Unix seconds, or its model was merged; 0 when its `run.json` does not say.
    fn started(&self, run: &Path) -> u64 {
        let model = match is_merged(run) {
            true => Some(merged::MODEL),
            false => models::is_streamed(run).then_some(INDEX),
        };
        if let Some(model) = model {
            let changed = fs::metadata(run.join(model)).and_then(|file| file.modified());
            let since = changed.ok().and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
            return since.map_or(0, |since| since.as_secs());
        }
        let record = self.open_at(&run.join(RUN_JSON));
        record
            .and_then(|file| number(file, RUN_JSON_BYTES, "started_unix_s"))
            .unwrap_or(0)
    }

    /// Name of the folder itself.
    pub(super) fn own_name(&self) -> &str {
        let name = self.folder.file_name().and_then(|name| name.to_str());
        name.filter(|name| is_plain(name)).unwrap_or("run")
    }

    /// The root as a run, when it is one.
    fn itself(&self) -> Option<Run> {
        let name = match &self.file {
            Some(file) => file,
            None => self.own_name(),
        };
        let is_one = self.file.is_some() || self.folder.join(RUN_JSON).is_file() || models::is_streamed(&self.folder);
        is_one.then(|| Run {
            name: vec![name.to_owned()],
            folder: self.folder.clone(),
        })
    }

    /// The run that a path below `runs/` leads into, and the rest of the path inside it.
    fn find<'a>(&self, path: &'a [String]) -> Option<(PathBuf, &'a [String])> {
        if let Some(run) = self.itself() {
            let rest = path.strip_prefix(run.name.as_slice())?;
            return Some((run.folder, rest));
        }
        let mut folder = self.folder.clone();
        let mut deepest = DEPTH;
        for (index, name) in path.iter().enumerate() {
            if is_project(&folder) {
                deepest = index + PROJECT_DEPTH;
            }
            if index >= deepest {
                break;
            }
            folder.push(name);
            if is_run(&folder) {
                return Some((folder, &path[index + 1..]));
            }
        }
        None
    }

    /// A file of the run that a merged model stands for, which lies nowhere: it is made. `path` are plain segments below `runs/`.
    pub(super) fn made(&self, path: &[String]) -> Option<String> {
        if !path.iter().all(|name| is_plain(name)) {
            return None;
        }
        let (folder, inside) = self.find(path)?;
        let [name] = inside else { return None };
        self.made_of(&folder, name)
    }

    fn made_of(&self, folder: &Path, name: &str) -> Option<String> {
        let open = |path: &Path| self.open_at(path);
        if let Some(file) = &self.file {
            return models::made(folder, file, file, name, &open);
        }
        if models::is_streamed(folder) {
            return models::made(folder, INDEX, folder.file_name()?.to_str()?, name, &open);
        }
        let project = folder.parent().filter(|_| is_merged(folder))?;
        let model = self.inside(folder, &[merged::MODEL.to_owned()])?;
        let title = match project == self.folder {
            true => self.own_name(),
            false => project.file_name()?.to_str()?,
        };
        merged::made(title, &model, name, &open, |path| {
            let mut blocks: Vec<String> = names(&project.join(BLOCKS)).take(RUNS).collect();
            blocks.sort();
            let file = |block: &String| {
                let path = [BLOCKS, block]
                    .into_iter()
                    .chain(path.iter().copied())
                    .map(str::to_owned);
                self.inside(project, &path.collect::<Vec<_>>())
            };
            blocks.iter().filter_map(file).collect()
        })
    }

    /// The files of a run that are made, by name.
    pub(super) fn made_files(&self, run: &Run) -> Vec<(&'static str, String)> {
        let names = merged::FILES.into_iter();
        names
            .filter_map(|name| Some((name, self.made_of(&run.folder, name)?)))
            .collect()
    }

    /// Where the file of a run lies that `path`, plain segments below `runs/`, names. `None` when there is none, when
    /// it is not one of a run's files, or when a symbolic link leads out of the root.
    pub(super) fn file(&self, path: &[String]) -> Option<PathBuf> {
        if !path.iter().all(|name| is_plain(name)) {
            return None;
        }
        match self.find(path) {
            Some((run, inside)) => self.file_of(&run, inside),
            None => {
                let shown = path.len() <= DEPTH && path.last().is_some_and(|name| layout::is_comparison(name));
                shown.then(|| self.inside(&self.folder, path)).flatten()
            }
        }
    }

    fn file_of(&self, run: &Path, inside: &[String]) -> Option<PathBuf> {
        let shown = match &self.file {
            Some(file) => inside == [file.as_str()],
            None if is_merged(run) => inside == [merged::MODEL],
            None if models::is_streamed(run) => models::is_shown(inside),
            None => layout::is_shown(inside),
        };
        shown.then(|| self.inside(run, inside)).flatten()
    }

    /// Opens a file inside the root. Links are resolved first, and followed no more then: one that leads out of the root, or that comes
    /// in place of the file meanwhile, leads to nothing. So does what is no file.
    pub(super) fn open_at(&self, path: &Path) -> Option<File> {
        let resolved = path.canonicalize().ok()?;
        open_below(&self.folder, resolved.strip_prefix(&self.folder).ok()?).ok()
    }

    /// The file at `path` below `folder`, unless a symbolic link leads out of the root.
    fn inside(&self, folder: &Path, path: &[String]) -> Option<PathBuf> {
        let place = path.iter().fold(folder.to_owned(), |place, name| place.join(name));
        let resolved = place.canonicalize().ok()?;
        self.holds(&resolved).then_some(resolved)
    }

    /// Whether a path leads to a file inside the root. A pipe or a device would block whoever opens it.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let resolved = path.canonicalize();
        resolved.is_ok_and(|resolved| resolved.starts_with(&self.folder) && resolved.is_file())
    }

    /// All files of a run that are shown: path inside the run, and where the file lies. Sorted.
    pub(super) fn files(&self, run: &Run) -> Vec<(Vec<String>, PathBuf)> {
        let mut files = Vec::new();
        self.walk(&run.folder, &mut Vec::new(), &mut files);
        files.sort();
        files
    }

    fn walk(&self, run: &Path, inside: &mut Vec<String>, files: &mut Vec<(Vec<String>, PathBuf)>) {
        let folder = inside.iter().fold(run.to_owned(), |place, name| place.join(name));
        let within = folder
            .canonicalize()
            .is_ok_and(|resolved| resolved.starts_with(&self.folder));
        let may_hold = match models::is_streamed(run) {
            _ if self.file.is_some() => inside.is_empty(),
            true => models::may_hold(inside),
            false => layout::may_hold(inside),
        };
        if !within || !may_hold {
            return;
        }
        // All are read before a folder inside is opened.
        for name in names(&folder).collect::<Vec<_>>() {
            inside.push(name);
            match self.file_of(run, inside) {
                Some(place) => files.push((inside.clone(), place)),
                None => self.walk(run, inside, files),
            }
            inside.pop();
        }
    }
}

/// Names in a folder that can be part of an address.
fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_plain(name))
}

/// Whether a folder is a project of blocks.
fn is_project(folder: &Path) -> bool {
    ProjectFolder::is_one(folder) && folder.join(BLOCKS).is_dir()
}

/// Whether a folder is a run, or a model that stands for one.
fn is_run(folder: &Path) -> bool {
    folder.join(RUN_JSON).is_file() || is_merged(folder) || models::is_streamed(folder)
}

/// Whether a folder is that of a project's merged model.
fn is_merged(folder: &Path) -> bool {
    folder.ends_with(merged::FOLDER)
        && folder.join(merged::MODEL).is_file()
        && !folder.join(RUN_JSON).exists()
        && folder.parent().is_some_and(is_project)
}

/// Names in a folder with what each is, no more than `most`. Read whole before folders inside are opened: a reader holds one
/// descriptor, however deep it is.
fn entries_of(folder: &Path, most: usize) -> Vec<(String, FileType)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(most);
    entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
        .collect()
}

/// Adds what lies below `folder`, called `name` so far, runs down to the depth `deepest`. Links are not followed: what they show inside
/// the root is listed under its own name, and what lies outside is not shown.
fn collect(folder: &Path, name: &mut Vec<String>, deepest: usize, entries: &mut usize, found: &mut Found) {
    let mut deepest = deepest;
    if is_project(folder) {
        deepest = name.len() + PROJECT_DEPTH;
        found.projects.push(Project {
            name: name.clone(),
            folder: folder.to_owned(),
        });
    }
    for (own, kind) in entries_of(folder, *entries) {
        if *entries == 0 || found.runs.len() == RUNS {
            return;
        }
        *entries -= 1;
        if kind.is_file() && is_plain(&own) && layout::is_comparison(&own) {
            let path: Vec<&str> = name.iter().map(String::as_str).chain([own.as_str()]).collect();
            found.comparisons.push(format!("runs/{}", path.join("/")));
        }
        if !is_plain(&own) || !kind.is_dir() {
            continue;
        }
        let path = folder.join(&own);
        name.push(own);
        if is_run(&path) {
            found.runs.push(Run {
                name: name.clone(),
                folder: path,
            });
        } else if name.len() < deepest && !path.join(EXPORT_RECORD).exists() {
            collect(&path, name, deepest, entries, found);
        }
        name.pop();
    }
}

/// The run inside a run that its refining stage is.
fn refined(run: &Run) -> Option<Run> {
    let folder = run.folder.join(layout::REFINED);
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    (is_folder && folder.join(RUN_JSON).is_file()).then(|| Run {
        name: run.name.iter().cloned().chain([layout::REFINED.to_owned()]).collect(),
        folder,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    fn paths(root: &Root) -> Vec<String> {
        root.runs().iter().map(Run::path).collect()
    }

    #[test]
    fn messages_do_not_name_the_folder() {
        let said = |folder: &str, text: &str| {
            let folder = PathBuf::from(folder);
            Root { folder, file: None }.without_folder(text)
        };
        assert_eq!(said("/srv/runs", "/srv/runs/a/b: bad"), "a/b: bad");
        assert_eq!(said("/srv/runs", "nothing in /srv/runs"), "nothing in the folder");
        if cfg!(windows) {
            let folder = r"\\?\C:\srv\runs";
            assert_eq!(said(folder, r"\\?\C:\srv\runs\a\b: bad"), r"a\b: bad");
            assert_eq!(said(folder, r"C:\srv\runs\a\b: bad"), r"a\b: bad");
            assert_eq!(said(folder, r"nothing in C:\srv\runs"), "nothing in the folder");
        }
    }

    fn file(root: &Root, path: &str) -> Option<PathBuf> {
        root.file(&path.split('/').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn runs_are_found_newest_first() {
        let folder = Scratch::new();
        folder.write("a/run.json", r#"{"started_unix_s": 5}"#);
        folder.write("a/inside/run.json", r#"{"started_unix_s": 99}"#);
        folder.write("sweep/x/y/b/run.json", r#"{"started_unix_s": 9}"#);
        folder.write("sweep/x/y/z/deep/run.json", "{}");
        folder.write("half/run.json", r#"{"started_unix_s": "#);
        folder.write(".hidden/run.json", "{}");
        folder.write("copy/runs/a/run.json", "{}");
        folder.write("copy/kiln-export.json", "{}");
        folder.write("empty/notes.txt", "");
        let root = Root::open(folder.path()).unwrap();
        assert_eq!(paths(&root), ["runs/sweep/x/y/b", "runs/a", "runs/half"]);
        let one = Root::open(&folder.path().join("a")).unwrap();
        assert_eq!(paths(&one), ["runs/a"]);
        assert!(file(&one, "a/run.json").is_some());
        assert!(file(&one, "b/run.json").is_none() && file(&one, "run.json").is_none());
    }

    #[test]
    fn files_of_the_layout_inside_runs() {
        let folder = Scratch::new();
        folder.write("a/run.json", "{}");
        folder.write("a/eval/iteration_1/render/test/room/v.png", "");
        folder.write("a/checkpoints/checkpoint_1.kiln", "");
        folder.write("a/secret.json", "");
        folder.write("other/metrics.jsonl", "");
        let root = Root::open(folder.path()).unwrap();
        for path in ["a/run.json", "a/eval/iteration_1/render/test/room/v.png"] {
            assert!(file(&root, path).is_some_and(|place| place.ends_with(path)), "{path}");
        }
        for path in [
            "a",
            "a/metrics.jsonl",
            "a/secret.json",
            "a/checkpoints/checkpoint_1.kiln",
            "a/eval/iteration_1",
            "other/metrics.jsonl",
            "a/../a/run.json",
            "",
        ] {
            assert_eq!(file(&root, path), None, "{path}");
        }
        let run = &root.runs()[0];
        let listed: Vec<String> = root.files(run).iter().map(|(path, _)| path.join("/")).collect();
        assert_eq!(listed, ["eval/iteration_1/render/test/room/v.png", "run.json"]);
    }

    #[test]
    fn comparisons_lie_beside_runs_and_not_in_them() {
        let folder = Scratch::new();
        folder.write("compare.json", "{}");
        folder.write("sweep/compare-7k.json", "{}");
        folder.write("sweep/a/run.json", "{}");
        folder.write("sweep/a/compare.json", "{}");
        folder.write("sweep/secret.json", "{}");
        let root = Root::open(folder.path()).unwrap();
        assert_eq!(root.comparisons(), ["runs/compare.json", "runs/sweep/compare-7k.json"]);
        for path in ["compare.json", "sweep/compare-7k.json"] {
            assert!(file(&root, path).is_some_and(|place| place.ends_with(path)), "{path}");
        }
        for path in [
            "sweep/a/compare.json",
            "sweep/secret.json",
            "sweep/compare-8k.json",
            "sweep",
        ] {
            assert_eq!(file(&root, path), None, "{path}");
        }
        let one = Root::open(&folder.path().join("sweep/a")).unwrap();
        assert_eq!(one.comparisons(), Vec::<String>::new());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_inside() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (Scratch::new(), Scratch::new());
        folder.write("a/run.json", "{}");
        folder.write("a/env.json", "{}");
        outside.write("run.json", "secret");
        outside.write("eval/gt/test/v.png", "secret");
        symlink(outside.path(), folder.path().join("linked")).unwrap();
        symlink(outside.path().join("run.json"), folder.path().join("a/metrics.jsonl")).unwrap();
        symlink(outside.path().join("eval"), folder.path().join("a/eval")).unwrap();
        symlink(folder.path().join("a/env.json"), folder.path().join("a/memory.jsonl")).unwrap();
        symlink(folder.path().join("a"), folder.path().join("latest")).unwrap();
        symlink(folder.path(), folder.path().join("a/point_cloud")).unwrap();
        symlink(outside.path().join("run.json"), folder.path().join("compare.json")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        assert_eq!(paths(&root), ["runs/a"]);
        assert_eq!(root.comparisons(), Vec::<String>::new());
        for path in [
            "linked/run.json",
            "a/metrics.jsonl",
            "a/eval/gt/test/v.png",
            "compare.json",
        ] {
            assert_eq!(file(&root, path), None, "{path}");
        }
        for path in ["a/memory.jsonl", "latest/run.json"] {
            assert!(file(&root, path).is_some(), "{path}");
        }
        let listed: Vec<String> = root
            .files(&root.runs()[0])
            .iter()
            .map(|(path, _)| path.join("/"))
            .collect();
        assert_eq!(listed, ["env.json", "memory.jsonl", "run.json"]);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Root::open(Path::new("/nowhere/runs")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/runs"), "{error}");
    }
}
