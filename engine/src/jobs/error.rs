//! Why a job ended without what it was to make.

use super::RequestError;
use crate::config::{AutoError, ConfigError};
use crate::export::ExportError;
use crate::mesh::MeshError;
use crate::plan::PlanError;
use crate::project::ProjectError;
use crate::record::run_folder::RunFolderError;
use crate::run::{RunError, StoredError};
use crate::scene::SceneError;

/// Why a job ended.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// What is asked for does not go together, or is not there.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Settings, or what they make of this device.
    #[error(transparent)]
    Settings(#[from] AutoError),
    /// A project of blocks.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A scene, a plan, a run, or what is made of its model.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<ConfigError> for JobError {
    fn from(error: ConfigError) -> Self {
        Self::Settings(error.into())
    }
}

/// Errors that a run has a variant for.
macro_rules! of_run {
    ($($error:ty),*) => {
        $(impl From<$error> for JobError {
            fn from(error: $error) -> Self {
                Self::Run(error.into())
            }
        })*
    };
}
of_run!(
    PlanError,
    SceneError,
    ExportError,
    RunFolderError,
    StoredError,
    MeshError
);
