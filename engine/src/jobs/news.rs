//! What a job reports while it works.

use std::path::Path;
use std::time::Duration;

use crate::mesh::{Made, MeshEvent};
use crate::record::run_folder::StageRecord;
use crate::run::{self, RunEnd};
use kiln_config::SugarStage;

/// Hears what a job reports.
pub type Listener<'a> = dyn FnMut(News<'_>) + 'a;

/// Something that happens in a job.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// The device that it works on.
    Device {
        /// Its name.
        name: &'a str,
        /// Its driver.
        driver: &'a str,
        /// It is a CPU.
        is_cpu: bool,
    },
    /// The file of the model that it works on.
    Model(&'a Path),
    /// How that model is drawn.
    Kernel {
        /// The kernel, for people.
        kernel: &'a str,
        /// What chose it.
        by: KernelBy,
    },
    /// What was chosen, or may have been meant otherwise.
    Note(&'a str),
    /// What is odd.
    Warning(&'a str),
    /// Views of a model that is drawn.
    Views(run::News),
    /// COLMAP.
    Poses(PosesNews<'a>),
    /// A mesh in the making.
    Mesh(MeshEvent),
    /// A mesh that a stage of a run made.
    Made(&'a Made),
    /// The training is over, and a mesh of it comes next.
    Trained(&'a RunEnd),
    /// A stage of SuGaR is over.
    Stage(&'a StageRecord),
    /// It was over before.
    StageBefore {
        /// Which.
        stage: SugarStage,
        /// Seconds that it took.
        seconds: f64,
    },
}

/// What chose the kernel that a model is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelBy {
    /// Its file.
    File,
    /// The settings; the file states none.
    Settings,
    /// Nothing: it is that of plain 3D Gaussian Splatting.
    Default,
}

/// A step of COLMAP.
#[derive(Clone, Copy, Debug)]
pub enum PosesNews<'a> {
    /// It begins.
    Begins {
        /// Its name.
        step: &'static str,
        /// Photos.
        photos: usize,
        /// Everything that it prints.
        log: &'a Path,
    },
    /// It works; reported several times a second.
    Works {
        /// Its name.
        step: &'static str,
        /// How far it is; empty while it has not said so.
        heard: &'a str,
        /// Time since it began.
        spent: Duration,
    },
    /// It ended.
    Ended {
        /// Its name.
        step: &'static str,
        /// Time that it took.
        spent: Duration,
        /// It did what it was to do.
        well: bool,
    },
    /// It failed, and begins once more without the GPU.
    WithoutGpu {
        /// Its name.
        step: &'static str,
    },
}
