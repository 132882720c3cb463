//! What people and programs read while a job works: messages on standard error, lines of JSON.

use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write};

use super::exit::unprinted;
use super::mesh_words::{Shown, print_made, stage_line};
use super::poses_shown::PosesShown;
use super::summary::{last_line, outcome};
use super::windows::instead_of_cpu;
use crate::export::ExportError;
use crate::jobs::{KernelBy, News};
use crate::mesh::MeshEvent;
use crate::record::events::Progress;
use crate::record::run_folder::StageRecord;
use crate::run;
use kiln_gpu::memory::MIB;

/// Turns news into messages.
pub(super) struct Listener<'a> {
    /// No message but warnings.
    quiet: bool,
    /// Someone watches progress.
    watched: bool,
    /// A CPU was the device before.
    has_heard_of_cpu: bool,
    /// Where lines of JSON go.
    json: Option<&'a mut dyn Write>,
    mesh: Shown,
    poses: PosesShown,
    /// Files that could not be listed.
    failed: Option<io::Error>,
}

impl<'a> Listener<'a> {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            watched: !quiet && io::stderr().is_terminal(),
            has_heard_of_cpu: false,
            json: None,
            mesh: Shown::new(quiet),
            poses: PosesShown::new(quiet),
            failed: None,
        }
    }

    /// With lines of JSON.
    pub(super) fn with_json(self, json: Option<&'a mut dyn Write>) -> Self {
        Self { json, ..self }
    }

    /// Writes what there is to say. Losing a line of information is no reason to stop.
    pub(super) fn hear(&mut self, news: &News<'_>) {
        match news {
            News::Device { name, driver, is_cpu } => {
                self.say(format_args!("device: {name} ({driver})"));
                self.instead_of_cpu(*is_cpu);
            }
            News::Model(path) => self.say(format_args!("model: {}", path.display())),
            News::Kernel { kernel, by } => self.say(format_args!("kernel: {kernel} ({})", chosen_by(*by))),
            News::Note(note) => self.say(format_args!("note: {note}")),
            News::Warning(warning) => {
                let _ = writeln!(io::stderr(), "warning: {warning}");
            }
            News::Views(run::News::Progress(now)) => self.progress(*now),
            News::Views(run::News::InParts { gaussians, at_once }) => self.say(format_args!(
                "note: of {gaussians} Gaussians the device has room for {at_once}; views are drawn in bands of tiles, each with \
                 those that may touch it"
            )),
            News::Poses(news) => self.poses.hear(news),
            News::Mesh(MeshEvent::Progress(progress)) => self.mesh.show(*progress),
            News::Mesh(MeshEvent::Stage(row)) => {
                self.mesh.took(row);
                self.line(&stage_line(row));
            }
            News::Made(made) => {
                self.mesh.end();
                let failed = match &mut self.json {
                    Some(out) => print_made(made, (true, self.quiet), out),
                    None => print_made(made, (false, self.quiet), &mut io::sink()),
                };
                self.failed = self.failed.take().or(failed.err());
            }
            News::Trained(end) => {
                self.line(&last_line(end));
                self.say(format_args!("{}", outcome(end)));
            }
            News::Stage(record) => self.stage(record),
            News::StageBefore { stage, seconds } => self.say(format_args!(
                "stage {:<8} is over already, after {seconds:.1} s",
                stage.name()
            )),
        }
    }

    /// Once: the stages of a run open the device anew.
    fn instead_of_cpu(&mut self, is_cpu: bool) {
        if is_cpu
            && !std::mem::replace(&mut self.has_heard_of_cpu, true)
            && let Some(line) = instead_of_cpu()
        {
            self.say(format_args!("note: {line}"));
        }
    }

    fn progress(&self, now: Progress) {
        if self.watched {
            let end = if now.done == now.total { '\n' } else { '\r' };
            let _ = write!(io::stderr(), "{} of {} views{end}", now.done, now.total);
        }
    }

    /// What a stage took.
    fn stage(&mut self, record: &StageRecord) {
        let mut line = serde_json::json!(record);
        if let Some(fields) = line.as_object_mut() {
            fields.insert("type".to_owned(), "stage".into());
        }
        self.line(&line);
        self.say(format_args!(
            "stage {:<8} {:>9.1} s {:>10.1} MiB of the device at most ({} bytes)",
            record.stage.name(),
            record.seconds,
            record.device_bytes as f64 / MIB as f64,
            record.device_bytes
        ));
    }

    /// A line for people.
    pub(super) fn say(&self, line: Arguments<'_>) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// A line for programs.
    fn line(&mut self, line: &serde_json::Value) {
        if let Some(out) = &mut self.json {
            let _ = writeln!(out, "{line}");
        }
    }

    /// Ends a line that stands.
    ///
    /// # Errors
    /// [`ExportError`] when files of a mesh could not be listed.
    pub(super) fn end(mut self) -> Result<(), ExportError> {
        self.mesh.end();
        self.failed.map_or(Ok(()), |error| Err(unprinted(error)))
    }
}

const fn chosen_by(by: KernelBy) -> &'static str {
    match by {
        KernelBy::File => "as the file states",
        KernelBy::Settings => "as set; the file states none",
        KernelBy::Default => "the file states none; `--set model.kind=mip` draws it with the Mip filter",
    }
}
