//! Why a job ended without what it was to make.

use super::{PosesError, RequestError};
use crate::export::ExportError;
use crate::mesh::MeshError;
use crate::plan::PlanError;
use crate::project::ProjectError;
use crate::record::run_folder::RunFolderError;
use crate::record::words::count;
use crate::run::{RunError, StoredError};
use kiln_config::{AutoError, ConfigError};
use kiln_scene::SceneError;

/// Why a job ended.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Parts of the request do not go together, or what it names is not there.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Settings, or what they make of this device.
    #[error(transparent)]
    Settings(#[from] AutoError),
    /// Camera poses.
    #[error(transparent)]
    Poses(#[from] PosesError),
    /// A project of blocks.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A scene, a plan, a run, or what is made of its model.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No mesh can be made of what the coarse stage of SuGaR left.
    #[error("the coarse stage left {}, and no mesh can be made of them: {error}", count(*gaussians, "Gaussian"))]
    NoSurface {
        /// Why.
        error: Box<JobError>,
        /// Gaussians of its last model.
        gaussians: u32,
    },
}

impl JobError {
    /// True where no mesh can be made of a model as it is.
    pub(super) const fn is_of_model(&self) -> bool {
        let Self::Run(RunError::Mesh(error)) = self else {
            return false;
        };
        match error {
            MeshError::Poisson(kiln_mesh::Error::Memory { .. }) => false,
            MeshError::NoViews
            | MeshError::NoGaussians
            | MeshError::NoSurface { .. }
            | MeshError::NotBound { .. }
            | MeshError::NothingLeft { .. }
            | MeshError::Poisson(_)
            | MeshError::Model { .. } => true,
            _ => false,
        }
    }
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
