//! The `kiln-lab` program: picks the subcommand, prints the failure, sets the exit code.
//!
//! A subcommand is a module of the library with an `Arguments` and a `run`, and one variant here.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kiln_lab::{antialias, bench, compare, crash, mesa, net, replay, synth};
use xtask::failure::Result;
use xtask::root;

/// Measurements and long checks of Kiln.
#[derive(Debug, Parser)]
#[command(
    name = "kiln-lab",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure training speed: steps per second, time and bytes per pass
    Bench(bench::Arguments),
    /// Train recipes on scenes with several seeds; print mean and spread
    Compare(compare::Arguments),
    /// Train at one scale and evaluate at others, Mip filters against plain rasterisation
    Antialias(antialias::Arguments),
    /// Write a synthetic scene of any size
    Synth(synth::Arguments),
    /// Kill training at random moments and compare the final bytes
    Crash(crash::Arguments),
    /// Replay what recorded runs did with memory on every allocator, over one simulated heap
    Replay(replay::Arguments),
    /// Write or compare digests of all that a change of structure must leave as it is
    Net(net::Arguments),
    /// Run device tests on a newer CPU driver than the system's, without installing it
    Mesa(mesa::Arguments),
}

impl Command {
    fn run(&self) -> Result<()> {
        match self {
            Self::Bench(arguments) => bench::run(&root(), arguments),
            Self::Compare(arguments) => compare::run(&root(), arguments),
            Self::Antialias(arguments) => antialias::run(&root(), arguments),
            Self::Synth(arguments) => synth::run(arguments),
            Self::Crash(arguments) => crash::run(&root(), arguments),
            Self::Replay(arguments) => replay::run(arguments),
            Self::Net(arguments) => net::run(&root(), arguments),
            Self::Mesa(arguments) => mesa::run(&root(), arguments),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_table_of_arguments_is_sound() {
        Cli::command().debug_assert();
    }
}
