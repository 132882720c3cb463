//! A block of a project in two: what is cut, and its halves in its place.
//!
//! Owns the names of halves and the order in which files change. Promises that a project is whole at every moment: halves are made in
//! a hidden folder and moved among the blocks, where no reader looks; then the index lists them, at once; then the list of
//! names follows and the block goes. What a killed cut left is taken for nothing else, and the same cut ends it. Refuses blocks
//! that are trained or being trained.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kiln_files::open_inside;

use super::folder::{BLOCKS, HOLD_OUT, PROJECT, ProjectFolder, whole};
use super::lock::FolderLock;
use super::masks;
use super::records::{BlockEntry, BlockRecord, ProjectRecord};
use super::write::{Draft, write_list, write_origin};
use super::{BlockFolder, ProjectError};
use crate::export::{ExportError, make_folder, write_atomic, write_json};
use crate::record::run_folder::{RunRecord, is_written_to, record_path};
use kiln_scene::{Subsets, write_subsets};

/// In the hidden folder: the scene as far as the block's photos show it, and where the block goes in the end.
const SCENE: &str = "scene";
const GONE: &str = "gone";

/// Names of a block's halves, lower first: they sort where the block did, and no split gives them.
#[must_use]
pub fn half_names(block: &str) -> [String; 2] {
    ["a", "b"].map(|half| format!("{block}{half}"))
}

/// True for the name of a half of a block, or of a part of one.
pub(super) fn is_part_of(part: &str, block: &str) -> bool {
    let rest = part.strip_prefix(block).unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|letter| matches!(letter, b'a' | b'b'))
}

/// A block that is to be cut, or was.
#[derive(Debug)]
pub enum ToCut {
    /// It can be cut.
    Whole(Box<Cutting>),
    /// It is cut already.
    Already {
        /// The project with its parts.
        project: Box<ProjectFolder>,
        /// What the block was called.
        name: String,
    },
}

/// A block that is being cut. While this lives no other process trains it or writes the project.
#[derive(Debug)]
pub struct Cutting {
    /// The project, with a scene that is found from any folder: a copy on a node has paths from its blocks' folders on.
    pub project: ProjectFolder,
    /// The block.
    pub block: BlockFolder,
    /// Iterations of a run that will be gone with the block.
    pub lost_iterations: u32,
    /// The index as it is.
    index: ProjectRecord,
    draft: Draft,
    trained: FolderLock,
}

impl Cutting {
    /// Gets the block in a folder ready to be cut. One that was cut already is looked after: what a killed cut left goes.
    ///
    /// # Errors
    /// [`ProjectError`] when there is no such block, when it is trained or being trained, or when the scene changed.
    pub fn prepare(block: &Path) -> Result<ToCut, ProjectError> {
        let path = whole(block);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = path.ancestors().nth(2).map(Path::to_owned).unwrap_or_default();
        let index = root.join(PROJECT);
        if !index.is_file() {
            return Err(ProjectError::NoProjectOf {
                block: path,
                path: index,
            });
        }
        let draft = Draft {
            _lock: FolderLock::wait(&root),
            root: root.clone(),
        };
        let mut project = ProjectFolder::open(&root)?;
        let block = match project.block(&name) {
            Ok(block) => block,
            Err(ProjectError::WasCut { .. }) => {
                clear(&draft, &project, &name)?;
                let project = Box::new(project);
                return Ok(ToCut::Already { project, name });
            }
            Err(error) => return Err(error),
        };
        let run = block.run();
        let trained = FolderLock::of(&block.root)?;
        if is_written_to(&run) == Some(true) {
            return Err(ProjectError::Busy { path: run });
        }
        if block.done()?.is_some() {
            return Err(ProjectError::IsTrained { path: block.root });
        }
        let index = project.record.clone();
        for path in [&mut project.record.scene.images, &mut project.record.scene.sparse] {
            *path = block.root.join(&*path).display().to_string();
        }
        project.check_inputs(&block)?;
        remove(&draft.staging())?;
        make_folder(&draft.staging().join(BLOCKS))?;
        let record = RunRecord::read(&record_path(&run));
        Ok(ToCut::Whole(Box::new(Self {
            lost_iterations: record.map_or(0, |record| record.iterations.done),
            project,
            block,
            index,
            draft,
            trained,
        })))
    }

    /// What halves are written to.
    #[must_use]
    pub const fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Writes the scene as the block's photos show it: their views and all points. Masks are the block's, which hide what the scene's
    /// own hide. It is read with the settings of the block, whose folder it stands in for.
    ///
    /// # Errors
    /// When the scene's model cannot be read, or a file not be written.
    pub fn write_scene(&self) -> Result<BlockFolder, ProjectError> {
        let root = self.draft.staging().join(SCENE);
        let model = root.join("sparse/0");
        make_folder(&model)?;
        let record = &self.block.record;
        let mut views: Vec<&str> = record.train_views.iter().map(String::as_str).collect();
        views.extend(record.test_views.iter().map(String::as_str));
        views.sort_unstable();
        let subset = Subsets {
            count: 1,
            has_image: &|_, name| views.binary_search(&name).is_ok(),
            has_point: &|_, _| true,
        };
        write_subsets(Path::new(&self.project.record.scene.sparse), &subset, &|_, name| {
            fs::File::create_new(model.join(name))
        })?;
        write_origin(&root, self.project.record.scene.origin.unwrap_or_default())?;
        let masks = format!("{}/", masks::FOLDER);
        let files = record.files.iter().map(|file| file.name.as_str());
        for name in files.filter(|name| *name == HOLD_OUT || name.starts_with(&masks)) {
            let to = root.join(name);
            let mut from = open_inside(&self.block.root, name).map_err(|e| ExportError::new(&to, e))?;
            write_atomic(&to, |file| io::copy(&mut from, file).map(drop))?;
        }
        Ok(BlockFolder {
            root,
            ..self.block.clone()
        })
    }

    /// Puts the halves, which lie in the draft, in the place of the block.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn commit(
        mut self,
        halves: &[BlockRecord; 2],
        entries: [BlockEntry; 2],
    ) -> Result<ProjectFolder, ProjectError> {
        let name = self.block.record.name.clone();
        let blocks = self.project.root.join(BLOCKS);
        for entry in &entries {
            let (from, to) = (
                self.draft.staging().join(BLOCKS).join(&entry.name),
                blocks.join(&entry.name),
            );
            // Of a cut that was killed: no index lists it.
            remove(&to)?;
            fs::rename(&from, &to).map_err(|e| ExportError::new(&to, e))?;
        }
        let record = &mut self.index;
        let views = (record.scene.photos.len() - record.test_views.len().min(record.scene.photos.len())).max(1) as f64;
        let used = halves.iter().map(|half| half.train_views.len()).sum::<usize>() as f64;
        record.views_used += (used - self.block.record.train_views.len() as f64) / views;
        if let Some(at) = record.blocks.iter().position(|entry| entry.name == name) {
            record.blocks.splice(at..=at, entries);
        }
        write_json(&self.project.root.join(PROJECT), record)?;
        // No index lists the block any more, so nobody trains it; and Windows moves no folder in which a file is open.
        drop(self.trained);
        let project = ProjectFolder {
            record: self.index,
            ..self.project
        };
        clear(&self.draft, &project, &name)?;
        Ok(project)
    }

    /// Leaves everything as it was.
    pub fn abandon(self) {
        let _ = fs::remove_dir_all(self.draft.staging());
    }
}

/// What follows once the index lists the parts of a block: the list of names, and the block is gone.
fn clear(draft: &Draft, project: &ProjectFolder, block: &str) -> Result<(), ProjectError> {
    write_list(&project.root, &project.record)?;
    let (from, staging) = (project.root.join(BLOCKS).join(block), draft.staging());
    remove(&staging.join(GONE))?;
    make_folder(&staging)?;
    // Out of the way at once: no reader finds half of a block.
    match fs::rename(&from, staging.join(GONE)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(ExportError::new(&from, e))?,
        _ => remove(&staging),
    }
}

fn remove(folder: &PathBuf) -> Result<(), ProjectError> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(ExportError::new(folder, e))?,
        _ => Ok(()),
    }
}

impl ProjectFolder {
    /// True where a folder among the blocks is what a killed cut left: a block whose parts are listed, or a part of a listed block.
    pub(super) fn is_left_of_a_cut(&self, folder: &str) -> bool {
        let mut blocks = self.record.blocks.iter().map(|entry| entry.name.as_str());
        blocks.any(|block| is_part_of(folder, block) || is_part_of(block, folder))
    }

    /// Names of the parts that a block was cut into; none for one that was not cut.
    #[must_use]
    pub fn parts_of(&self, block: &str) -> Vec<String> {
        let blocks = self.record.blocks.iter().map(|entry| &entry.name);
        blocks.filter(|name| is_part_of(name, block)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_sort_where_their_block_did() {
        let [low, high] = half_names("b0007");
        let [first, second] = half_names(&low);
        let mut names = ["b0008", &high, &second, "b0006", &first];
        names.sort_unstable();
        assert_eq!(names, ["b0006", "b0007aa", "b0007ab", "b0007b", "b0008"]);
        assert!(is_part_of(&second, "b0007") && is_part_of(&high, "b0007"));
        for name in ["b0007", "b00070", "b0007c", "b0007a/", "notes"] {
            assert!(!is_part_of(name, "b0007"), "{name}");
        }
    }
}
