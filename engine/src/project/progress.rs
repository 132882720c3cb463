//! What `kiln-ray` writes of the blocks that it trains.
//!
//! Other nodes train where this machine sees no writer; what their driver says of them while it lives is the better knowledge.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::folder::Open;
use super::{BlockState, BlockStatus};

/// The file in the project's folder.
const PROGRESS: &str = "progress.json";
/// Largest file that is read.
const MOST_BYTES: u64 = 16 << 20;
/// The driver writes every five seconds; after this long it is not there any more.
const FRESH: Duration = Duration::from_secs(60);

/// What a driver says; nothing where none is at work.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Progress {
    blocks: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    state: String,
    iteration: Option<u32>,
    iterations: Option<u32>,
    its: Option<f32>,
    eta_s: Option<f64>,
    gaussians: Option<u32>,
}

impl Progress {
    /// Reads what the driver of a project said last. Another program's file, or half of one, says nothing: the blocks' own files do.
    pub(super) fn read(project: &Path, open: Open<'_>) -> Self {
        let read = || {
            let file = open(&project.join(PROGRESS)).ok()?;
            let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
            let mut text = String::new();
            file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok().filter(|_| age < FRESH)
        };
        read().unwrap_or_default()
    }

    /// Has a block that trains elsewhere run.
    pub(super) fn tell(&self, status: &mut BlockStatus) {
        let elsewhere = matches!(status.state, BlockState::Waiting | BlockState::Stopped);
        let row = self.blocks.iter().find(|row| row.name == status.name);
        let Some(row) = row.filter(|row| elsewhere && row.state == "running") else {
            return;
        };
        status.state = BlockState::Running;
        status.iteration = row.iteration.unwrap_or(status.iteration);
        status.iterations = row.iterations.or(status.iterations);
        status.gaussians = row.gaussians.or(status.gaussians);
        (status.its, status.eta_s) = (row.its, row.eta_s);
    }
}
