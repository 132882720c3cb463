//! `run.json`: the index of a run folder, for viewers and for the next run into the same folder.

use std::fs::File;
use std::path::Path;

use kiln_files::is_inside_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MadeBy, RunFolderError};
use crate::eval::{Means, SetReport, Spread};
use crate::export::file_digest;
use kiln_config::SugarStage;
use kiln_scene::SceneIndex;

/// Version of `run.json`.
pub const SCHEMA_VERSION: u32 = 1;
/// Largest `run.json` that is read.
const MAX_BYTES: u64 = 16 << 20;

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this format; 1.
    pub schema_version: u32,
    /// Name shown in reports.
    pub name: String,
    /// What is trained on.
    pub scene: RunScene,
    /// How it stands.
    pub status: Status,
    /// Why it failed or stalled, for people.
    pub message: Option<String>,
    /// When it started, seconds since 1970 UTC.
    pub started_unix_s: u64,
    /// What made it; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
    /// How far it is.
    pub iterations: Iterations,
    /// Models written, by iteration.
    pub plys: Vec<PlyRecord>,
    /// Evaluations, by iteration.
    pub evals: Vec<EvalRecord>,
    /// Other files, relative to the folder, `/` separated, sorted.
    pub files: Vec<String>,
    /// What was chosen for the scene where the settings leave it open, and why, a sentence each; empty in runs of older
    /// versions.
    #[serde(default)]
    pub chosen: Vec<String>,
    /// Stages of SuGaR that have begun, in their order; empty in other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
}

/// A stage of SuGaR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Which, as `sugar.stages` has it.
    pub stage: SugarStage,
    /// It is over.
    pub done: bool,
    /// SHA-256 of what it was made from, hexadecimal: the model or mesh before it, and of meshes the settings. Empty for the
    /// first.
    pub of: String,
    /// How long it took, over all processes that ended with a word.
    #[serde(serialize_with = "crate::export::milliseconds")]
    pub seconds: f64,
    /// Device memory that it allocated, at most at once, bytes; 0 before it is over.
    pub device_bytes: u64,
    /// What it left, relative to the run folder, `/` separated.
    pub files: Vec<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Under way, or killed without a chance to say so.
    Running,
    /// All iterations done.
    Done,
    /// Ended by a signal; what was reached is saved.
    Interrupted,
    /// Ended by an error.
    Failed,
    /// Ended because a step did not fit its buffers.
    Stalled,
}

impl Status {
    /// The word in `run.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Stalled => "stalled",
        }
    }

    /// What it comes to when the folder is, or is not, being written to; none = unknown.
    #[must_use]
    pub const fn found(self, is_written_to: Option<bool>) -> &'static str {
        match (self, is_written_to) {
            (Self::Running, Some(false)) => "stopped without ending",
            _ => self.name(),
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iterations {
    /// Iterations done: as of the last save, evaluation, checkpoint or end, and of a few seconds ago while the run goes on.
    pub done: u32,
    /// Iterations of the whole run.
    pub total: u32,
}

/// The scene of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunScene {
    /// Folder name.
    pub name: String,
    /// Folder, as it was given.
    pub path: String,
    /// Identifies the scene wherever it lies: a hash of the views' names, sizes and poses, 16 hexadecimal digits.
    pub fingerprint: String,
    /// Views trained on.
    pub train_views: u32,
    /// Views held out.
    pub test_views: u32,
    /// What the coordinates in all files of the run are relative to, in those of the data set; absent where that is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 3]>,
}

impl RunScene {
    /// Describes a scene.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        let root = dunce::canonicalize(&scene.root).unwrap_or_else(|_| scene.root.clone());
        let name = root
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let count = |views: &[_]| u32::try_from(views.len()).unwrap_or(u32::MAX);
        Self {
            name,
            path: scene.root.display().to_string(),
            fingerprint: fingerprint(scene),
            train_views: count(&scene.train),
            test_views: count(&scene.test),
            origin: (scene.origin != [0.0; 3]).then_some(scene.origin),
        }
    }
}

/// FNV-1a (64 bit) over the views by name, whatever set they are in and whatever resolution they are trained at.
fn fingerprint(scene: &SceneIndex) -> String {
    let mut views: Vec<_> = scene.train.iter().chain(&scene.test).collect();
    views.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for view in views {
        add(view.name.as_bytes());
        add(&[0]);
        add(&view.source_width.to_le_bytes());
        add(&view.source_height.to_le_bytes());
        let pose = view.camera.rotation.iter().flatten().chain(&view.camera.translation);
        for value in pose {
            add(&value.to_bits().to_le_bytes());
        }
    }
    format!("{hash:016x}")
}

/// Kinds of model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlyKind {
    /// 3D filter fused in: for any viewer of 3D Gaussian Splatting.
    Fused,
    /// Parameters as trained, with the filter beside them.
    Raw,
    /// Triangles with shared vertices.
    Triangles,
}

impl PlyKind {
    /// File name below `point_cloud/iteration_N`.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Fused => "point_cloud.ply",
            Self::Raw => "point_cloud_raw.ply",
            Self::Triangles => "triangles.ply",
        }
    }
}

/// A model file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlyRecord {
    /// Iterations done.
    pub iteration: u32,
    /// What it holds.
    pub kind: PlyKind,
    /// Path relative to the run folder, `/` separated.
    pub path: String,
    /// Gaussians in it.
    pub gaussians: u32,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal; null in runs of older versions.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvalRecord {
    /// Iterations done.
    pub iteration: u32,
    /// Path of its `metrics.json` relative to the run folder, `/` separated.
    pub path: String,
    /// Figures of the held-out views; null when there are none.
    pub test: Option<SetRecord>,
    /// Figures of the evaluated training views; null when there are none.
    pub train: Option<SetRecord>,
}

/// An evaluation's figures of one set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetRecord {
    /// Means over the views.
    #[serde(flatten)]
    pub mean: Means,
    /// What they hide; empty in runs of older versions.
    #[serde(flatten)]
    pub spread: Spread,
}

impl From<&SetReport> for SetRecord {
    fn from(report: &SetReport) -> Self {
        Self {
            mean: report.mean,
            spread: report.spread.clone(),
        }
    }
}

impl PlyRecord {
    /// What is wrong with the file in the run folder `root`, if anything: gone, or not as it was written.
    #[must_use]
    pub fn damage(&self, root: &Path) -> Option<&'static str> {
        let path = root.join(&self.path);
        match (std::fs::metadata(&path), &self.sha256) {
            (Err(_), _) => Some("is listed and not there"),
            _ if !is_inside_name(&self.path) => Some("lies outside of the run"),
            (Ok(found), _) if found.len() != self.bytes => Some("does not have the size it was written with"),
            (Ok(_), Some(sha256)) if file_digest(&path).ok().as_ref() != Some(sha256) => {
                Some("does not have the bytes it was written with")
            }
            _ => None,
        }
    }
}

impl RunRecord {
    /// Reads a `run.json`.
    ///
    /// # Errors
    /// [`RunFolderError::Unreadable`] when it is absent, too large, damaged or of a newer version.
    pub fn read(path: &Path) -> Result<Self, RunFolderError> {
        let opened = kiln_files::open_regular(path).map_err(|error| RunFolderError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        });
        Self::read_opened(path, opened?)
    }

    /// [`RunRecord::read`] of the file at `path`, which is open.
    pub(crate) fn read_opened(path: &Path, file: File) -> Result<Self, RunFolderError> {
        let fail = |reason: String| RunFolderError::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let text = kiln_files::read_opened(file, MAX_BYTES).map_err(|error| fail(error.to_string()))?;
        /// The one field that every version has.
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let json = |error: serde_json::Error| fail(error.to_string());
        let version: Version = serde_json::from_slice(&text).map_err(json)?;
        if version.schema_version != SCHEMA_VERSION {
            return Err(fail(format!(
                "its schema_version is {} and this program knows {SCHEMA_VERSION}",
                version.schema_version
            )));
        }
        serde_json::from_slice(&text).map_err(json)
    }
}
