//! `kiln train`: a request to a finished run and its exit code.

use std::io::{self, Write as _};

use super::listener::Listener;
use super::request::Train;
use super::summary::{last_line, look_at, made, summary};
use super::{Exit, Failure, mesh};
use crate::jobs::shell::word;
use crate::jobs::{self, TrainEnd, Trained};
use crate::record::sinks::Terminal;
use crate::record::words::count;
use crate::run::Outlets;
use crate::run::interrupt::Interrupt;

/// Trains.
///
/// # Errors
/// Whatever ended the run; the caller prints it.
pub fn run(request: Train) -> Result<Exit, Box<dyn Failure>> {
    let Train { job, json, quiet } = request;
    let interrupt = Interrupt::of_process();
    let outlets = Outlets::new(
        (!quiet).then(Terminal::stderr),
        json.then(|| Box::new(io::stdout()) as _),
    );
    let mut out = io::stdout();
    let mut listener = Listener::new(quiet).with_json(json.then_some(&mut out));
    let ended = jobs::train(&job, &outlets, &mut |news| listener.hear(&news), &interrupt);
    listener.end()?;
    match ended? {
        TrainEnd::Now(trained) => print(&trained, (json, quiet), &interrupt),
        TrainEnd::Before { block, done } => {
            if !quiet {
                // Losing a line of information is no reason to stop, here and below.
                let _ = writeln!(
                    io::stderr(),
                    "{} is trained: {} after {}",
                    block.display(),
                    count(done.gaussians, "Gaussian"),
                    count(done.iterations, "iteration")
                );
            }
            Ok(Exit::Ok)
        }
    }
}

/// Prints how the run ended; its mesh, where it has one, comes behind a line on the training.
fn print(trained: &Trained, (json, quiet): (bool, bool), interrupt: &Interrupt) -> Result<Exit, Box<dyn Failure>> {
    let Trained {
        end,
        block,
        stage,
        mesh: meshed,
    } = trained;
    let say = |text: String| {
        if !quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    };
    if let Some(meshed) = meshed {
        let exit = match json {
            true => mesh::print(meshed, false, (json, quiet), interrupt, &mut io::stdout())?,
            false => mesh::print(meshed, false, (json, quiet), interrupt, &mut io::sink())?,
        };
        if exit == Exit::Ok {
            say(look_at(&end.folder, &made(&end.folder)));
        }
        return Ok(exit);
    }
    if json {
        // A reader that has left misses nothing but this line, and the exit code says the same.
        let _ = writeln!(io::stdout(), "{}", last_line(end));
    }
    say(match stage {
        Some(stage) => format!(
            "interrupted before the stage {} was over; `kiln train --resume -o {}` goes on there",
            stage.name(),
            word(&end.folder)
        ),
        None => summary(end, block.as_deref(), &made(&end.folder)),
    });
    Ok(end.signal.map_or(Exit::Ok, Exit::from))
}
