//! What can end a training run.

use std::path::{Path, PathBuf};

use super::checkpoint::CheckpointError;
use super::device_loss::DeviceLoss;
use super::guard::SpillEvidence;
use super::losses::LossError;
use super::run_folder::RunFolderError;
use super::stored::StoredError;
use crate::eval::lpips::LpipsError;
use crate::eval::{PictureError, ReportError};
use crate::export::{CamerasError, ExportError, PlyError};
use crate::gaussians::init::InitError;
use crate::kernels::counters::Counters;
use crate::memory::{Budget, MemoryError};
use crate::scene::SceneError;
use crate::vk::VkError;

/// An error of planning or training.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Scene data.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The initial model.
    #[error(transparent)]
    Init(#[from] InitError),
    /// Memory that was planned or committed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device.
    #[error(transparent)]
    Vulkan(#[from] VkError),
    /// A file of the run.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The run folder.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    /// A picture of the evaluation.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Figures of the evaluation.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// LPIPS or its weights.
    #[error(transparent)]
    Lpips(#[from] LpipsError),
    /// A model file that cannot be read.
    #[error(transparent)]
    Ply(#[from] PlyError),
    /// A file of cameras that cannot be read.
    #[error(transparent)]
    Cameras(#[from] CamerasError),
    /// A loss that the scene cannot serve.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A path that names no model.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// No device fits the request.
    #[error("{0}")]
    NoDevice(String),
    /// The model or the smallest useful plan is larger than the cap.
    #[error(
        "the run needs {:.1} MiB of device memory for {gaussians} Gaussians but the cap is {:.1} MiB, {budget}",
        mib(*needed_bytes),
        mib(budget.cap_bytes)
    )]
    DoesNotFit {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Gaussians it was made for.
        gaussians: u32,
        /// What is allowed, and why.
        budget: Budget,
    },
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
    /// A view cannot be cut into bands: one tile alone has more splats than there are visible records.
    #[error(
        "iteration {iteration}: {splats} Gaussians touch the tile in column {column}, row {row}, and the plan has \
         {v_cap} visible records: not even a band of one tile fits"
    )]
    TileTooFull {
        /// Iteration of the view, or of the model when it is evaluated.
        iteration: u32,
        /// Tiles to the left.
        column: u32,
        /// Tiles above.
        row: u32,
        /// Gaussians that touch the tile.
        splats: u32,
        /// Capacity of visible records.
        v_cap: u32,
    },
    /// The background is set to more points than the model may have beside the others.
    #[error(
        "`init.background.count` is {count}: with {points} other points that is more than `{key}`, {capacity}; fewer points of \
         background fit, or a larger `{key}`"
    )]
    TooMuchBackground {
        /// Points of background asked for.
        count: u32,
        /// Points besides.
        points: u32,
        /// The setting that limits them.
        key: &'static str,
        /// Its value.
        capacity: u32,
    },
    /// Images that are to stay on the device leave too little of the cap.
    #[error(
        "`dataset.residency` is device, but {images} training images need {:.1} MiB of device memory and the rest at least \
         {:.1} MiB, and the cap is {:.1} MiB",
        mib(*images_bytes),
        mib(*other_bytes),
        mib(*cap_bytes)
    )]
    ImagesDoNotFit {
        /// Training images.
        images: usize,
        /// Bytes of them.
        images_bytes: u64,
        /// Bytes of the smallest plan without them.
        other_bytes: u64,
        /// Bytes allowed.
        cap_bytes: u64,
    },
    /// Decoded images would need more memory than the machine has left.
    #[error(
        "`dataset.residency` is {residency}: decoded images need up to {:.1} MiB of memory, and {:.1} MiB are available",
        mib(*needed_bytes),
        mib(*available_bytes)
    )]
    HostMemory {
        /// The setting.
        residency: &'static str,
        /// Bytes of the estimate.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
    },
    /// Memory of the device turned out to lie in the host, and `memory.on_spill` is `error`.
    #[error("at iteration {iteration} device memory lies in the host: {evidence}")]
    Spilled {
        /// Iterations done.
        iteration: u32,
        /// What tells of it.
        evidence: SpillEvidence,
        /// A checkpoint of that iteration was written.
        saved: bool,
    },
    /// The Vulkan validation layer had something to say.
    #[error("the Vulkan validation layer (`debug.validation` is {mode}) gave {count} messages, the first: {first}")]
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
    /// Densification wanted more Gaussians than there is room for, and `memory.on_overflow` is `stop`.
    #[error(
        "the densification after iteration {iteration} wanted {dropped} Gaussians more than the {n_cap} there is room for, \
         and `memory.on_overflow` is stop"
    )]
    Overflow {
        /// Iteration.
        iteration: u32,
        /// Births given up.
        dropped: u32,
        /// The capacity.
        n_cap: u64,
    },
    /// A step became a no-op and the run cannot go on.
    #[error("{}", stall_text(.counters, *.v_cap, *.i_cap))]
    Stalled {
        /// The status word of the stalled step.
        counters: Box<Counters>,
        /// Capacity of visible records.
        v_cap: u32,
        /// Capacity of intersections.
        i_cap: u32,
    },
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / crate::memory::MIB as f64
}

impl TrainError {
    /// What noticed that the device is lost, when that is the error.
    pub(super) fn lost(&self) -> Option<&str> {
        match self {
            Self::Vulkan(VkError::Lost { during })
            | Self::Memory(MemoryError::Vulkan(VkError::Lost { during }))
            | Self::Lpips(LpipsError::Memory(MemoryError::Vulkan(VkError::Lost { during }))) => Some(during),
            _ => None,
        }
    }
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

fn stall_text(c: &Counters, v_cap: u32, i_cap: u32) -> String {
    use crate::kernels::counters::Stall;
    let it = c.stall_iteration;
    match c.stall() {
        Some(Stall::Visible) => {
            format!(
                "iteration {it} sees {} Gaussians at once but the plan holds {v_cap}",
                c.visible_wanted
            )
        }
        Some(Stall::Intersections) => {
            format!(
                "iteration {it} makes {} tile intersections but the plan holds {i_cap}",
                c.intersections_wanted
            )
        }
        Some(Stall::Loops) => {
            format!("iteration {it} has a tile with so many splats that the Vulkan driver cut the loop over them")
        }
        _ => format!(
            "iteration {it} has a non-finite loss or 2D gradient ({} visible Gaussians, first at {})",
            c.nonfinite, c.nonfinite_index
        ),
    }
}
