//! How far a project is.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use kiln_files::open_regular;
use serde::Serialize;

use super::folder::Open;
use super::progress::Progress;
use super::{Area, BlockFolder, ProjectError, ProjectFolder};
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
    /// Its files are not those that were split or trained.
    Damaged,
}

/// A block and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockStatus {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: BlockState,
    /// What is kept of its model; none when that cannot be read.
    pub core: Option<Area>,
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
    /// What the blocks are of, world units in the plane.
    pub bounds: Area,
}

/// A project whatever state its files are in.
#[derive(Clone, Debug)]
pub struct Overview {
    /// How far it is; none when its index cannot be read.
    pub status: Option<ProjectStatus>,
    /// What is wrong with it, a sentence each. What is wrong with a block is the block's message.
    pub problems: Vec<String>,
}

impl Overview {
    /// What is said of a project with more blocks than are looked at.
    pub(crate) fn of_too_many(most_blocks: usize) -> Self {
        Self {
            status: None,
            problems: vec![format!(
                "it has more than {most_blocks} blocks, too many for this page; `kiln status` shows it"
            )],
        }
    }
}

/// Looks at all blocks.
///
/// # Errors
/// [`ProjectError`] when one of them is not what was split.
pub fn project_status(project: &ProjectFolder) -> Result<ProjectStatus, ProjectError> {
    let (status, problems) = look(project, &open_regular);
    problems.into_iter().next().map_or(Ok(status), Err)
}

/// Looks at the project in a folder and goes on where something is wrong.
#[must_use]
pub fn project_overview(root: &Path) -> Overview {
    project_overview_by(root, &open_regular, usize::MAX)
}

/// [`project_overview`] of files that `open` opens, each once; a project of more than `most_blocks` is not looked at.
pub(crate) fn project_overview_by(root: &Path, open: Open<'_>, most_blocks: usize) -> Overview {
    match ProjectFolder::read(root, open) {
        Ok(project) if project.record.blocks.len() > most_blocks => Overview::of_too_many(most_blocks),
        Ok(project) => Overview {
            status: Some(look(&project, open).0),
            problems: project.check_blocks().err().iter().map(ToString::to_string).collect(),
        },
        Err(error) => Overview {
            status: None,
            problems: vec![error.to_string()],
        },
    }
}

/// Looks at all blocks; reports the damaged ones, and what is wrong with each.
fn look(project: &ProjectFolder, open: Open<'_>) -> (ProjectStatus, Vec<ProjectError>) {
    let progress = Progress::read(&project.root, open);
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    let mut blocks = Vec::new();
    for entry in &project.record.blocks {
        let mut status = BlockStatus::of(&entry.name);
        let looked = project.block_by(&entry.name, open).and_then(|block| {
            status.plan(&block);
            let looked = status.look(&block, open);
            used.extend(block.record.train_views);
            looked
        });
        match looked {
            Ok(()) => progress.tell(&mut status),
            Err(error) => {
                status.state = BlockState::Damaged;
                status.message = Some(error.to_string());
                problems.push(error);
            }
        }
        blocks.push(status);
    }
    let held_out: BTreeSet<&String> = project.record.test_views.iter().collect();
    let photos = project.record.scene.photos.iter().map(|photo| &photo.name);
    let train: Vec<&String> = photos.filter(|name| !held_out.contains(name)).collect();
    // Of equals the first.
    let largest = blocks.iter().rev().max_by_key(|block| block.device_bytes);
    let status = ProjectStatus {
        views: train.len(),
        views_used: project.record.views_used,
        views_without_block: train
            .into_iter()
            .filter(|name| !used.contains(*name))
            .cloned()
            .collect(),
        largest: largest.map(|block| block.name.clone()),
        bounds: project.record.bounds,
        blocks,
    };
    (status, problems)
}

impl BlockStatus {
    /// A block of which nothing is known but its name.
    fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: BlockState::Waiting,
            core: None,
            iteration: 0,
            iterations: None,
            its: None,
            eta_s: None,
            gaussians: None,
            views: 0,
            planned_gaussians: 0,
            device_bytes: 0,
            test_psnr: None,
            message: None,
        }
    }

    /// Takes what the split says of the block.
    fn plan(&mut self, block: &BlockFolder) {
        let record = &block.record;
        self.core = Some(record.core);
        self.views = record.train_views.len();
        self.planned_gaussians = record.planned.gaussians;
        self.device_bytes = record.planned.device_bytes;
    }

    /// Takes what its training left.
    fn look(&mut self, block: &BlockFolder, open: Open<'_>) -> Result<(), ProjectError> {
        if let Some(done) = block.done_by(open)? {
            self.state = BlockState::Done;
            self.iteration = done.iterations;
            self.iterations = Some(done.iterations);
            self.gaussians = Some(done.gaussians);
            self.test_psnr = done.test_psnr;
            return Ok(());
        }
        let run = block.run();
        let path = record_path(&run);
        if !path.is_file() {
            return Ok(());
        }
        let opened = open(&path).map_err(|e| e.to_string());
        let found = opened.and_then(|file| RunRecord::read_opened(&path, file).map_err(|e| e.to_string()));
        let found = found.map_err(|reason| ProjectError::Unreadable { path, reason })?;
        self.iterations = Some(found.iterations.total);
        self.iteration = found.iterations.done;
        self.message = found.message;
        self.state = match (found.status, is_written_to(&run)) {
            (Status::Running, Some(false)) | (Status::Interrupted | Status::Done, _) => BlockState::Stopped,
            (Status::Running, _) => BlockState::Running,
            (Status::Failed | Status::Stalled, _) => BlockState::Failed,
        };
        if let Some(row) = open(&run.join(METRICS_FILE)).ok().and_then(last_step_of) {
            self.gaussians = Some(row.gaussians);
            if self.state == BlockState::Running {
                self.iteration = row.it;
                self.its = row.its;
                let left = f64::from(found.iterations.total.saturating_sub(row.it));
                self.eta_s = row.its.filter(|its| *its > 0.0).map(|its| left / f64::from(its));
            }
        }
        Ok(())
    }
}

/// The last step that a file of metrics has.
pub(crate) fn last_step(path: &Path) -> Option<TrainRow> {
    last_step_of(open_regular(path).ok()?)
}

fn last_step_of(mut file: File) -> Option<TrainRow> {
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
