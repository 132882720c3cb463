//! What `kiln split` writes: everything into a hidden folder first, then into place, the index last.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::folder::{
    BLOCK, BLOCKS, HOLD_OUT, LIST, PROJECT, ProjectFolder, SETTINGS, digest, is_of_block, read_record, write_hold_out,
};
use super::lock::FolderLock;
use super::masks::{self, Wanted};
use super::records::{
    BlockEntry, BlockRecord, FileRecord, InputFile, Photo, ProjectRecord, SceneRecord, SettingsRecord,
};
use super::split::{Cut, Survey};
use super::{BlockFolder, ProjectError};
use crate::export::{ExportError, make_folder, write_atomic, write_json};
use kiln_config::Inputs;
use kiln_scene::math::sub;
use kiln_scene::origin::{self, ORIGIN_FILE};
use kiln_scene::{SceneIndex, SceneKind, Subsets, write_subsets};

/// Where everything is made.
const STAGING: &str = ".split";
/// Most bytes of a file of settings; larger ones are refused before.
const MOST_SETTINGS_BYTES: u64 = 16 << 20;
/// Files of a block's model, in its folder.
const MODEL: [&str; 3] = ["sparse/0/cameras.bin", "sparse/0/images.bin", "sparse/0/points3D.bin"];
/// Files of a scene's model.
const SCENE_MODEL: [&str; 3] = ["cameras.bin", "images.bin", "points3D.bin"];
/// Blocks whose files are open at a time.
const AT_A_TIME: usize = 128;

/// A project that is being made.
#[derive(Debug)]
pub struct Draft {
    pub(super) root: PathBuf,
    pub(super) _lock: FolderLock,
}

/// Describes a scene as it is now.
///
/// # Errors
/// [`ProjectError::Unsuitable`] for scenes without a binary COLMAP model, and those of reading.
pub fn scene_record(scene: &SceneIndex) -> Result<SceneRecord, ProjectError> {
    let unsuitable = |reason: &str, remedy: &str| ProjectError::Unsuitable {
        path: scene.model.clone(),
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    };
    if scene.kind != SceneKind::Colmap {
        return Err(unsuitable(
            "it is no COLMAP data set",
            "`kiln train PHOTOS --colmap` makes one, and other programs write its format",
        ));
    }
    if let Some(file) = SCENE_MODEL.iter().find(|file| !scene.model.join(file).is_file()) {
        return Err(unsuitable(
            &format!("its model has no {file}"),
            "`colmap model_converter --output_type BIN` writes a text model as a binary one",
        ));
    }
    let absolute = |path: &Path| {
        let path = dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            unsuitable(
                "its path holds bytes that are no text, which records of a project cannot hold",
                "give the folders above it names in UTF-8, or move it",
            )
        })
    };
    let model = SCENE_MODEL.iter().map(|file| {
        Ok(FileRecord {
            name: (*file).to_owned(),
            sha256: digest(&scene.model.join(file))?,
        })
    });
    let mut photos = Vec::new();
    for (_, view) in scene.views() {
        let path = scene.images.join(&view.name);
        let bytes = fs::metadata(&path).map_err(|e| ProjectError::Unsuitable {
            path: path.clone(),
            reason: format!("the photo is there under another name ({e})"),
            remedy: "give photos the names that the model lists".to_owned(),
        })?;
        photos.push(Photo {
            name: view.name.clone(),
            bytes: bytes.len(),
        });
    }
    photos.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(SceneRecord {
        path: absolute(&scene.root)?,
        images: absolute(&scene.images)?,
        sparse: absolute(&scene.model)?,
        model: model.collect::<Result<_, ProjectError>>()?,
        photos,
        origin: (scene.origin != [0.0; 3]).then_some(scene.origin),
    })
}

/// Gets a folder ready for a project like `wanted`, of which blocks, plane and Gaussians are not looked at: gives the project that
/// is there already, or a place for a new one.
///
/// # Errors
/// [`ProjectError::OtherSplit`] when there is another, [`ProjectError::NotEmpty`] when there is something else.
pub fn prepare(root: &Path, wanted: &ProjectRecord) -> Result<Result<ProjectFolder, Draft>, ProjectError> {
    let lock = FolderLock::take(root)?;
    let index = root.join(PROJECT);
    if index.exists() {
        let found: ProjectRecord = read_record(&index)?;
        let scene = [&found, wanted].map(|record| (&record.scene.model, &record.scene.photos, &record.test_views));
        let what = if scene[0] != scene[1] {
            "the scene is another, or changed"
        } else if found.settings != wanted.settings {
            "the settings of its runs are others"
        } else if found.options != wanted.options {
            "the options of the split are others"
        } else {
            let project = ProjectFolder::open(root)?;
            project.blocks()?;
            return Ok(Ok(project));
        };
        return Err(ProjectError::OtherSplit {
            path: root.to_owned(),
            what: what.to_owned(),
        });
    }
    remove_unfinished(root)?;
    let entries = fs::read_dir(root).map_err(|e| ExportError::new(root, e))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        // The lock that is held is a file on Windows.
        .filter(|name| name != kiln_system::LOCK_FILE)
        .collect();
    names.sort();
    if let Some(found) = names.into_iter().next() {
        return Err(ProjectError::NotEmpty {
            path: root.to_owned(),
            found,
        });
    }
    let draft = Draft {
        root: root.to_owned(),
        _lock: lock,
    };
    make_folder(&draft.staging().join(BLOCKS))?;
    Ok(Err(draft))
}

/// Removes what a split left that was killed before it wrote the index: its own folder, and blocks that were not trained.
fn remove_unfinished(root: &Path) -> Result<(), ProjectError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |e| ProjectError::from(ExportError::new(&path, e))
    };
    let staging = root.join(STAGING);
    let blocks = root.join(BLOCKS);
    let is_block = |folder: PathBuf| {
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let known = ["sparse", "masks", HOLD_OUT, BLOCK, ORIGIN_FILE, kiln_system::LOCK_FILE];
        folder.join(BLOCK).is_file()
            && names
                .into_iter()
                .all(|entry| known.contains(&&*entry.file_name().to_string_lossy()))
    };
    let mut entries = fs::read_dir(&blocks).into_iter().flatten().flatten();
    if blocks.is_dir() && entries.all(|entry| is_block(entry.path())) {
        fs::remove_dir_all(&blocks).map_err(fail(&blocks))?;
        for path in [root.join(SETTINGS), root.join(LIST), root.join(HOLD_OUT)] {
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            match removed {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fail(&path)(e)),
                _ => {}
            }
        }
    }
    match fs::remove_dir_all(&staging) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(fail(&staging)(e)),
        _ => Ok(()),
    }
}

/// Settings as a project keeps them; those that blocks set themselves are left out. Files are read, and copied by
/// [`Draft::write_settings`].
///
/// # Errors
/// When a file cannot be read.
pub fn settings_record(inputs: &Inputs) -> Result<SettingsRecord, ProjectError> {
    let file = |name: &str, kind: &str| -> Result<InputFile, ProjectError> {
        if !is_path(name) {
            return Ok(InputFile::Shipped(name.to_owned()));
        }
        Ok(InputFile::Copied(FileRecord {
            name: format!("{kind}.yaml"),
            sha256: digest(Path::new(name))?,
        }))
    };
    let named = |name: &Option<String>, kind| name.as_deref().map(|name| file(name, kind)).transpose();
    let config = inputs.file.as_ref().map(|path| path.display().to_string());
    let config = config.map(|name| -> Result<InputFile, ProjectError> {
        Ok(InputFile::Copied(FileRecord {
            name: "config.yaml".to_owned(),
            sha256: digest(Path::new(&name))?,
        }))
    });
    Ok(SettingsRecord {
        profile: named(&inputs.profile, "profile")?,
        recipe: named(&inputs.recipe, "recipe")?,
        file: config.transpose()?,
        typed: inputs
            .overrides
            .iter()
            .filter(|set| !is_of_block(&set.key))
            .map(Into::into)
            .collect(),
        steps_scaler: inputs.steps_scaler,
    })
}

/// What layers take for the path of a file.
fn is_path(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

impl Draft {
    pub(super) fn staging(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    /// Copies the files of settings.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_settings(&self, inputs: &Inputs) -> Result<(), ProjectError> {
        let folder = self.staging().join(SETTINGS);
        let named = [("profile", &inputs.profile), ("recipe", &inputs.recipe)];
        let named = named
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, PathBuf::from(name.as_deref().filter(|name| is_path(name))?))));
        for (kind, path) in named.chain(inputs.file.clone().map(|path| ("config", path))) {
            let to = folder.join(format!("{kind}.yaml"));
            let text = kiln_files::read_regular(&path, MOST_SETTINGS_BYTES).map_err(|e| ProjectError::Unreadable {
                path: path.clone(),
                reason: e.to_string(),
            })?;
            write_atomic(&to, |file| file.write_all(&text))?;
        }
        Ok(())
    }

    /// Writes models, lists and masks of all blocks; gives the files of each.
    ///
    /// # Errors
    /// When the scene cannot be read, or a file not be written.
    pub fn write_blocks(
        &self,
        scene: &SceneIndex,
        survey: &Survey,
        cut: &Cut,
        with_masks: bool,
    ) -> Result<Vec<Vec<FileRecord>>, ProjectError> {
        let count = cut.blocks.len();
        let folders: Vec<PathBuf> = cut
            .names
            .iter()
            .map(|name| self.staging().join(BLOCKS).join(name))
            .collect();
        let views: Vec<BTreeSet<&str>> = cut
            .train
            .iter()
            .zip(&cut.test)
            .map(|(train, test)| train.iter().chain(test).map(String::as_str).collect())
            .collect();
        for folder in &folders {
            make_folder(&folder.join("sparse/0"))?;
        }
        let wide: Vec<_> = cut.blocks.iter().map(|block| block.wide()).collect();
        for first in (0..count).step_by(AT_A_TIME) {
            let has_image = |part: usize, name: &str| views[first + part].contains(name);
            let has_point = |part: usize, place: [f64; 3]| {
                wide[first + part].contains(survey.ground.flat(sub(place, scene.origin)))
            };
            let subsets = Subsets {
                count: AT_A_TIME.min(count - first),
                has_image: &has_image,
                has_point: &has_point,
            };
            let create = |part: usize, name: &str| File::create_new(folders[first + part].join("sparse/0").join(name));
            write_subsets(&scene.model, &subsets, &create)?;
        }
        let mut files: Vec<Vec<String>> = vec![MODEL.map(str::to_owned).to_vec(); count];
        // Blocks are merged, so none may choose an origin of its own.
        let chooses = |at: usize| own_origin(&survey.scene_of(scene, cut, at)) != [0.0; 3];
        if scene.origin != [0.0; 3] || (0..count).any(chooses) {
            for (folder, files) in folders.iter().zip(&mut files) {
                write_origin(folder, scene.origin)?;
                files.push(ORIGIN_FILE.to_owned());
            }
        }
        for (at, folder) in folders.iter().enumerate() {
            if !cut.test[at].is_empty() {
                write_hold_out(folder, &cut.test[at])?;
                files[at].push(HOLD_OUT.to_owned());
            }
        }
        if with_masks {
            let wanted: Vec<Wanted<'_>> = (0..count)
                .map(|at| Wanted {
                    folder: &folders[at],
                    wide: wide[at],
                    views: views[at].iter().map(|name| (*name, ())).collect::<BTreeMap<_, _>>(),
                })
                .collect();
            let masks = masks::write(scene, &survey.ground, &survey.heights, &wanted)?;
            for (files, masks) in files.iter_mut().zip(masks) {
                files.extend(masks);
            }
        }
        let record = |(folder, names): (&PathBuf, Vec<String>)| {
            let files = names.into_iter().map(|name| {
                Ok(FileRecord {
                    sha256: digest(&folder.join(&name))?,
                    name,
                })
            });
            files.collect::<Result<Vec<_>, ProjectError>>()
        };
        folders.iter().zip(files).map(record).collect()
    }

    /// A block as it lies now, to be planned.
    #[must_use]
    pub fn block(&self, record: BlockRecord) -> BlockFolder {
        BlockFolder {
            root: self.staging().join(BLOCKS).join(&record.name),
            record,
            digest: String::new(),
        }
    }

    /// The project as it lies now.
    #[must_use]
    pub fn project(&self, record: ProjectRecord) -> ProjectFolder {
        ProjectFolder {
            root: self.staging(),
            record,
        }
    }

    /// Writes the index of a block.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_block(&self, block: &BlockFolder) -> Result<BlockEntry, ProjectError> {
        let path = block.root.join(BLOCK);
        write_json(&path, &block.record)?;
        Ok(BlockEntry {
            name: block.record.name.clone(),
            digest: digest(&path)?,
        })
    }

    /// Puts everything into place, the index last.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn commit(self, record: ProjectRecord) -> Result<ProjectFolder, ProjectError> {
        let staging = self.staging();
        for name in [SETTINGS, BLOCKS] {
            let (from, to) = (staging.join(name), self.root.join(name));
            if from.exists() {
                fs::rename(&from, &to).map_err(|e| ExportError::new(&to, e))?;
            }
        }
        write_list(&self.root, &record)?;
        write_hold_out(&self.root, &record.test_views)?;
        // Nothing is in it any more; what stays behind is empty and hidden.
        let _ = fs::remove_dir_all(&staging);
        write_json(&self.root.join(PROJECT), &record)?;
        Ok(ProjectFolder {
            root: self.root,
            record,
        })
    }

    /// Leaves nothing behind, where the project was not made: not even the folder, when it is empty then.
    pub fn abandon(self) {
        let _ = fs::remove_dir_all(self.staging());
        let _ = fs::remove_dir(&self.root);
    }
}

/// Writes the names of the blocks of a project, a line each.
pub(super) fn write_list(root: &Path, record: &ProjectRecord) -> Result<(), ProjectError> {
    let list: String = record.blocks.iter().map(|block| format!("{}\n", block.name)).collect();
    Ok(write_atomic(&root.join(LIST), |file| file.write_all(list.as_bytes()))?)
}

/// The origin that a block would have if its coordinates were those of a data set.
fn own_origin(block: &SceneIndex) -> [f64; 3] {
    let cameras = block.cameras_together();
    let centres: Vec<[f64; 3]> = cameras.iter().map(|camera| camera.position().map(f64::from)).collect();
    origin::choose(&centres, block.points.iter().map(|point| point.position.map(f64::from)))
}

/// Writes what the coordinates of a block, and of all others of its project, are relative to.
pub(super) fn write_origin(folder: &Path, origin: [f64; 3]) -> Result<(), ProjectError> {
    let text = format!("{}\n", origin::text(origin));
    Ok(write_atomic(&folder.join(ORIGIN_FILE), |file| {
        file.write_all(text.as_bytes())
    })?)
}

/// The name of a block.
#[must_use]
pub fn block_name(number: usize) -> String {
    format!("b{number:04}")
}
