//! What can end a run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::eval::lpips::LpipsError;
use crate::eval::{PictureError, ReportError};
use crate::export::{CamerasError, ExportError, PlyError};
use crate::mesh::{DrawnError, MeshError};
use crate::plan::PlanError;
use crate::record::SpillEvidence;
use crate::record::run_folder::RunFolderError;
use crate::train::TrainError;
use crate::train::checkpoint::CheckpointError;
use kiln_gpu::memory::MemoryError;
use kiln_gpu::vk::VkError;
use kiln_scene::{SceneError, Split};

/// What ends a run, or the evaluation of a model that one left.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A step, an evaluation or a checkpoint on the device.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Scene data.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A file of the run.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The run folder.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    /// A picture of the evaluation.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Figures of the evaluation.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A model file that cannot be read.
    #[error(transparent)]
    Ply(#[from] PlyError),
    /// A file of cameras that cannot be read.
    #[error(transparent)]
    Cameras(#[from] CamerasError),
    /// A path that names no model.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// A mesh, or what it is held against.
    #[error(transparent)]
    Drawn(#[from] DrawnError),
    /// Depth, normals or a mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The model grew although nothing may add to it any more.
    #[error(
        "the model grew from {before} to {after} Gaussians at iteration {iteration}, after its last densification at \
         {last_densify}; this is a defect of kiln, please report it"
    )]
    Grew {
        /// Iteration that saw it.
        iteration: u32,
        /// Iteration of the last densification.
        last_densify: u32,
        /// Gaussians before.
        before: u32,
        /// Gaussians now.
        after: u32,
    },
    /// Most steps come out as something that is no number.
    #[error(
        "{left_out} of the last {steps} steps were left out because their loss or gradients were not finite, the last at \
         iteration {iteration}: the model does not train"
    )]
    NotFinite {
        /// Iteration of the last one.
        iteration: u32,
        /// Steps left out.
        left_out: u32,
        /// Of so many.
        steps: u32,
    },
    /// Memory of the device turned out to lie in the host, and `memory.on_spill` is `error`.
    #[error("at iteration {iteration} device memory lies in the host: {evidence}")]
    Spilled {
        /// Iterations done.
        iteration: u32,
        /// The evidence.
        evidence: SpillEvidence,
        /// A checkpoint of that iteration was written.
        saved: bool,
    },
    /// The Vulkan validation layer had something to say.
    #[error("the Vulkan validation layer (`diagnose.validation` is {mode}) gave {count} messages, the first: {first}")]
    Validation {
        /// What it checks.
        mode: &'static str,
        /// Messages.
        count: u64,
        /// The first one.
        first: String,
    },
    /// The device was lost and is not tried again.
    #[error("{}", lost_text(losses, report.as_deref(), reopening.as_deref()))]
    DeviceLost {
        /// What is known of each time, in order.
        losses: Vec<DeviceLoss>,
        /// Where that was written.
        report: Option<PathBuf>,
        /// Why it could not be opened again, when it was lost once.
        reopening: Option<String>,
    },
    /// Densification wanted more Gaussians than there is room for, and `memory.on_full` is `stop`.
    #[error(
        "the densification after iteration {iteration} wanted {dropped} Gaussians more than the {n_cap} there is room for, \
         and `memory.on_full` is stop"
    )]
    Overflow {
        /// Iteration.
        iteration: u32,
        /// Births given up.
        dropped: u32,
        /// The capacity.
        n_cap: u64,
    },
}

/// Errors of the device side, wherever in a run they come up.
macro_rules! from_train {
    ($($error:ty),*) => {$(
        impl From<$error> for RunError {
            fn from(error: $error) -> Self {
                Self::Train(error.into())
            }
        }
    )*};
}

from_train!(CheckpointError, LpipsError, MemoryError, VkError);

impl RunError {
    /// What noticed that the device is lost, when that is the error.
    pub(super) fn lost(&self) -> Option<&str> {
        match self {
            Self::Plan(error) => error.lost(),
            Self::Train(error) => error.lost(),
            _ => None,
        }
    }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}

/// Why a path names no model.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// Neither a file nor a folder.
    #[error("{} does not exist; name a run folder or a PLY file", path.display())]
    Absent {
        /// The path.
        path: PathBuf,
    },
    /// A folder without models.
    #[error("{} holds no model: `point_cloud/iteration_N` with a PLY file was looked for", path.display())]
    NoModel {
        /// The folder.
        path: PathBuf,
    },
    /// No model of the chosen iteration.
    #[error("{} holds no model of iteration {wanted}; there is {found}", path.display())]
    NoIteration {
        /// The folder.
        path: PathBuf,
        /// Asked for.
        wanted: u32,
        /// Iterations that are there.
        found: String,
    },
    /// An iteration of a file.
    #[error("{} is one model; `--iteration` chooses among those of a run folder", path.display())]
    OneModel {
        /// The file.
        path: PathBuf,
    },
    /// Triangles where splats are wanted.
    #[error("{0} is a model of triangles; `--mesh {0}` behind a scene or a run draws it as a mesh", path.display())]
    Triangles {
        /// The file.
        path: PathBuf,
    },
    /// A model that is drawn in parts, of which one tile needs more than the device has room for.
    #[error(
        "{gaussians} Gaussians may touch the tile at column {column}, row {row}, and the device has room for {capacity}: not \
         even a band of one tile fits"
    )]
    TileTooFull {
        /// Tiles to the left.
        column: u32,
        /// Tiles above.
        row: u32,
        /// Gaussians that may touch the tile.
        gaussians: u32,
        /// Gaussians that there is room for.
        capacity: u32,
    },
    /// A model that host memory has no room for, and a command that needs all of it.
    #[error(
        "{}: its {gaussians} Gaussians take {:.1} GiB of host memory and {:.1} GiB are available; `kiln eval` and `kiln render` \
         without `--depth` and `--normals` read it in parts",
        path.display(),
        gib(*needed_bytes),
        gib(*available_bytes)
    )]
    HostMemory {
        /// The file.
        path: PathBuf,
        /// Gaussians.
        gaussians: u64,
        /// Bytes of them.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
    },
    /// No photos to hold a mesh against.
    #[error("the scene {} has no test views; `--set dataset.hold_out=8` holds every 8th photo out", scene.display())]
    NoTestViews {
        /// The scene.
        scene: PathBuf,
    },
    /// A part of a run's views of which no photo is left.
    #[error(
        "none of the {} views of the run is in the scene {} any more: {names}",
        set.name(),
        scene.display()
    )]
    PartGone {
        /// The scene.
        scene: PathBuf,
        /// The part.
        set: Split,
        /// The first few.
        names: String,
    },
    /// No views to draw.
    #[error(
        "the scene {} has no {} views; `--cameras train|test|FILE` chooses others",
        scene.display(),
        set.name()
    )]
    NoViews {
        /// The scene.
        scene: PathBuf,
        /// The set.
        set: Split,
    },
}

/// One loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLoss {
    /// Iterations submitted.
    pub iteration: u32,
    /// The call or program that noticed.
    pub noticed: String,
    /// What the device was at: a pass, or passes that cannot be distinguished, or a submission where passes are not
    /// marked.
    pub at: String,
    /// Longest submission aimed at, milliseconds; 0 = no limit.
    pub submit_ms: u32,
}

fn lost_text(losses: &[DeviceLoss], report: Option<&Path>, reopening: Option<&str>) -> String {
    let times: Vec<String> = losses
        .iter()
        .map(|loss| format!("after {} iterations at {}", loss.iteration, loss.at))
        .collect();
    let mut text = format!("the Vulkan device was lost {}", times.join(", and again "));
    if let Some(why) = reopening {
        text += &format!("; it could not be opened again: {why}");
    }
    if let Some(path) = report {
        text += &format!("; {} has the report", path.display());
    }
    text
}
