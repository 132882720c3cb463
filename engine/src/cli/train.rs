//! `kiln train`: from a request to a finished run and its exit code.

use std::io::Write as _;

use super::for_scene::{ForScene, for_scene};
use super::request::{Resume, Train};
use super::{Exit, Failure};
use crate::config;
use crate::memory::Budget;
use crate::plan::open_device;
use crate::record::sinks::Terminal;
use crate::run::interrupt::{Interrupt, Signal};
use crate::run::{ResumeFrom, RunEnd, RunRequest, run as run_training};
use crate::vk::DeviceKind;

/// Trains.
///
/// # Errors
/// Whatever ended the run; the caller prints it.
pub fn run(request: Train) -> Result<Exit, Box<dyn Failure>> {
    let Train {
        settings,
        faults,
        resume,
        json,
        quiet,
    } = request;
    let preliminary = settings.preliminary().map_err(boxed)?;
    let open = open_device(&preliminary, faults).map_err(boxed)?;
    let caps = open.device.caps();
    let here = Budget::of_device(&open.device, None);
    let budget = config::Budget {
        bytes: here.cap_bytes,
        heap_bytes: here.heap_bytes,
        is_cpu: caps.kind == DeviceKind::Cpu,
    };
    let inputs = settings.inputs_on(budget).map_err(boxed)?;
    let mut err = std::io::stderr();
    if !quiet {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(err, "device: {} ({})", caps.name, caps.driver);
    }
    let ForScene {
        profile,
        path,
        scene,
        opened,
        adapted,
    } = for_scene(&inputs)?;
    let interrupt = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
    let request = RunRequest {
        profile,
        open,
        scene: path,
        loaded: Some((scene, opened)),
        chosen: adapted,
        resume: resume.map(|r| match r {
            Resume::Latest => ResumeFrom::Latest,
            Resume::From(path) => ResumeFrom::File(path),
        }),
        terminal: (!quiet).then(Terminal::stderr),
        json: json.then(|| Box::new(std::io::stdout()) as _),
    };
    let end = run_training(request, &interrupt).map_err(boxed)?;
    if json {
        // A reader that has left misses nothing but this line, and the exit code says the same.
        let _ = writeln!(std::io::stdout(), "{}", last_line(&end));
    }
    if !quiet {
        let _ = writeln!(err, "{}", summary(&end));
    }
    Ok(match end.signal {
        None => Exit::Ok,
        Some(Signal::Interrupt) => Exit::Interrupted,
        Some(Signal::Terminate) => Exit::Terminated,
    })
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

/// The last JSON line.
fn last_line(end: &RunEnd) -> serde_json::Value {
    serde_json::json!({
        "type": "end",
        "status": if end.signal.is_some() { "interrupted" } else { "done" },
        "iterations": end.iterations,
        "test_psnr": end.test_psnr,
        "folder": end.folder.display().to_string(),
    })
}

fn summary(end: &RunEnd) -> String {
    let folder = end.folder.display();
    match (end.signal, end.test_psnr) {
        (Some(_), _) => format!(
            "interrupted after {} iterations; saved in {folder}, `--resume -o {folder}` goes on from there",
            end.iterations
        ),
        (None, Some(psnr)) => format!("done: {} iterations, test PSNR {psnr:.2} dB, {folder}", end.iterations),
        (None, None) => format!("done: {} iterations, {folder}", end.iterations),
    }
}
