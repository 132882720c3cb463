//! A block of a project as an ordinary run.

use std::path::Path;

use super::{JobError, RequestError, Resume, Settings};
use crate::export::ExportError;
use crate::project::{BlockFolder, DONE, Done, FolderLock, ProjectFolder};
use crate::record::run_folder::record_path;
use crate::run::RunEnd;
use kiln_config::Inputs;

/// A block that is to be trained.
pub(super) struct BlockTask {
    block: BlockFolder,
    typed: Inputs,
    project: ProjectFolder,
    /// Others may train it too, and find its run locked; no process may cut it in two meanwhile.
    _whole: FolderLock,
}

impl BlockTask {
    /// The block that the scene of `settings` is, if it is one.
    ///
    /// # Errors
    /// When it is not as it was split, its scene changed, or something is set that a block sets itself.
    pub(super) fn of(settings: &Settings) -> Result<Option<Self>, JobError> {
        let preliminary = settings.preliminary()?;
        let Some(path) = preliminary.dataset.path.as_deref().map(Path::new) else {
            return Ok(None);
        };
        if !BlockFolder::is_one(path) {
            return Ok(None);
        }
        // Before the index is read: what it lists then stays.
        let lock = FolderLock::share(path)?;
        let (project, block) = ProjectFolder::around(path)?;
        let own = ["dataset.images", "dataset.hold_out", "run.output", "run.name"];
        let mut overrides = settings.inputs.overrides.iter();
        if let Some(set) = overrides.find(|set| own.contains(&&*set.key)) {
            let (block, flag) = (block.root, set.flag.clone());
            return Err(RequestError::OfBlock { block, flag }.into());
        }
        project.check_inputs(&block)?;
        Ok(Some(Self {
            block,
            typed: settings.inputs.clone(),
            project,
            _whole: lock,
        }))
    }

    /// What was trained, when nothing is left to do; `overwrite` forgets it.
    ///
    /// # Errors
    /// When it was trained with other settings, or is damaged.
    pub(super) fn done(&self, overwrite: bool) -> Result<Option<Done>, JobError> {
        if overwrite {
            // Before its run is deleted: a block without a run must not count as trained.
            let path = self.block.root.join(DONE);
            return match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(ExportError::new(&path, e).into()),
                _ => Ok(None),
            };
        }
        let done = self.block.done()?;
        if let Some(done) = &done {
            self.block.check_typed(done, &self.typed)?;
        }
        Ok(done)
    }

    /// Settings of its run.
    pub(super) fn settings(&self, auto: bool) -> Settings {
        let mut inputs = self.project.inputs(&self.block, &self.typed);
        if auto {
            inputs.profile = None;
        }
        Settings { inputs, auto }
    }

    /// Where its run goes on: from its newest checkpoint when there is a run.
    pub(super) fn resume(&self, overwrite: bool) -> Option<Resume> {
        (!overwrite && record_path(&self.block.run()).is_file()).then_some(Resume::Latest)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.block.root
    }

    /// Notes that the run is complete.
    ///
    /// # Errors
    /// When it left no model, or the note cannot be written.
    pub(super) fn finish(&self, end: &RunEnd, seconds: f64, device: &str) -> Result<(), JobError> {
        let figures = (end.iterations, end.test_psnr);
        self.block.finish(&self.typed, figures, seconds, device)?;
        Ok(())
    }
}
