//! `cargo xtask crash`: kills training again and again and compares what it ends in.
//!
//! Owns nothing but the call: the rounds are those of the test `train::crash`, more of them and with any seed.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::steps;

const USAGE: &str = "usage: cargo xtask crash [--rounds N] [--seed N] [--log FILE]
  trains a small scene, then kills the same training at random moments and file operations,
  lets it go on, and compares the final bytes
  --rounds N  trainings that are killed [20]
  --seed N    which moments [1]
  --log FILE  gets a line of JSON for every round: how it was killed, what it could go on from, and how it ended";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut rounds, mut seed, mut log) = (20, 1, None);
    let mut args = args.iter().map(String::as_str);
    while let Some(flag) = args.next() {
        let value = match flag {
            "--rounds" => &mut rounds,
            "--seed" => &mut seed,
            "--log" => {
                let file = args.next().ok_or_else(|| Failure::usage(USAGE))?;
                let file = std::path::absolute(file).map_err(|e| Failure::new(format!("{file}: {e}")))?;
                log = Some(file);
                continue;
            }
            "--help" | "-h" => {
                crate::say(USAGE);
                return Ok(());
            }
            _ => return Err(Failure::usage(USAGE)),
        };
        let number = args.next().and_then(|text| text.parse::<u64>().ok());
        *value = number.ok_or_else(|| Failure::usage(USAGE))?;
    }
    let test = [
        "test",
        "--package",
        "kiln-tests",
        "--test",
        "train",
        "--",
        "--nocapture",
        "crash::killed",
    ];
    let mut command = steps::cargo(root, &test);
    command
        .env("KILN_CRASH_ROUNDS", rounds.to_string())
        .env("KILN_CRASH_SEED", seed.to_string());
    if let Some(file) = log {
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
