//! How far a project is.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Serialize;

use super::{BlockFolder, ProjectError, ProjectFolder};
use crate::record::events::TrainRow;
use crate::record::run_folder::{RunRecord, Status, is_written_to, record_path};
use crate::record::sinks::METRICS_FILE;

/// Bytes at the end of a file of metrics in which its last step is.
const TAIL_BYTES: u64 = 1 << 16;

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// Nothing was trained yet.
    Waiting,
    /// A process trains it.
    Running,
    /// A run ended before its end, and can go on.
    Stopped,
    /// A run ended with an error.
    Failed,
    /// Trained.
    Done,
}

/// A block and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockStatus {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: BlockState,
    /// Iterations done.
    pub iteration: u32,
    /// Iterations of its run; none before it began.
    pub iterations: Option<u32>,
    /// Iterations a second, while it runs.
    pub its: Option<f32>,
    /// Seconds that are left at that rate.
    pub eta_s: Option<f64>,
    /// Gaussians of its model, as far as it is.
    pub gaussians: Option<u32>,
    /// Training views.
    pub views: usize,
    /// Gaussians that the plan has room for.
    pub planned_gaussians: u32,
    /// Device memory that it takes.
    pub device_bytes: u64,
    /// Mean PSNR over its test views, dB, when it is done.
    pub test_psnr: Option<f64>,
    /// What it ended with.
    pub message: Option<String>,
}

/// A project and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectStatus {
    /// The blocks.
    pub blocks: Vec<BlockStatus>,
    /// Training views of the scene.
    pub views: usize,
    /// Blocks that a training view is in, on average.
    pub views_used: f64,
    /// Training views in no block.
    pub views_without_block: Vec<String>,
    /// The block that takes most device memory.
    pub largest: Option<String>,
}

/// Looks at all blocks.
///
/// # Errors
/// [`ProjectError`] when one of them is not what was split.
pub fn project_status(project: &ProjectFolder) -> Result<ProjectStatus, ProjectError> {
    let blocks = project.blocks()?;
    let states = blocks.iter().map(block_status).collect::<Result<Vec<_>, _>>()?;
    let used: std::collections::BTreeSet<&String> = blocks.iter().flat_map(|block| &block.record.train_views).collect();
    let held_out: std::collections::BTreeSet<&String> = project.record.test_views.iter().collect();
    let photos = project.record.scene.photos.iter().map(|photo| &photo.name);
    let train: Vec<&String> = photos.filter(|name| !held_out.contains(name)).collect();
    // Of equals the first.
    let largest = states.iter().rev().max_by_key(|block| block.device_bytes);
    Ok(ProjectStatus {
        views: train.len(),
        views_used: project.record.views_used,
        views_without_block: train.into_iter().filter(|name| !used.contains(name)).cloned().collect(),
        largest: largest.map(|block| block.name.clone()),
        blocks: states,
    })
}

fn block_status(block: &BlockFolder) -> Result<BlockStatus, ProjectError> {
    let record = &block.record;
    let mut status = BlockStatus {
        name: record.name.clone(),
        state: BlockState::Waiting,
        iteration: 0,
        iterations: None,
        its: None,
        eta_s: None,
        gaussians: None,
        views: record.train_views.len(),
        planned_gaussians: record.planned.gaussians,
        device_bytes: record.planned.device_bytes,
        test_psnr: None,
        message: None,
    };
    if let Some(done) = block.done()? {
        return Ok(BlockStatus {
            state: BlockState::Done,
            iteration: done.iterations,
            iterations: Some(done.iterations),
            gaussians: Some(done.gaussians),
            test_psnr: done.test_psnr,
            ..status
        });
    }
    let run = block.run();
    let path = record_path(&run);
    if !path.is_file() {
        return Ok(status);
    }
    let found = RunRecord::read(&path).map_err(|e| ProjectError::Unreadable {
        path,
        reason: e.to_string(),
    })?;
    status.iterations = Some(found.iterations.total);
    status.iteration = found.iterations.done;
    status.message = found.message;
    status.state = match (found.status, is_written_to(&run)) {
        (Status::Running, Some(false)) | (Status::Interrupted | Status::Done, _) => BlockState::Stopped,
        (Status::Running, _) => BlockState::Running,
        (Status::Failed | Status::Stalled, _) => BlockState::Failed,
    };
    if let Some(row) = last_step(&run.join(METRICS_FILE)) {
        status.gaussians = Some(row.gaussians);
        if status.state == BlockState::Running {
            status.iteration = row.it;
            status.its = row.its;
            let left = f64::from(found.iterations.total.saturating_sub(row.it));
            status.eta_s = row.its.filter(|its| *its > 0.0).map(|its| left / f64::from(its));
        }
    }
    Ok(status)
}

/// The last step that a file of metrics tells of.
pub(crate) fn last_step(path: &Path) -> Option<TrainRow> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let text = String::from_utf8_lossy(&tail);
    text.lines().rev().find_map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        (value.get("type")? == "train").then(|| serde_json::from_value(value).ok())?
    })
}
