//! A project folder and the blocks in it, as they are on disk.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use kiln_files::{open_inside, open_regular, read_opened, read_text};
use serde::de::DeserializeOwned;

use super::records::{BlockRecord, Done, FileRecord, InputFile, ProjectRecord, TypedSetting, VERSION};
use super::{ProjectError, SettingsRecord};
use crate::export::{digest_of, digest_of_file, file_digest, write_atomic, write_json};
use crate::record::run_folder::{PlyKind, RunRecord, record_path};
use kiln_config::{Inputs, Override, quoted};

/// The index of a project.
pub const PROJECT: &str = "project.json";
/// The folder of its blocks.
pub const BLOCKS: &str = "blocks";
/// What says that a block is trained.
pub const DONE: &str = "done.json";
/// Folder and file of the merged model, by default.
const MERGED: &str = "merged/point_cloud.ply";
/// The names of blocks, a line each, relative to the folder of blocks.
pub(super) const LIST: &str = "blocks.txt";
/// Copies of files of settings.
pub(super) const SETTINGS: &str = "settings";
pub(super) const BLOCK: &str = "block.json";
const RUN: &str = "run";
/// Held-out views of a block, or of the project.
pub(super) const HOLD_OUT: &str = "hold_out.txt";
/// Largest record that is read.
const MOST_BYTES: u64 = 256 << 20;

/// A project that was split.
#[derive(Clone, Debug)]
pub struct ProjectFolder {
    /// The folder.
    pub root: PathBuf,
    /// Its index.
    pub record: ProjectRecord,
}

/// A block of a project.
#[derive(Clone, Debug)]
pub struct BlockFolder {
    /// The folder.
    pub root: PathBuf,
    /// Its index.
    pub record: BlockRecord,
    /// SHA-256 of the index.
    pub digest: String,
}

/// Opens a file of a project: as the user may, or as whoever shows a folder to others allows. What was opened is what is read.
pub(crate) type Open<'a> = &'a dyn Fn(&Path) -> io::Result<File>;

/// Where the evaluation of a project's merged model goes.
#[must_use]
pub fn evaluation_path(project: &Path) -> PathBuf {
    project.join("merged/evaluation.json")
}

/// Where a project's merged model goes by default.
#[must_use]
pub fn merged_path(project: &Path) -> PathBuf {
    project.join(MERGED)
}

/// Reads a JSON record of this version.
pub(super) fn read_record<T: DeserializeOwned>(path: &Path) -> Result<T, ProjectError> {
    parse(path, &bytes_of(path, &open_regular)?)
}

fn bytes_of(path: &Path, open: Open<'_>) -> Result<Vec<u8>, ProjectError> {
    let bytes = open(path).and_then(|file| read_opened(file, MOST_BYTES));
    bytes.map_err(|e| ProjectError::Unreadable {
        path: path.to_owned(),
        reason: e.to_string(),
    })
}

/// The record that the file at `path` holds.
fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, ProjectError> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let fail = |reason: String| ProjectError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let found: Version = serde_json::from_slice(bytes).map_err(|e| fail(e.to_string()))?;
    if found.version != VERSION {
        return Err(fail(format!(
            "its version is {} and this program knows {VERSION}",
            found.version
        )));
    }
    serde_json::from_slice(bytes).map_err(|e| fail(e.to_string()))
}

/// True for what names an entry of a folder, and nothing elsewhere.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(part)) if part == name) && parts.next().is_none()
}

pub(super) fn digest(path: &Path) -> Result<String, ProjectError> {
    file_digest(path).map_err(|e| ProjectError::Unreadable {
        path: path.to_owned(),
        reason: e.to_string(),
    })
}

impl ProjectFolder {
    /// Opens the project in a folder; nothing but its blocks may be among its blocks.
    ///
    /// # Errors
    /// [`ProjectError`] when there is no project, its index is damaged, or something does not belong to it.
    pub fn open(root: &Path) -> Result<Self, ProjectError> {
        let project = Self::read(root, &open_regular)?;
        project.check_blocks()?;
        Ok(project)
    }

    /// Reads the index of the project in a folder, whatever lies among its blocks.
    pub(super) fn read(root: &Path, open: Open<'_>) -> Result<Self, ProjectError> {
        let path = root.join(PROJECT);
        if !path.is_file() {
            return Err(ProjectError::NoProject { path: root.to_owned() });
        }
        let record: ProjectRecord = parse(&path, &bytes_of(&path, open)?)?;
        let mut names: Vec<&str> = record.blocks.iter().map(|block| block.name.as_str()).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|two| two[0] == two[1]).map(|two| two[0]);
        if let Some(name) = names.iter().copied().find(|name| !is_plain(name)).or(twice) {
            return Err(ProjectError::Unreadable {
                path,
                reason: format!("`{name}` is no name of a block of its own"),
            });
        }
        Ok(Self {
            root: root.to_owned(),
            record,
        })
    }

    /// Refuses what does not belong among the blocks.
    pub(super) fn check_blocks(&self) -> Result<(), ProjectError> {
        let folder = self.root.join(BLOCKS);
        let entries = fs::read_dir(&folder).map_err(|e| ProjectError::Unreadable {
            path: folder.clone(),
            reason: e.to_string(),
        })?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        let known =
            |name: &String| self.record.blocks.iter().any(|block| block.name == *name) || self.is_left_of_a_cut(name);
        match names.iter().find(|name| !known(name)) {
            Some(foreign) => Err(ProjectError::Foreign {
                path: folder.join(foreign),
            }),
            None => Ok(()),
        }
    }

    /// True for a folder that `kiln split` made.
    #[must_use]
    pub fn is_one(folder: &Path) -> bool {
        folder.join(PROJECT).is_file()
    }

    /// The merged model.
    ///
    /// # Errors
    /// [`ProjectError::NotMerged`] when there is none yet.
    pub fn merged(&self) -> Result<PathBuf, ProjectError> {
        let path = merged_path(&self.root);
        match path.is_file() {
            true => Ok(path),
            false => Err(ProjectError::NotMerged {
                project: self.root.clone(),
                path,
            }),
        }
    }

    /// The project that a block's folder lies in.
    ///
    /// # Errors
    /// See [`ProjectFolder::open`].
    pub fn around(block: &Path) -> Result<(Self, BlockFolder), ProjectError> {
        let block = whole(block);
        let root = block.ancestors().nth(2).map(Path::to_owned).unwrap_or_default();
        let path = root.join(PROJECT);
        if !path.is_file() {
            return Err(ProjectError::NoProjectOf { block, path });
        }
        let project = Self::open(&root)?;
        let name = block.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = project.block(&name)?;
        Ok((project, found))
    }

    /// Opens a block, which must be the one that was split.
    ///
    /// # Errors
    /// [`ProjectError`] when it is missing or another.
    pub fn block(&self, name: &str) -> Result<BlockFolder, ProjectError> {
        self.block_by(name, &open_regular)
    }

    /// [`ProjectFolder::block`], its index opened by `open`.
    pub(super) fn block_by(&self, name: &str, open: Open<'_>) -> Result<BlockFolder, ProjectError> {
        let root = self.root.join(BLOCKS).join(name);
        let path = root.join(BLOCK);
        let Some(entry) = self.record.blocks.iter().find(|block| block.name == name) else {
            let parts = self.parts_of(name);
            return Err(match parts.is_empty() {
                true => ProjectError::NoSuchBlock {
                    project: self.root.clone(),
                    name: name.to_owned(),
                },
                false => ProjectError::WasCut { path: root, parts },
            });
        };
        if !path.is_file() {
            return Err(match root.is_dir() {
                true => ProjectError::Changed {
                    path,
                    found: "it is not there any more".to_owned(),
                },
                false => ProjectError::MissingBlock { path: root },
            });
        }
        // The bytes that have the digest are those that are read.
        let bytes = bytes_of(&path, open)?;
        let found = digest_of(&bytes);
        if found != entry.digest {
            let found = format!("it is not the block that {PROJECT} lists");
            return Err(ProjectError::Changed { path, found });
        }
        Ok(BlockFolder {
            record: parse(&path, &bytes)?,
            root,
            digest: found,
        })
    }

    /// All blocks, in their order.
    ///
    /// # Errors
    /// That of the first that cannot be opened.
    pub fn blocks(&self) -> Result<Vec<BlockFolder>, ProjectError> {
        self.record.blocks.iter().map(|entry| self.block(&entry.name)).collect()
    }

    /// Refuses a block whose inputs are not as they were at the split: the scene's model, the block's photos, its own files.
    ///
    /// # Errors
    /// [`ProjectError::Changed`] with the first file that changed.
    pub fn check_inputs(&self, block: &BlockFolder) -> Result<(), ProjectError> {
        check_files(&block.root, &block.record.files)?;
        let names = block.record.train_views.iter().chain(&block.record.test_views);
        self.check_scene(names, &block.root.join(BLOCK))
    }

    /// Refuses a scene whose model changed since the split, or a photo of `names`, which are those of the record `listed_in`.
    fn check_scene<'n>(
        &self,
        mut names: impl Iterator<Item = &'n String>,
        listed_in: &Path,
    ) -> Result<(), ProjectError> {
        let scene = &self.record.scene;
        check_files(Path::new(&scene.sparse), &scene.model)?;
        let folder = Path::new(&scene.images);
        names.try_for_each(|name| {
            let at = scene.photos.binary_search_by(|photo| photo.name.as_str().cmp(name));
            let Some(photo) = at.ok().and_then(|at| scene.photos.get(at)) else {
                let found = format!("it names the photo {name}, which {PROJECT} does not list");
                return Err(ProjectError::Changed {
                    path: listed_in.to_owned(),
                    found,
                });
            };
            let path = folder.join(name);
            let found = match fs::metadata(&path) {
                Ok(file) if file.len() == photo.bytes => return Ok(()),
                Ok(file) => format!("it has {} bytes and had {}", file.len(), photo.bytes),
                Err(e) => e.to_string(),
            };
            Err(ProjectError::Changed { path, found })
        })
    }

    /// Inputs of the profile of a block's run: the project's, those typed over them, and what makes it a block.
    #[must_use]
    pub fn inputs(&self, block: &BlockFolder, typed: &Inputs) -> Inputs {
        let settings = &self.record.settings;
        let of_file = |file: &Option<InputFile>| file.as_ref().map(|file| self.input_file(file));
        let mut overrides = settings.overrides();
        overrides.extend(
            typed
                .overrides
                .iter()
                .filter(|setting| !is_of_block(&setting.key))
                .cloned(),
        );
        overrides.extend(self.forced(block));
        Inputs {
            profile: typed.profile.clone().or_else(|| of_file(&settings.profile)),
            recipe: typed.recipe.clone().or_else(|| of_file(&settings.recipe)),
            file: typed.file.clone().or_else(|| of_file(&settings.file).map(Into::into)),
            overrides,
            steps_scaler: typed
                .steps_scaler
                .or(settings.steps_scaler)
                .or(block.record.steps_scaler),
        }
    }

    /// Inputs of the profile by which the merged model is looked at: the project's scene, held-out views and settings, and those
    /// typed over them.
    ///
    /// # Errors
    /// [`ProjectError::Changed`] when the scene is not as it was at the split, unless another place is typed for it; those of
    /// opening a block, and of writing the list of held-out views where it is missing.
    pub fn inputs_of_whole(&self, typed: &Inputs) -> Result<Inputs, ProjectError> {
        let (settings, scene) = (&self.record.settings, &self.record.scene);
        let of_file = |file: &Option<InputFile>| file.as_ref().map(|file| self.input_file(file));
        let is_typed = |key: &str| typed.overrides.iter().any(|setting| setting.key == key);
        let mut forced = Vec::new();
        if !is_typed("dataset.path") {
            self.check_scene(self.record.test_views.iter(), &self.root.join(PROJECT))?;
            forced.push(("dataset.path", quoted(&scene.path)));
            forced.push(("dataset.images", quoted(&scene.images)));
            let first = self.record.blocks.first();
            if first.is_some_and(|entry| self.block(&entry.name).is_ok_and(|block| block.record.divided)) {
                forced.push(("dataset.resolution", "1".to_owned()));
            }
        }
        forced.push(("dataset.hold_out", self.hold_out()?));
        let mut overrides = settings.overrides();
        overrides.extend(forced.into_iter().map(|(key, value)| Override {
            key: key.to_owned(),
            value,
            flag: "the project".to_owned(),
        }));
        overrides.extend(typed.overrides.iter().cloned());
        Ok(Inputs {
            profile: typed.profile.clone().or_else(|| of_file(&settings.profile)),
            recipe: typed.recipe.clone().or_else(|| of_file(&settings.recipe)),
            file: typed.file.clone().or_else(|| of_file(&settings.file).map(Into::into)),
            overrides,
            steps_scaler: None,
        })
    }

    /// The value of `dataset.hold_out` by which a run on the whole scene holds out what no block trains on. The list is written by
    /// the split, and here for projects of before.
    fn hold_out(&self) -> Result<String, ProjectError> {
        if self.record.test_views.is_empty() {
            return Ok("false".to_owned());
        }
        let path = self.root.join(HOLD_OUT);
        match read_text(&path, MOST_BYTES) {
            Ok(found) if found == hold_out_text(&self.record.test_views) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => write_hold_out(&self.root, &self.record.test_views)?,
            _ => return Err(ProjectError::OtherHoldOut { path }),
        }
        Ok(quoted(&whole(&path).display().to_string()))
    }

    fn input_file(&self, file: &InputFile) -> String {
        match file {
            InputFile::Shipped(name) => name.clone(),
            InputFile::Copied(copy) => self.root.join(SETTINGS).join(&copy.name).display().to_string(),
        }
    }

    /// Settings that make a run that of a block.
    fn forced(&self, block: &BlockFolder) -> Vec<Override> {
        let record = &block.record;
        let hold_out = match record.test_views.is_empty() {
            true => "false".to_owned(),
            false => quoted(HOLD_OUT),
        };
        let path = |path: PathBuf| quoted(&path.display().to_string());
        let mut forced = vec![
            ("dataset.path", path(block.root.clone())),
            ("dataset.images", quoted(&self.record.scene.images)),
            ("dataset.hold_out", hold_out),
            ("run.output", path(block.run())),
        ];
        if record.divided {
            forced.push(("dataset.resolution", "1".to_owned()));
        }
        if let Some(most) = record.max_gaussians {
            forced.push(("memory.max_gaussians", format!("up to {most}")));
        }
        let setting = |(key, value): (&str, String)| Override {
            key: key.to_owned(),
            value,
            flag: "the block".to_owned(),
        };
        forced.into_iter().map(setting).collect()
    }
}

/// Writes the names of held-out views into a folder, a line each; nothing where there are none.
pub(super) fn write_hold_out(folder: &Path, names: &[String]) -> Result<(), ProjectError> {
    if names.is_empty() {
        return Ok(());
    }
    let list = hold_out_text(names);
    Ok(write_atomic(&folder.join(HOLD_OUT), |file| {
        file.write_all(list.as_bytes())
    })?)
}

fn hold_out_text(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// True for keys that a block sets itself.
#[must_use]
pub(super) fn is_of_block(key: &str) -> bool {
    matches!(
        key,
        "dataset.path" | "dataset.images" | "dataset.hold_out" | "run.output" | "run.name"
    )
}

fn check_files(folder: &Path, files: &[FileRecord]) -> Result<(), ProjectError> {
    for file in files {
        let path = folder.join(&file.name);
        let found = match open_inside(folder, &file.name).and_then(digest_of_file) {
            Ok(found) if found == file.sha256 => continue,
            Ok(_) => "its bytes are others".to_owned(),
            Err(e) => e.to_string(),
        };
        return Err(ProjectError::Changed { path, found });
    }
    Ok(())
}

impl SettingsRecord {
    /// The typed settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let setting = |typed: &TypedSetting| Override {
            key: typed.key.clone(),
            value: typed.value.clone(),
            flag: typed.flag.clone(),
        };
        self.typed.iter().map(setting).collect()
    }
}

impl From<&Override> for TypedSetting {
    fn from(setting: &Override) -> Self {
        Self {
            key: setting.key.clone(),
            value: setting.value.clone(),
            flag: setting.flag.clone(),
        }
    }
}

/// The path from the root on, also of what is not there.
pub(super) fn whole(path: &Path) -> PathBuf {
    let found = dunce::canonicalize(path).or_else(|_| std::path::absolute(path));
    found.unwrap_or_else(|_| path.to_owned())
}

impl BlockFolder {
    /// True for a folder that holds a block, and where a project has its blocks, whatever is there.
    #[must_use]
    pub fn is_one(folder: &Path) -> bool {
        if folder.join(BLOCK).is_file() {
            return true;
        }
        let folder = whole(folder);
        let mut above = folder.ancestors().skip(1);
        above.next().is_some_and(|blocks| blocks.ends_with(BLOCKS))
            && above.next().is_some_and(|root| root.join(PROJECT).is_file())
    }

    /// The folder of its run.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join(RUN)
    }

    /// What was trained, if it was.
    ///
    /// # Errors
    /// [`ProjectError::Unreadable`] when the record is damaged, [`ProjectError::Changed`] when it is of another split or its model
    /// is not there.
    pub fn done(&self) -> Result<Option<Done>, ProjectError> {
        self.done_by(&open_regular)
    }

    /// [`BlockFolder::done`], its record opened by `open`.
    pub(super) fn done_by(&self, open: Open<'_>) -> Result<Option<Done>, ProjectError> {
        let path = self.root.join(DONE);
        if !path.exists() {
            return Ok(None);
        }
        let done: Done = parse(&path, &bytes_of(&path, open)?)?;
        if done.block != self.digest {
            let found = "it is of a block of another split".to_owned();
            return Err(ProjectError::Changed { path, found });
        }
        let path = self.root.join(&done.model.name);
        match open_inside(&self.root, &done.model.name) {
            Ok(_) => Ok(Some(done)),
            Err(e) => {
                let found = match e.kind() {
                    io::ErrorKind::NotFound => "it is not there any more".to_owned(),
                    _ => e.to_string(),
                };
                Err(ProjectError::Changed { path, found })
            }
        }
    }

    /// Notes that the run in its folder is complete.
    ///
    /// # Errors
    /// [`ProjectError::NoModel`] when the run left none, and those of reading and writing.
    pub fn finish(
        &self,
        typed: &Inputs,
        (iterations, test_psnr): (u32, Option<f64>),
        seconds: f64,
        device: &str,
    ) -> Result<Done, ProjectError> {
        let run = self.run();
        let path = record_path(&run);
        let record = RunRecord::read(&path).map_err(|e| ProjectError::Unreadable {
            path,
            reason: e.to_string(),
        })?;
        let of_kind = |kind: PlyKind| {
            let mut all = record.plys.iter().rev();
            all.find(|ply| ply.kind == kind && ply.iteration == iterations)
        };
        let Some(ply) = of_kind(PlyKind::Fused).or_else(|| of_kind(PlyKind::Raw)) else {
            return Err(ProjectError::NoModel {
                path: self.root.clone(),
            });
        };
        let sha256 = match &ply.sha256 {
            Some(sha256) => sha256.clone(),
            None => digest(&run.join(&ply.path))?,
        };
        let done = Done {
            version: VERSION,
            block: self.digest.clone(),
            typed: typed_of(typed),
            model: FileRecord {
                name: format!("{RUN}/{}", ply.path),
                sha256,
            },
            gaussians: ply.gaussians,
            iterations,
            test_psnr,
            seconds,
            device: device.to_owned(),
        };
        write_json(&self.root.join(DONE), &done)?;
        Ok(done)
    }

    /// Refuses to train a trained block with other settings.
    ///
    /// # Errors
    /// [`ProjectError::TrainedOtherwise`].
    pub fn check_typed(&self, done: &Done, typed: &Inputs) -> Result<(), ProjectError> {
        if typed_of(typed) == done.typed {
            return Ok(());
        }
        let reported: Vec<String> = done
            .typed
            .iter()
            .map(|set| format!("{}={}", set.key, set.value))
            .collect();
        Err(ProjectError::TrainedOtherwise {
            path: self.root.clone(),
            found: match reported.is_empty() {
                true => "the settings of the project".to_owned(),
                false => reported.join(" "),
            },
        })
    }
}

/// What was typed for a block alone and changes its model.
fn typed_of(inputs: &Inputs) -> Vec<TypedSetting> {
    let layer = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| TypedSetting {
            key: key.to_owned(),
            value: value.clone(),
            flag: format!("--{key}"),
        })
    };
    let file = inputs.file.as_ref().map(|file| file.display().to_string());
    let scaler = inputs.steps_scaler.map(|scaler| scaler.to_string());
    let layers = [
        layer("profile", &inputs.profile),
        layer("recipe", &inputs.recipe),
        layer("config", &file),
        layer("steps-scaler", &scaler),
    ];
    let settings = inputs
        .overrides
        .iter()
        .filter(|setting| !is_of_block(&setting.key) && !setting.key.starts_with("device."))
        .map(TypedSetting::from);
    layers.into_iter().flatten().chain(settings).collect()
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn names_of_blocks_stay_in_their_folder() {
        for name in ["b0000", "b0000ab", "übrig", "a b"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", ".", "..", "../b0000", "/b0000", "b0000/", "b0000/run", "./b0000"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
