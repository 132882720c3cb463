//! `kiln-lab crash`: kills training again and again and compares what it ends in.
//!
//! Owns nothing but the call: the rounds are those of the test `train::crash`, more of them and with any seed.

use std::path::{Path, PathBuf};

use clap::Args;
use xtask::failure::{Failure, Result};
use xtask::steps;

/// How often to kill, and when.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Trains a small scene, then kills the same training at random moments and file operations, lets it \
                        resume, and compares the final bytes."
)]
pub struct Arguments {
    /// Trainings that are killed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub rounds: u64,
    /// Seed of the random moments
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Milliseconds between checkpoints, which then come by the clock as they do by default; else after nine iterations of 44
    #[arg(long, value_name = "MS")]
    pub interval_ms: Option<u64>,
    /// Gets a line of JSON per round: how it was killed, where it resumed, and how it ended
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Runs the rounds.
///
/// # Errors
/// [`Failure`] when the test does not build, or a round ends in other bytes.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let test = [
        "test",
        "--workspace",
        "--test",
        "train",
        "--",
        "--nocapture",
        "crash::killed",
    ];
    let mut command = steps::cargo(root, &test);
    command
        .env("KILN_CRASH_ROUNDS", arguments.rounds.to_string())
        .env("KILN_CRASH_SEED", arguments.seed.to_string());
    if let Some(ms) = arguments.interval_ms {
        command.env("KILN_CRASH_INTERVAL_MS", ms.to_string());
    }
    if let Some(file) = &arguments.log {
        // The test runs in another folder.
        let file = std::path::absolute(file).map_err(|e| Failure::io("find", file, e))?;
        command.env("KILN_CRASH_LOG", file);
    }
    let status = command
        .status()
        .map_err(|e| Failure::new(format!("cannot start cargo: {e}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` ended with {status}", steps::line(&command))))
    }
}
