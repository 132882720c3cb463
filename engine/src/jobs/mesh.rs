//! A triangle mesh of a stored model.
//!
//! Owns which model is meant, where its files go, and that the run lists them. A model of triangles is a mesh already and is written
//! without a device.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::named::{Purpose, located};
use super::news::{Listener, News};
use super::stored::{Model, Opened, check_keys};
use super::{JobError, RequestError, Settings};
use crate::export::ExportError;
use crate::mesh::{
    Made, MeshError, MeshEvent, MeshOutlook, StageRow, Surface, Up, export_triangles, is_triangles, read_triangles,
};
use crate::record::events::{Event, EventRow, MeshStageRow, RunEvent};
use crate::record::run_folder::{RunFolder, RunRecord, name_inside, record_path};
use crate::record::sinks::{METRICS_FILE, MetricsJsonl, Receiver as _};
use crate::run::interrupt::Interrupt;
use crate::run::{Location, RunError, Stored};
use kiln_config::Inputs;

/// The key of the files' formats.
const FORMATS: &str = "mesh.formats";

/// A request for a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// What to make it of.
    pub model: Model,
    /// Folder of the files; none for one beside the model.
    pub output: Option<PathBuf>,
    /// Which way is up in the files.
    pub up: Up,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Debug)]
pub enum Meshed {
    /// A signal came first; nothing is written.
    Stopped,
    /// The plan.
    Planned(Box<MeshOutlook>),
    /// The mesh is there.
    Made(Box<Made>),
    /// A model of triangles is written as it is, or would be.
    Converted {
        /// Files, the report last.
        files: Vec<PathBuf>,
        /// What they hold.
        surface: Surface,
    },
}

/// Makes the mesh, or plans it.
///
/// # Errors
/// Anything that keeps the mesh from being made.
pub fn mesh(request: &Mesh, listen: &mut Listener<'_>, interrupt: &Interrupt) -> Result<Meshed, JobError> {
    let Mesh {
        model,
        output,
        up,
        dry_run,
    } = request;
    // What is merged of blocks is Gaussians.
    let of_project = model.is_of_project();
    if let Some(source) = if of_project { None } else { triangles(model)? } {
        return convert(request, &source, listen);
    }
    let opened = Opened::of(Purpose::Mesh, model, listen)?;
    let scene = opened.scene(model)?;
    let stored = opened.load(model, listen)?;
    let ply = &opened.location.ply;
    let place = if of_project { ply } else { &model.target };
    let folder = output.clone().unwrap_or_else(|| beside(place, *up));
    let to = (!dry_run).then_some((folder.as_path(), *up));
    Ok(match made_of(stored, (ply, &scene), to, listen, interrupt)? {
        None => Meshed::Stopped,
        Some((outlook, None)) => Meshed::Planned(Box::new(outlook)),
        Some((_, Some(made))) => {
            list(&model.target, &made.files, listen);
            Meshed::Made(Box::new(made))
        }
    })
}

/// What was planned, and what was made where that was wanted.
type Outcome = (MeshOutlook, Option<Made>);

/// Makes the mesh of a model from the views of a scene, in a folder and with a way up unless only the plan is wanted; none when a
/// signal came first. `source` is the model's file.
pub(super) fn made_of(
    stored: Stored<'_>,
    (source, scene): (&Path, &Path),
    to: Option<(&Path, Up)>,
    listen: &mut Listener<'_>,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, JobError> {
    for warning in stored.warnings() {
        listen(News::Warning(warning));
    }
    // What there is to save is a whole file or none: between two views is soon enough.
    interrupt.set_heard(true);
    let mut tell = |event: MeshEvent| {
        listen(News::Mesh(event));
        match interrupt.signal() {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    };
    match stored.mesh(source, scene, to, &mut tell) {
        Err(RunError::Mesh(MeshError::Stopped)) => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Lists files in the index of the run that they lie in, so that the page shows them.
pub(super) fn list(target: &Path, files: &[PathBuf], listen: &mut Listener<'_>) {
    let names: Vec<String> = files
        .iter()
        .filter(|file| file.starts_with(target))
        .map(|file| name_inside(target, file))
        .collect();
    if names.is_empty() || !record_path(target).is_file() {
        return;
    }
    let listed = RunRecord::read(&record_path(target))
        .and_then(|record| RunFolder::reopen(target, &record.scene))
        .and_then(|mut folder| folder.list(names.iter().map(String::as_str)));
    if let Err(error) = listed {
        // The mesh is there all the same.
        listen(News::Warning(&format!("the page will not list the mesh: {error}")));
    }
}

/// The file of a model of triangles, which is a mesh already.
///
/// # Errors
/// For no model at all, and settings that say how a mesh is made.
fn triangles(model: &Model) -> Result<Option<Location>, JobError> {
    let found = located(Purpose::Mesh, &model.target, model.iteration)?;
    if !is_triangles(&found.ply) {
        return Ok(None);
    }
    let overrides = &model.settings.inputs.overrides;
    check_keys(Purpose::Mesh, overrides)?;
    match overrides
        .iter()
        .find(|set| set.key.starts_with("mesh.") && set.key != FORMATS)
    {
        None => Ok(Some(found)),
        Some(set) => {
            let (path, key, flag) = (found.ply, set.key.clone(), set.flag.clone());
            Err(RequestError::Converted { path, key, flag }.into())
        }
    }
}

/// Writes the meshes of a model of triangles; no device is needed.
fn convert(request: &Mesh, source: &Location, listen: &mut Listener<'_>) -> Result<Meshed, JobError> {
    let Mesh {
        model,
        output,
        up,
        dry_run,
    } = request;
    let folder = output.clone().unwrap_or_else(|| beside(&model.target, *up));
    let inputs = Inputs {
        file: source.config.clone(),
        ..model.settings.inputs.clone()
    };
    let formats = Settings { inputs, auto: false }.preliminary()?.mesh.formats;
    let read = read_triangles(&source.ply)?;
    let (files, report) = export_triangles((&read, &source.ply), (&formats, *up), &folder, *dry_run)?;
    if !dry_run {
        list(&model.target, &files, listen);
    }
    let surface = report.surface;
    Ok(Meshed::Converted { files, surface })
}

/// The folder for what is made of a model: in the run, or beside the file.
fn beside(target: &Path, up: Up) -> PathBuf {
    let folder = if target.is_dir() {
        target
    } else {
        target.parent().unwrap_or_else(|| Path::new(""))
    };
    folder.join(match up {
        Up::Scene => "mesh",
        // A mesh in the scene's own axes is not written over by one that `kiln eval` would find turned.
        Up::Y => "mesh-y-up",
    })
}

/// Stages of a mesh in the `metrics.jsonl` of the run that it is of.
pub(super) struct StageRows {
    /// None where the run has no such file.
    file: Option<MetricsJsonl>,
    iteration: u32,
    /// The first write that failed.
    failed: Option<ExportError>,
}

impl StageRows {
    pub(super) fn of(run: &Path, iteration: u32) -> Result<Self, ExportError> {
        let path = run.join(METRICS_FILE);
        let file = path.is_file().then(|| MetricsJsonl::append(&path, 1)).transpose()?;
        Ok(Self {
            file,
            iteration,
            failed: None,
        })
    }

    /// Takes the stages among the news.
    pub(super) fn hear(&mut self, news: &News<'_>) {
        if let News::Mesh(MeshEvent::Stage(row)) = news {
            self.push(row);
        }
    }

    fn push(&mut self, row: &StageRow) {
        let event = RunEvent::Event(EventRow {
            it: self.iteration,
            event: Event::MeshStage(MeshStageRow {
                stage: row.stage.name().to_owned(),
                seconds: row.seconds,
                bricks: row.bricks,
                points: row.points,
                vertices: row.vertices,
                triangles: row.triangles,
            }),
        });
        // The file takes events as they come, whatever the time.
        let written = self
            .file
            .as_mut()
            .map_or(Ok(()), |file| file.take(&event, Duration::ZERO));
        self.failed = self.failed.take().or(written.err());
    }

    pub(super) fn end(self) -> Result<(), ExportError> {
        self.failed.map_or(Ok(()), Err)
    }
}
