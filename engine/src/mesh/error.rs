//! Why there is no mesh.

use std::path::PathBuf;

use super::DrawnError;
use crate::eval::PictureError;
use crate::export::ExportError;
use crate::step::NeighborsRefused;
use crate::train::TrainError;
use kiln_gpu::memory::{Budget, MIB, MemoryError};
use kiln_scene::SceneError;

/// Anything that stops the making of a mesh.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// Nothing to look from.
    #[error("there are no training views to take depth from")]
    NoViews,
    /// A model without Gaussians.
    #[error("the model has no Gaussians")]
    NoGaussians,
    /// Voxels too small for the space.
    #[error(
        "voxels of {voxel:.6} do not fit: the space is {side:.4} wide, and at most {} of them lie side by side",
        (side / least).round()
    )]
    Voxels {
        /// Their side, world units.
        voxel: f64,
        /// The longest side of the space, world units.
        side: f64,
        /// Side of the smallest that fit.
        least: f64,
    },
    /// No surface within the space.
    #[error("no view shows a surface inside of the space that has voxels, {space}")]
    NoSurface {
        /// The space, for people.
        space: String,
    },
    /// Not even one brick fits.
    #[error(
        "drawing {gaussians} Gaussians with depth at {width} x {height} and one brick of voxels needs {:.1} MiB of device memory, \
         but the cap is {:.1} MiB, {budget}",
        mib(*needed_bytes),
        mib(budget.cap_bytes)
    )]
    DoesNotFit {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Gaussians of the model.
        gaussians: u32,
        /// Width of the largest view, pixels.
        width: u32,
        /// Its height.
        height: u32,
        /// What is allowed, and why.
        budget: Budget,
    },
    /// The voxels and the mesh do not fit host memory.
    #[error(
        "{bricks} bricks of voxels need {:.1} MiB of memory on their way to triangles, and {:.1} MiB are available",
        mib(*needed_bytes),
        mib(*available_bytes)
    )]
    HostMemory {
        /// Bricks near surfaces.
        bricks: u64,
        /// Bytes of the estimate.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
        /// A voxel size, world units, that should fit.
        fitting_voxel: f64,
    },
    /// No neighbours to make a density of.
    #[error("no density of the model: {0}")]
    Neighbors(#[from] NeighborsRefused),
    /// Points that make no surface, or more than memory holds.
    #[error("{0}")]
    Poisson(kiln_mesh::Error),
    /// A model without the mesh that it is said to be bound to.
    #[error("{} is bound to no mesh: {why}", model.display())]
    NotBound {
        /// The model.
        model: PathBuf,
        /// What is wrong with the mesh beside it.
        why: String,
    },
    /// Cleaning took everything.
    #[error("nothing is left of the mesh: {unseen} triangles that no view sees and {pieces} small pieces were dropped")]
    NothingLeft {
        /// Pieces dropped.
        pieces: usize,
        /// Triangles dropped.
        unseen: usize,
    },
    /// Decimation does not fit host memory.
    #[error(
        "decimating {triangles} triangles needs {:.1} MiB of memory, and {:.1} MiB are available",
        mib(*needed_bytes),
        mib(*available_bytes)
    )]
    Decimation {
        /// Triangles.
        triangles: u64,
        /// Bytes it takes.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
    },
    /// Asked to stop.
    #[error("stopped before the mesh was done")]
    Stopped,
    /// The device.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Memory that was planned or committed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Scene data.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A texture.
    #[error("the texture: {0}")]
    Texture(DrawnError),
    /// A model of triangles.
    #[error("{}: {source}", path.display())]
    Model {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: kiln_triangles::Error,
    },
    /// Work on triangles.
    #[error("the mesh: {0}")]
    Mesh(kiln_mesh::Error),
    /// A picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Files.
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl From<DrawnError> for MeshError {
    fn from(error: DrawnError) -> Self {
        match error {
            DrawnError::Host(kiln_mesh::Error::Stopped) => Self::Stopped,
            DrawnError::Memory(error) => Self::Memory(error),
            DrawnError::Export(error) => Self::Export(error),
            other => Self::Texture(other),
        }
    }
}

impl From<kiln_mesh::Error> for MeshError {
    fn from(error: kiln_mesh::Error) -> Self {
        match error {
            kiln_mesh::Error::Stopped => Self::Stopped,
            other => Self::Mesh(other),
        }
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
