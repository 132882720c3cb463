//! The stages of SuGaR behind its training: the mesh of the coarse model, Gaussians bound to it, a picture over what moved.
//!
//! Owns which stage comes next and where each leaves what. `run.json` says how they stand: a run that goes on repeats none that is
//! over, unless what it was made from is another by now. A stage that is interrupted leaves whole files or none; a mesh begins
//! again, a refinement goes on from its checkpoint. All are planned before the first begins.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kiln_files::open_regular;

use super::mesh::{Telling, list, made_of, tell_made};
use super::no_surface::NoSurfaceOfCoarse;
use super::train::MeshEvents;
use super::{Exit, Failure};
use crate::config::{Inputs, Profile, SugarStage, resolve};
use crate::export::{ExportError, digest_of, file_digest, write_atomic};
use crate::jobs::shell::word;
use crate::memory::MIB;
use crate::mesh::{StageRow, Up};
use crate::plan::{Faults, open_device};
use crate::plugins::Init;
use crate::record::events::Stage;
use crate::record::run_folder::{
    BOUND_MESH, BOUND_PLY, COARSE_PLY, Existing, MadeBy, NewRun, PlyKind, REFINED, RunFolder, RunRecord, RunScene,
    StageRecord, Status, config_path, record_path,
};
use crate::record::sinks::{Stamp, Terminal};
use crate::run::interrupt::Interrupt;
use crate::run::{Location, ResumeFrom, RunEnd, RunError, RunRequest, Stored, run as run_training};
use crate::scene::SceneIndex;

/// Folder of a mesh, in the run.
const MESH: &str = "mesh";
/// The mesh that a refinement begins with.
const MESH_FILE: &str = "mesh/mesh.ply";

/// A run with stages behind its training.
pub(super) struct Chain {
    /// Settings of the run on its scene.
    pub(super) profile: Profile,
    /// The scene's folder.
    pub(super) scene: PathBuf,
    /// What it is of.
    pub(super) of: RunScene,
    /// The run folder.
    pub(super) root: PathBuf,
    /// What is made to go wrong.
    pub(super) faults: Faults,
    /// The command and the names of its settings.
    pub(super) made_by: MadeBy,
    /// Events as JSON lines on standard output.
    pub(super) json: bool,
    /// Nothing is printed on standard error.
    pub(super) quiet: bool,
}

/// What a stage made.
struct Work {
    device_bytes: u64,
    files: Vec<String>,
}

type Stopped<T> = Result<Option<T>, Box<dyn Failure>>;

impl Chain {
    pub(super) fn new(
        (profile, faults): (&Profile, &Faults),
        (scene, index): (&Path, &SceneIndex),
        root: PathBuf,
        made_by: &MadeBy,
        (json, quiet): (bool, bool),
    ) -> Self {
        Self {
            profile: profile.clone(),
            scene: scene.to_owned(),
            of: RunScene::of(index),
            root: std::path::absolute(&root).unwrap_or(root),
            faults: faults.clone(),
            made_by: made_by.clone(),
            json,
            quiet,
        }
    }

    /// True when there is nothing left to train before the stages: a run that goes on has trained, or `sugar.stages` has none.
    pub(super) fn is_trained(&self, goes_on: bool) -> bool {
        if !self.profile.has_stage(SugarStage::Coarse) {
            return true;
        }
        let record = RunRecord::read(&record_path(&self.root)).ok().filter(|_| goes_on);
        record.is_some_and(|record| {
            let noted = record
                .stages
                .iter()
                .any(|row| row.stage == SugarStage::Coarse && row.done);
            record.iterations.total >= self.profile.schedule.iterations && (noted || record.status == Status::Done)
        })
    }

    /// Seconds that training took in earlier processes.
    pub(super) fn seconds_before(&self, goes_on: bool) -> f64 {
        let record = RunRecord::read(&record_path(&self.root)).ok().filter(|_| goes_on);
        let rows = record.map_or(Vec::new(), |record| record.stages);
        let coarse = rows.into_iter().find(|row| row.stage == SugarStage::Coarse);
        coarse.map_or(0.0, |row| row.seconds)
    }

    /// Notes how far training came, in so many seconds.
    pub(super) fn trained(&self, end: &RunEnd, seconds: f64) -> Result<(), Box<dyn Failure>> {
        let mut folder = RunFolder::reopen(&self.root, &self.of).map_err(boxed)?;
        let work = Work {
            device_bytes: end.device_bytes,
            files: Vec::new(),
        };
        self.note_coarse(&mut folder, work, seconds, end.signal.is_none())
    }

    fn note_coarse(
        &self,
        folder: &mut RunFolder,
        mut work: Work,
        seconds: f64,
        done: bool,
    ) -> Result<(), Box<dyn Failure>> {
        if done {
            self.hand_out(folder, &self.root, COARSE_PLY, &mut work)?;
        }
        let record = StageRecord {
            stage: SugarStage::Coarse,
            done,
            of: String::new(),
            seconds,
            device_bytes: work.device_bytes,
            files: work.files,
        };
        folder.put_stage(record.clone()).map_err(boxed)?;
        if done {
            self.tell(&record);
        }
        Ok(())
    }

    /// Goes through the stages behind the training.
    ///
    /// # Errors
    /// Whatever ended one; the run folder then says `failed`.
    pub(super) fn run(&self, existing: Existing, interrupt: &Interrupt) -> Result<Exit, Box<dyn Failure>> {
        let mut folder = self.folder(existing)?;
        folder.go_on().map_err(boxed)?;
        let ended = self.stages(&mut folder, interrupt);
        let done = folder.record().iterations.done;
        let (status, message) = match &ended {
            Ok(true) => (Status::Done, None),
            Ok(false) => (Status::Interrupted, None),
            Err(error) => (Status::Failed, Some(error.to_string())),
        };
        let finished = folder.finish(status, done, message).map_err(boxed);
        let whole = ended?;
        finished?;
        Ok(match interrupt.signal() {
            _ if whole => Exit::Ok,
            signal => signal.map_or(Exit::Interrupted, Exit::from),
        })
    }

    /// The folder of the run: the one that trained, or one of a run that only has later stages.
    fn folder(&self, existing: Existing) -> Result<RunFolder, Box<dyn Failure>> {
        if self.profile.has_stage(SugarStage::Coarse) || existing == Existing::Resume {
            let mut folder = RunFolder::reopen(&self.root, &self.of).map_err(boxed)?;
            // What later stages are made by may have been set anew.
            let stored = resolve(&Inputs {
                file: Some(config_path(&self.root)),
                ..Inputs::default()
            });
            let mut stored = stored.map_err(boxed)?;
            stored.mesh.clone_from(&self.profile.mesh);
            stored.bound.clone_from(&self.profile.bound);
            stored.sugar.clone_from(&self.profile.sugar);
            folder.write_config(&stored).map_err(boxed)?;
            return Ok(folder);
        }
        let run = NewRun {
            name: self.profile.run.name.clone().unwrap_or_else(|| self.of.name.clone()),
            scene: self.of.clone(),
            iterations: 0,
            started_unix_s: Stamp::now().unix.as_secs(),
            made_by: self.made_by.clone().with(&self.profile),
        };
        let mut folder = RunFolder::create(&self.root, existing, run).map_err(boxed)?;
        folder.write_config(&self.profile).map_err(boxed)?;
        Ok(folder)
    }

    /// True when all stages are over, false when a signal came first.
    fn stages(&self, folder: &mut RunFolder, interrupt: &Interrupt) -> Result<bool, Box<dyn Failure>> {
        // Whatever comes now looks at signals soon, and has something to keep.
        interrupt.set_heard(true);
        let stages = self.profile.sugar.as_ref().map_or(&[][..], |sugar| &sugar.stages);
        for stage in stages {
            let is_over = interrupt.signal().is_none()
                && match stage {
                    SugarStage::Coarse => self.coarse(folder)?,
                    SugarStage::Extract => self.extract(folder, interrupt)?,
                    SugarStage::Refine => self.refine(folder, interrupt)?,
                    SugarStage::Texture => self.texture(folder, interrupt)?,
                };
            if !is_over {
                if !self.quiet {
                    let _ = writeln!(
                        io::stderr(),
                        "interrupted before the stage {} was over; `kiln train --resume -o {}` goes on there",
                        stage.name(),
                        word(&self.root)
                    );
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The training is over; a process that was killed right then has not said so.
    fn coarse(&self, folder: &mut RunFolder) -> Result<bool, Box<dyn Failure>> {
        if folder.stage(SugarStage::Coarse).is_none_or(|row| !row.done) {
            let work = Work {
                device_bytes: 0,
                files: Vec::new(),
            };
            self.note_coarse(folder, work, self.seconds_before(true), true)?;
        }
        Ok(true)
    }

    fn extract(&self, folder: &mut RunFolder, interrupt: &Interrupt) -> Result<bool, Box<dyn Failure>> {
        let profile = self.profile.extracting();
        let target = match (&profile.init, profile.has_stage(SugarStage::Coarse)) {
            (Init::Model(options), false) => PathBuf::from(&options.path),
            _ => self.root.clone(),
        };
        let of = made_by(&[file_digest_of(&model(&target)?)?], &profile)?;
        self.stage(folder, SugarStage::Extract, (of, true), |_| {
            let made = self.mesh(&profile, &target, (&self.root, MESH), interrupt);
            made.map_err(|error| self.of_coarse(error))
        })
    }

    /// An error of making a mesh, with what the coarse stage left where that is why.
    fn of_coarse(&self, error: Box<dyn Failure>) -> Box<dyn Failure> {
        if error.exit() != Exit::Data || !self.profile.has_stage(SugarStage::Coarse) {
            return error;
        }
        let record = RunRecord::read(&record_path(&self.root)).ok();
        let last = record.and_then(|record| record.plys.last().map(|ply| ply.gaussians));
        match last {
            Some(gaussians) => boxed(NoSurfaceOfCoarse { error, gaussians }),
            None => error,
        }
    }

    fn refine(&self, folder: &mut RunFolder, interrupt: &Interrupt) -> Result<bool, Box<dyn Failure>> {
        let mesh = self.root.join(MESH_FILE);
        let root = self.root.join(REFINED);
        let mut profile = self.profile.refine_stage(&mesh);
        profile.run.output = Some(root.display().to_string());
        profile.run.name = None;
        let of = file_digest_of(&mesh)?;
        let record = RunRecord::read(&record_path(&root)).ok();
        let is_long = record.is_some_and(|record| record.iterations.total >= profile.schedule.iterations);
        self.stage(folder, SugarStage::Refine, (of, is_long), |goes_on| {
            let goes_on = goes_on && record_path(&root).is_file();
            let open = open_device(&profile, self.faults.clone()).map_err(boxed)?;
            let request = RunRequest {
                resume: goes_on.then_some(ResumeFrom::Latest),
                // Of another mesh, or of none that was noted.
                overwrite: !goes_on,
                stage: Stage::Refine,
                made_by: self.made_by.clone(),
                terminal: (!self.quiet).then(Terminal::stderr),
                json: self.json.then(|| Box::new(io::stdout()) as _),
                ..RunRequest::new(profile.clone(), open, self.scene.clone())
            };
            let end = run_training(request, interrupt).map_err(boxed)?;
            if end.signal.is_some() {
                return Ok(None);
            }
            let moved = model(&root)?.with_file_name(BOUND_MESH);
            let mut work = Work {
                device_bytes: end.device_bytes,
                files: vec![self.name(&moved)],
            };
            self.hand_out_from(&root, BOUND_PLY, &mut work)?;
            Ok(Some(work))
        })
    }

    fn texture(&self, folder: &mut RunFolder, interrupt: &Interrupt) -> Result<bool, Box<dyn Failure>> {
        let profile = self.profile.refine_stage(&self.root.join(MESH_FILE));
        let root = self.root.join(REFINED);
        let ply = model(&root)?;
        let sources = [file_digest_of(&ply)?, file_digest_of(&ply.with_file_name(BOUND_MESH))?];
        let of = made_by(&sources, &profile)?;
        self.stage(folder, SugarStage::Texture, (of, true), |_| {
            self.mesh(&profile, &root, (&root, MESH), interrupt)
        })
    }

    /// Does a stage unless it is over: made of the same, with its files still there. `work` gets whether it goes on with one that
    /// was made of the same and is not over. False when a signal came first.
    fn stage(
        &self,
        folder: &mut RunFolder,
        stage: SugarStage,
        (of, is_whole): (String, bool),
        work: impl FnOnce(bool) -> Stopped<Work>,
    ) -> Result<bool, Box<dyn Failure>> {
        let before = folder.stage(stage).filter(|row| row.of == of).cloned();
        let is_there = |row: &StageRecord| row.files.iter().all(|file| self.root.join(file).is_file());
        if let Some(row) = before.as_ref().filter(|row| row.done && is_whole && is_there(row)) {
            if !self.quiet {
                let _ = writeln!(
                    io::stderr(),
                    "stage {:<8} is over already, after {:.1} s",
                    stage.name(),
                    row.seconds
                );
            }
            return Ok(true);
        }
        let mut record = StageRecord {
            stage,
            done: false,
            of,
            seconds: before.as_ref().map_or(0.0, |row| row.seconds),
            device_bytes: 0,
            files: Vec::new(),
        };
        folder.put_stage(record.clone()).map_err(boxed)?;
        let begun = Instant::now();
        let made = work(before.is_some());
        record.seconds += begun.elapsed().as_secs_f64();
        let is_over = match made {
            Ok(None) => false,
            Ok(Some(work)) => {
                record.done = true;
                (record.device_bytes, record.files) = (work.device_bytes, work.files);
                folder.list(record.files.iter().map(String::as_str)).map_err(boxed)?;
                self.tell(&record);
                true
            }
            Err(error) => {
                // The error itself is what people need to see.
                let _ = folder.put_stage(record);
                return Err(error);
            }
        };
        folder.put_stage(record).map_err(boxed)?;
        Ok(is_over)
    }

    /// Makes the mesh of the model that `target` names in the folder `place` of a run.
    fn mesh(
        &self,
        profile: &Profile,
        target: &Path,
        (run, place): (&Path, &str),
        interrupt: &Interrupt,
    ) -> Stopped<Work> {
        let open = open_device(profile, self.faults.clone()).map_err(boxed)?;
        let location = Location {
            config: Some(config_path(&self.root)),
            ..Location::find(target, None).map_err(|e| boxed(RunError::from(e)))?
        };
        let stored = Stored::load(&location, profile, &open).map_err(boxed)?;
        let done = RunRecord::read(&record_path(run)).map_or(0, |record| record.iterations.done);
        let mut events = MeshEvents::of(run, done).map_err(boxed)?;
        let mut stage = |row: &StageRow| events.push(row);
        let telling = Telling {
            stage: &mut stage,
            json: self.json,
            quiet: self.quiet,
        };
        let to = (
            location.ply.as_path(),
            self.scene.as_path(),
            Some((run.join(place), Up::Scene)),
        );
        let mut stdout = io::stdout();
        let out: &mut dyn io::Write = if self.json { &mut stdout } else { &mut io::sink() };
        let made = made_of(stored, to, telling, out, interrupt)?;
        events.end().map_err(boxed)?;
        let Some((_, Some(made))) = made else { return Ok(None) };
        tell_made(&made, (self.json, self.quiet), out)?;
        if run != self.root {
            // What this run lists is its own; the page shows that one by itself.
            list(run, &made.files);
        }
        Ok(Some(Work {
            device_bytes: made.report.device_bytes(),
            files: made.files.iter().map(|path| self.name(path)).collect(),
        }))
    }

    /// Hands the last model of the run in `from` out under a name of its own, and lists it.
    fn hand_out(
        &self,
        folder: &mut RunFolder,
        from: &Path,
        name: &str,
        work: &mut Work,
    ) -> Result<(), Box<dyn Failure>> {
        self.hand_out_from(from, name, work)?;
        folder.list(work.files.iter().map(String::as_str)).map_err(boxed)
    }

    /// The same without a list: where the profile writes models for viewers.
    fn hand_out_from(&self, from: &Path, name: &str, work: &mut Work) -> Result<(), Box<dyn Failure>> {
        let fused = model(from)?.with_file_name(PlyKind::Fused.file_name());
        if !fused.is_file() {
            return Ok(());
        }
        let path = self.root.join(name);
        let copied = write_atomic(&path, |file| io::copy(&mut open_regular(&fused)?, file).map(drop));
        copied.map_err(|error| boxed(RunError::from(error)))?;
        work.files.push(name.to_owned());
        Ok(())
    }

    /// A path below the run folder as its index has it.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts.join("/")
    }

    /// Says what a stage took.
    fn tell(&self, record: &StageRecord) {
        // Losing a line of information is no reason to stop.
        if self.json {
            let mut line = serde_json::json!(record);
            if let Some(fields) = line.as_object_mut() {
                fields.insert("type".to_owned(), "stage".into());
            }
            let _ = writeln!(io::stdout(), "{line}");
        }
        if !self.quiet {
            let _ = writeln!(
                io::stderr(),
                "stage {:<8} {:>9.1} s {:>10.1} MiB of the device at most ({} bytes)",
                record.stage.name(),
                record.seconds,
                record.device_bytes as f64 / MIB as f64,
                record.device_bytes
            );
        }
    }
}

/// The file of the last model in a run, or the file itself.
fn model(target: &Path) -> Result<PathBuf, Box<dyn Failure>> {
    let found = Location::find(target, None).map_err(|error| boxed(RunError::from(error)))?;
    Ok(found.ply)
}

fn file_digest_of(path: &Path) -> Result<String, Box<dyn Failure>> {
    let read = file_digest(path).map_err(|error| ExportError::new(path, error));
    read.map_err(|error| boxed(RunError::from(error)))
}

/// Digest of what a mesh is made from: files, and what settings say of the surface and the views.
fn made_by(sources: &[String], profile: &Profile) -> Result<String, Box<dyn Failure>> {
    let data = &profile.dataset;
    let views = (
        &data.images,
        data.resolution,
        &data.hold_out,
        &data.masks,
        data.undistort,
    );
    let settings = serde_json::to_string(&(&profile.mesh, views));
    let settings =
        settings.map_err(|error| boxed(RunError::from(ExportError::new(Path::new("run.json"), error.into()))))?;
    let text = format!("{} {settings}", sources.join(" "));
    Ok(digest_of(text.as_bytes()))
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}
