//! Why a project cannot be used, split or merged.

use std::path::PathBuf;

use kiln_blocks::merge::MergeError;

use crate::export::ExportError;
use crate::plan::PlanError;
use kiln_scene::{SceneError, SubsetError};

/// A refused or failed use of a project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] ExportError),
    /// The scene cannot be read.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A block's plan cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The sparse model of a block cannot be made.
    #[error(transparent)]
    Subset(#[from] SubsetError),
    /// The merge failed.
    #[error(transparent)]
    Merge(MergeError),
    /// No project in a folder.
    #[error("{} holds no project", path.display())]
    NoProject {
        /// The folder.
        path: PathBuf,
    },
    /// No merged model in a project.
    #[error("the project {} has no merged model: {} is not there", project.display(), path.display())]
    NotMerged {
        /// The project's folder.
        project: PathBuf,
        /// The file that should be there.
        path: PathBuf,
    },
    /// A block outside of a project.
    #[error("{} is a block without its project: {} is not there", block.display(), path.display())]
    NoProjectOf {
        /// The block's folder.
        block: PathBuf,
        /// The file that should be there.
        path: PathBuf,
    },
    /// A record that cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A scene that cannot be split.
    #[error("{} cannot be split: {reason}", path.display())]
    Unsuitable {
        /// The scene's folder or model.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// Two blocks or more do not fit.
    #[error("the scene does not fit in blocks: {reason}")]
    DoesNotFit {
        /// Why.
        reason: String,
        /// What to change.
        remedy: String,
    },
    /// The folder is no project and not empty.
    #[error("{} holds `{found}` and no project", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        found: String,
    },
    /// Another split is there.
    #[error("{} was split in another way: {what}", path.display())]
    OtherSplit {
        /// The project's folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Something among the blocks that the project does not list.
    #[error("{} does not belong to the project", path.display())]
    Foreign {
        /// The file or folder.
        path: PathBuf,
    },
    /// A block that the project does not list.
    #[error("{} has no block {name}", project.display())]
    NoSuchBlock {
        /// The project's folder.
        project: PathBuf,
        /// The name.
        name: String,
    },
    /// A block that was cut.
    #[error("{} was cut into {}", path.display(), listed(parts))]
    WasCut {
        /// Where it was.
        path: PathBuf,
        /// Names of its parts.
        parts: Vec<String>,
    },
    /// A trained block that is to be cut.
    #[error("{} is trained, and blocks are cut before they are", path.display())]
    IsTrained {
        /// The block's folder.
        path: PathBuf,
    },
    /// A listed block that is not there.
    #[error("the block {} is missing", path.display())]
    MissingBlock {
        /// Its folder.
        path: PathBuf,
    },
    /// Something is not as `kiln split` saw or wrote it.
    #[error("{} changed after the split: {found}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// A list of held-out views that is not that of the project.
    #[error("{} does not list the held-out views of the project", path.display())]
    OtherHoldOut {
        /// The file.
        path: PathBuf,
    },
    /// Blocks without a model.
    #[error("{} of {all} blocks are not trained: {}", missing.len(), listed(missing))]
    Untrained {
        /// The project's folder.
        path: PathBuf,
        /// Their names.
        missing: Vec<String>,
        /// All blocks.
        all: usize,
    },
    /// A block that was trained with other settings than are set.
    #[error("{} is trained, with {found}", path.display())]
    TrainedOtherwise {
        /// The block's folder.
        path: PathBuf,
        /// The settings.
        found: String,
    },
    /// A run that leaves nothing to merge.
    #[error("the run of {} left no model of Gaussians", path.display())]
    NoModel {
        /// The block's folder.
        path: PathBuf,
    },
    /// Another process is at work.
    #[error("another process is writing to {}", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Too little space for what comes.
    #[error("{} has no room for {needed_mib} MiB, the merged model and its buckets: {reason}", path.display())]
    NoRoom {
        /// The folder.
        path: PathBuf,
        /// MiB.
        needed_mib: u64,
        /// The system's reason.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
