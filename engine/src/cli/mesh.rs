//! `kiln mesh`: a triangle mesh of a model.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::exit::unprinted;
use super::request::{Mesh, Model};
use super::stored::{boxed, check_keys, is_project, load, located, open, scene};
use super::{Exit, Failure};
use crate::config::{Inputs, MeshMethod};
use crate::jobs::shell::word;
use crate::jobs::{RequestError, Settings};
use crate::memory::MIB;
use crate::mesh::{
    Made, MeshError, MeshEvent, MeshOutlook, MeshProgress, MeshReport, StageRow, Up, export_triangles, is_triangles,
    read_triangles,
};
use crate::record::run_folder::{RunFolder, RunRecord, record_path};
use crate::run::interrupt::Interrupt;
use crate::run::{Location, RunError, Stored};

/// The key of the files' formats.
const FORMATS: &str = "mesh.formats";

/// Makes the mesh and prints the paths of its files to `out`, or what it would take.
///
/// # Errors
/// Anything that keeps the mesh from being made; the caller prints it.
pub fn run(request: Mesh, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let interrupt = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
    let (target, quiet) = (request.model.target.clone(), request.model.quiet);
    let (exit, files) = make(request, out, &mut |_| {}, &interrupt)?;
    if let Some(shown) = shown(&target, &files).filter(|_| !quiet) {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(io::stderr(), "`kiln view {}` shows it", word(&shown));
    }
    Ok(exit)
}

/// What `kiln view` opens to show a mesh of `target`: the run that lists it, or a file of it.
fn shown(target: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    if record_path(target).is_file() && files.iter().any(|file| file.starts_with(target)) {
        return Some(target.to_owned());
    }
    let opened = |file: &&PathBuf| {
        let ending = file.extension().and_then(OsStr::to_str);
        ending.is_some_and(|ending| matches!(ending, "ply" | "glb"))
    };
    files.iter().find(opened).cloned()
}

/// Lists files in the index of the run that they lie in, so that the page shows them.
pub(super) fn list(target: &Path, files: &[PathBuf]) {
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| file.strip_prefix(target).ok())
        .map(|file| {
            let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
            parts.join("/")
        })
        .collect();
    if names.is_empty() || !record_path(target).is_file() {
        return;
    }
    let listed = RunRecord::read(&record_path(target))
        .and_then(|record| RunFolder::reopen(target, &record.scene))
        .and_then(|mut folder| folder.list(names.iter().map(String::as_str)));
    if let Err(error) = listed {
        // The mesh is there all the same.
        let _ = writeln!(io::stderr(), "warning: the page will not list the mesh: {error}");
    }
}

/// The same in a process that listens to signals already, with the files; `stage` gets each part that is done.
pub(super) fn make(
    request: Mesh,
    out: &mut dyn Write,
    stage: &mut dyn FnMut(&StageRow),
    interrupt: &Interrupt,
) -> Result<(Exit, Vec<PathBuf>), Box<dyn Failure>> {
    let Mesh {
        model,
        output,
        up,
        dry_run,
        json,
    } = request;
    // What is merged of blocks is Gaussians.
    let of_project = is_project(&model.target, model.iteration);
    if let Some(source) = if of_project { None } else { triangles(&model)? } {
        let folder = output.unwrap_or_else(|| beside(&model.target, up));
        return convert(&model, &source, (&folder, up), (dry_run, json), out);
    }
    let opened = open("mesh", &model)?;
    let scene = scene(&opened, &model).map_err(boxed)?;
    let stored = load(&opened, &model)?;
    let folder = output.unwrap_or_else(|| match of_project {
        true => beside(&opened.location.ply, up),
        false => beside(&model.target, up),
    });
    let target = (
        opened.location.ply.as_path(),
        scene.as_path(),
        (!dry_run).then_some((folder, up)),
    );
    let telling = Telling {
        stage,
        json,
        quiet: model.quiet,
    };
    match made_of(stored, target, telling, out, interrupt)? {
        None => {
            let _ = writeln!(io::stderr(), "{}", MeshError::Stopped);
            Ok((interrupt.signal().map_or(Exit::Interrupted, Exit::from), Vec::new()))
        }
        Some((outlook, None)) => {
            print_outlook(&outlook, out).map_err(|error| boxed(unprinted(error)))?;
            Ok((Exit::Ok, Vec::new()))
        }
        Some((_, Some(made))) => {
            list(&model.target, &made.files);
            tell_made(&made, (json, model.quiet), out)?;
            Ok((Exit::Ok, made.files))
        }
    }
}

/// What listens to a mesh in the making.
pub(super) struct Telling<'a> {
    /// Told of each part that is done.
    pub(super) stage: &'a mut dyn FnMut(&StageRow),
    /// Parts as JSON lines.
    pub(super) json: bool,
    /// No progress line.
    pub(super) quiet: bool,
}

/// What was planned, and what was made where that was wanted.
pub(super) type Outcome = (MeshOutlook, Option<Made>);

/// Makes the mesh of a model, whose file is the first of `target`, from the views of a scene, in a folder and with a way up unless only
/// the plan is wanted; none when a signal came first.
///
/// # Errors
/// Anything that keeps the mesh from being made.
pub(super) fn made_of(
    stored: Stored<'_>,
    (source, scene, to): (&Path, &Path, Option<(PathBuf, Up)>),
    telling: Telling<'_>,
    out: &mut dyn Write,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, Box<dyn Failure>> {
    for warning in stored.warnings() {
        // Losing a line of information is no reason to stop, here and below.
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    // What there is to save is a whole file or none: between two views is soon enough.
    interrupt.set_heard(true);
    let mut shown = Shown::new(telling.quiet);
    let mut tell = |event: MeshEvent| {
        match event {
            MeshEvent::Progress(progress) => shown.show(progress),
            MeshEvent::Stage(row) => {
                shown.took(&row);
                (telling.stage)(&row);
                if telling.json {
                    let _ = writeln!(out, "{}", stage_line(&row));
                }
            }
        }
        match interrupt.signal() {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    };
    let to = to.as_ref().map(|(folder, up)| (folder.as_path(), *up));
    let made = stored.mesh(source, scene, to, &mut tell);
    shown.end();
    match made {
        Err(RunError::Mesh(MeshError::Stopped)) => Ok(None),
        other => other.map(Some).map_err(boxed),
    }
}

/// Says what was made: to people, and its files to `out`.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn tell_made(made: &Made, (json, quiet): (bool, bool), out: &mut dyn Write) -> Result<(), Box<dyn Failure>> {
    if !quiet {
        let _ = writeln!(io::stderr(), "{}", summary(&made.report));
    }
    let files: Vec<String> = made.files.iter().map(|path| path.display().to_string()).collect();
    let written = if json {
        let line = serde_json::json!({ "type": "mesh", "files": files, "surface": made.report.surface });
        writeln!(out, "{line}")
    } else {
        files.iter().try_for_each(|path| writeln!(out, "{path}"))
    };
    written.map_err(|error| boxed(unprinted(error)))
}

/// The file of a model of triangles, which is a mesh already.
///
/// # Errors
/// For no model at all, and settings that say how a mesh is made.
fn triangles(model: &Model) -> Result<Option<Location>, Box<dyn Failure>> {
    let found = located("mesh", &model.target, model.iteration)?;
    if !is_triangles(&found.ply) {
        return Ok(None);
    }
    let overrides = &model.settings.inputs.overrides;
    check_keys("mesh", overrides).map_err(boxed)?;
    match overrides
        .iter()
        .find(|set| set.key.starts_with("mesh.") && set.key != FORMATS)
    {
        None => Ok(Some(found)),
        Some(set) => Err(boxed(RequestError::Converted {
            path: found.ply,
            key: set.key.clone(),
            flag: set.flag.clone(),
        })),
    }
}

/// Writes the meshes of a model of triangles; no device is needed.
fn convert(
    model: &Model,
    Location {
        ply: source, config, ..
    }: &Location,
    (folder, up): (&Path, Up),
    (dry_run, json): (bool, bool),
    out: &mut dyn Write,
) -> Result<(Exit, Vec<PathBuf>), Box<dyn Failure>> {
    let inputs = Inputs {
        file: config.clone(),
        ..model.settings.inputs.clone()
    };
    let formats = Settings { inputs, auto: false }
        .preliminary()
        .map_err(boxed)?
        .mesh
        .formats;
    let read = read_triangles(source).map_err(|e| boxed(RunError::from(e)))?;
    let exported = export_triangles((&read, source), (&formats, up), folder, dry_run);
    let (files, report) = exported.map_err(|e| boxed(RunError::from(e)))?;
    let surface = report.surface;
    if !model.quiet {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(
            io::stderr(),
            "{}: {} vertices, {} triangles, {} pieces, {} open edges",
            if dry_run { "a model of triangles" } else { "done" },
            surface.vertices,
            surface.triangles,
            surface.pieces,
            surface.open_edges
        );
    }
    let written = if json {
        let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let line = serde_json::json!({ "type": "mesh", "files": files, "surface": surface });
        writeln!(out, "{line}")
    } else {
        files.iter().try_for_each(|path| writeln!(out, "{}", path.display()))
    };
    written.map_err(|error| boxed(unprinted(error)))?;
    if dry_run {
        return Ok((Exit::Ok, Vec::new()));
    }
    list(&model.target, &files);
    Ok((Exit::Ok, files))
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

/// A stage as a line of JSON.
fn stage_line(row: &StageRow) -> serde_json::Value {
    let mut line = serde_json::json!(row);
    if let Some(fields) = line.as_object_mut() {
        fields.insert("type".to_owned(), "mesh_stage".into());
    }
    line
}

pub(super) fn print_outlook(outlook: &MeshOutlook, out: &mut dyn Write) -> io::Result<()> {
    let MeshOutlook {
        space,
        space_bricks: [x, y, z],
        sizes,
        budget,
    } = outlook;
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    writeln!(out, "space             {space}")?;
    writeln!(out, "  bricks          {x} x {y} x {z}, of 8 x 8 x 8 voxels")?;
    writeln!(out, "capacity")?;
    writeln!(out, "  Gaussians       {:>12}", sizes.gaussians)?;
    writeln!(out, "  visible records {:>12}", sizes.v_cap)?;
    writeln!(out, "  intersections   {:>12}", sizes.i_cap)?;
    writeln!(
        out,
        "  bricks          {:>12}  at once; more go by in slabs, and colours of vertices in their bytes",
        sizes.bricks
    )?;
    writeln!(out, "memory, MiB")?;
    writeln!(
        out,
        "  device total    {:>12.1}  ({} bytes)",
        mib(sizes.device_bytes),
        sizes.device_bytes
    )?;
    writeln!(out, "  host-visible    {:>12.1}", mib(sizes.host_bytes))?;
    writeln!(out, "  cap             {:>12.1}", mib(budget.cap_bytes))?;
    writeln!(
        out,
        "verdict: fits, {:.1} % of the cap",
        100.0 * sizes.device_bytes as f64 / budget.cap_bytes.max(1) as f64
    )
}

fn summary(report: &MeshReport) -> String {
    let surface = &report.surface;
    let slabs = match report.slabs {
        1 => String::new(),
        n => format!(" in {n} slabs"),
    };
    let from = match &report.poisson {
        Some(row) => match row.depth_around {
            Some(around) => format!(
                "{} points at Poisson depth {} in the box and {around} around it",
                row.points, row.depth
            ),
            None => format!("{} points at Poisson depth {}", row.points, row.depth),
        },
        None if report.settings.method == MeshMethod::Bound => "the mesh of the model".to_owned(),
        None => format!("{} bricks{slabs}", report.bricks),
    };
    let seconds: f64 = report.stages.iter().map(|row| row.seconds).sum();
    format!(
        "done: {} vertices, {} triangles, {} pieces, {} open edges, from {from} and {} views in {seconds:.1} s",
        surface.vertices, surface.triangles, surface.pieces, surface.open_edges, report.views
    )
}

/// Seconds between lines where progress cannot be one line that changes.
const LINES_S: u64 = 10;

/// The progress line, and what each part took.
struct Shown {
    on: bool,
    /// One line changes; else one comes every [`LINES_S`].
    changes: bool,
    /// There is one to end.
    open: bool,
    last: Instant,
}

impl Shown {
    fn new(quiet: bool) -> Self {
        Self {
            on: !quiet,
            changes: io::stderr().is_terminal(),
            open: false,
            last: Instant::now(),
        }
    }

    fn show(&mut self, MeshProgress { stage, done, total }: MeshProgress) {
        if !self.on || !(self.changes || self.last.elapsed().as_secs() >= LINES_S) {
            return;
        }
        let percent = 100.0 * f64::from(done) / f64::from(total.max(1));
        let (begin, end) = if self.changes { ("\r", "") } else { ("", "\n") };
        let _ = write!(io::stderr(), "{begin}{:<11} {percent:>5.1} %{end}", stage.name());
        self.open = self.changes;
        self.last = Instant::now();
    }

    /// Says what a part took, in the place of its progress.
    fn took(&mut self, row: &StageRow) {
        if self.on {
            let begin = if std::mem::take(&mut self.open) { "\r" } else { "" };
            let _ = writeln!(io::stderr(), "{begin}{:<11} {:>7.1} s", row.stage.name(), row.seconds);
            self.last = Instant::now();
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            let _ = writeln!(io::stderr());
        }
    }
}
