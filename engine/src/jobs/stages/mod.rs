//! The stages of SuGaR behind its training: the mesh of the coarse model, Gaussians bound to it, a picture over what moved.
//!
//! Owns which stage comes next and where each leaves what. `run.json` says how they stand: a run that goes on repeats none that is
//! over, unless what it was made from is another by now. A stage that is interrupted leaves whole files or none; a mesh begins
//! again, a refinement goes on from its checkpoint. All are planned before the first begins.

mod files;

use std::path::{Path, PathBuf};
use std::time::Instant;

use files::{digest, made_by, model};

use super::JobError;
use super::mesh::{StageRows, list, made_of};
use super::news::{Listener, News};
use crate::mesh::Up;
use crate::plan::{Faults, open_device};
use crate::record::events::Stage;
use crate::record::run_folder::{
    BOUND_MESH, BOUND_PLY, COARSE_PLY, Existing, MadeBy, NewRun, REFINED, RunFolder, RunRecord, RunScene, StageRecord,
    Status, config_path, record_path,
};
use crate::record::sinks::Stamp;
use crate::run::interrupt::Interrupt;
use crate::run::{Location, Outlets, ResumeFrom, RunEnd, RunRequest, Stored, run as run_training};
use kiln_config::plugins::Init;
use kiln_config::{Inputs, Profile, SugarStage, resolve};

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
    /// Where its trainings speak.
    pub(super) outlets: Outlets,
}

/// What a stage made.
struct Work {
    device_bytes: u64,
    files: Vec<String>,
}

type Stopped<T> = Result<Option<T>, JobError>;

impl Chain {
    /// True when there is nothing left to train before the stages: a run that goes on has trained, or it has no coarse stage.
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
    pub(super) fn trained(&self, end: &RunEnd, seconds: f64, listen: &mut Listener<'_>) -> Result<(), JobError> {
        let mut folder = RunFolder::reopen(&self.root, &self.of)?;
        let work = Work {
            device_bytes: end.device_bytes,
            files: Vec::new(),
        };
        self.note_coarse(&mut folder, work, (seconds, end.signal.is_none()), listen)
    }

    fn note_coarse(
        &self,
        folder: &mut RunFolder,
        mut work: Work,
        (seconds, done): (f64, bool),
        listen: &mut Listener<'_>,
    ) -> Result<(), JobError> {
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
        folder.put_stage(record.clone())?;
        if done {
            listen(News::Stage(&record));
        }
        Ok(())
    }

    /// Goes through the stages behind the training; gives the one that a signal came before the end of.
    ///
    /// # Errors
    /// Whatever ended one; the run folder then says `failed`.
    pub(super) fn run(
        &self,
        existing: Existing,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<SugarStage>, JobError> {
        let mut folder = self.folder(existing)?;
        folder.go_on()?;
        let ended = self.stages(&mut folder, listen, interrupt);
        let done = folder.record().iterations.done;
        let (status, message) = match &ended {
            Ok(None) => (Status::Done, None),
            Ok(Some(_)) => (Status::Interrupted, None),
            Err(error) => (Status::Failed, Some(error.to_string())),
        };
        let finished = folder.finish(status, done, message);
        let ended = ended?;
        finished?;
        Ok(ended)
    }

    /// The folder of the run: the one that trained, or one of a run that only has later stages.
    fn folder(&self, existing: Existing) -> Result<RunFolder, JobError> {
        if self.profile.has_stage(SugarStage::Coarse) || existing == Existing::Resume {
            let mut folder = RunFolder::reopen(&self.root, &self.of)?;
            // What later stages are made by may have been set anew.
            let stored = resolve(&Inputs {
                file: Some(config_path(&self.root)),
                ..Inputs::default()
            });
            let mut stored = stored?;
            stored.mesh.clone_from(&self.profile.mesh);
            stored.bound.clone_from(&self.profile.bound);
            stored.sugar.clone_from(&self.profile.sugar);
            folder.write_config(&stored)?;
            return Ok(folder);
        }
        let run = NewRun {
            name: self.profile.run.name.clone().unwrap_or_else(|| self.of.name.clone()),
            scene: self.of.clone(),
            iterations: 0,
            started_unix_s: Stamp::now().unix.as_secs(),
            made_by: self.made_by.clone().with(&self.profile),
        };
        let mut folder = RunFolder::create(&self.root, existing, run)?;
        folder.write_config(&self.profile)?;
        Ok(folder)
    }

    /// None when all stages are over, else the one that a signal came before the end of.
    fn stages(
        &self,
        folder: &mut RunFolder,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<SugarStage>, JobError> {
        // Whatever comes now looks at signals soon, and has something to keep.
        interrupt.set_heard(true);
        let stages = self.profile.sugar.as_ref().map_or(&[][..], |sugar| &sugar.stages);
        for &stage in stages {
            let is_over = interrupt.signal().is_none()
                && match stage {
                    SugarStage::Coarse => self.coarse(folder, listen)?,
                    SugarStage::Extract => self.extract(folder, listen, interrupt)?,
                    SugarStage::Refine => self.refine(folder, listen, interrupt)?,
                    SugarStage::Texture => self.texture(folder, listen, interrupt)?,
                };
            if !is_over {
                return Ok(Some(stage));
            }
        }
        Ok(None)
    }

    /// The training is over; a process that was killed right then has not said so.
    fn coarse(&self, folder: &mut RunFolder, listen: &mut Listener<'_>) -> Result<bool, JobError> {
        if folder.stage(SugarStage::Coarse).is_none_or(|row| !row.done) {
            let work = Work {
                device_bytes: 0,
                files: Vec::new(),
            };
            self.note_coarse(folder, work, (self.seconds_before(true), true), listen)?;
        }
        Ok(true)
    }

    fn extract(
        &self,
        folder: &mut RunFolder,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<bool, JobError> {
        let profile = self.profile.extracting();
        let target = match (&profile.init, profile.has_stage(SugarStage::Coarse)) {
            (Init::Model(options), false) => PathBuf::from(&options.path),
            _ => self.root.clone(),
        };
        let of = made_by(&[digest(&model(&target)?)?], &profile)?;
        self.stage(folder, SugarStage::Extract, (of, true), listen, |_, listen| {
            let made = self.mesh(&profile, &target, (&self.root, MESH), listen, interrupt);
            made.map_err(|error| self.of_coarse(error))
        })
    }

    /// An error of making a mesh, with what the coarse stage left where that is why.
    fn of_coarse(&self, error: JobError) -> JobError {
        if !error.is_of_model() || !self.profile.has_stage(SugarStage::Coarse) {
            return error;
        }
        let record = RunRecord::read(&record_path(&self.root)).ok();
        let last = record.and_then(|record| record.plys.last().map(|ply| ply.gaussians));
        match last {
            Some(gaussians) => JobError::NoSurface {
                error: Box::new(error),
                gaussians,
            },
            None => error,
        }
    }

    fn refine(
        &self,
        folder: &mut RunFolder,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<bool, JobError> {
        let mesh = self.root.join(MESH_FILE);
        let root = self.root.join(REFINED);
        let mut profile = self.profile.refine_stage(&mesh);
        profile.run.output = Some(root.display().to_string());
        profile.run.name = None;
        let of = digest(&mesh)?;
        let record = RunRecord::read(&record_path(&root)).ok();
        let is_long = record.is_some_and(|record| record.iterations.total >= profile.schedule.iterations);
        self.stage(folder, SugarStage::Refine, (of, is_long), listen, |goes_on, _| {
            let goes_on = goes_on && record_path(&root).is_file();
            let open = open_device(&profile, self.faults.clone())?;
            let request = RunRequest {
                resume: goes_on.then_some(ResumeFrom::Latest),
                // Of another mesh, or of none that was noted.
                overwrite: !goes_on,
                stage: Stage::Refine,
                made_by: self.made_by.clone(),
                outlets: self.outlets.clone(),
                ..RunRequest::new(profile.clone(), open, self.scene.clone())
            };
            let end = run_training(request, interrupt)?;
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

    fn texture(
        &self,
        folder: &mut RunFolder,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<bool, JobError> {
        let profile = self.profile.refine_stage(&self.root.join(MESH_FILE));
        let root = self.root.join(REFINED);
        let ply = model(&root)?;
        let sources = [digest(&ply)?, digest(&ply.with_file_name(BOUND_MESH))?];
        let of = made_by(&sources, &profile)?;
        self.stage(folder, SugarStage::Texture, (of, true), listen, |_, listen| {
            self.mesh(&profile, &root, (&root, MESH), listen, interrupt)
        })
    }

    /// Does a stage unless it is over: made of the same, with its files still there. `work` gets whether it goes on with one that
    /// was made of the same and is not over. False when a signal came first.
    fn stage(
        &self,
        folder: &mut RunFolder,
        stage: SugarStage,
        (of, is_whole): (String, bool),
        listen: &mut Listener<'_>,
        work: impl FnOnce(bool, &mut Listener<'_>) -> Stopped<Work>,
    ) -> Result<bool, JobError> {
        let before = folder.stage(stage).filter(|row| row.of == of).cloned();
        let is_there = |row: &StageRecord| row.files.iter().all(|file| self.root.join(file).is_file());
        if let Some(row) = before.as_ref().filter(|row| row.done && is_whole && is_there(row)) {
            let seconds = row.seconds;
            listen(News::StageBefore { stage, seconds });
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
        folder.put_stage(record.clone())?;
        let begun = Instant::now();
        let made = work(before.is_some(), listen);
        record.seconds += begun.elapsed().as_secs_f64();
        let is_over = match made {
            Ok(None) => false,
            Ok(Some(work)) => {
                record.done = true;
                (record.device_bytes, record.files) = (work.device_bytes, work.files);
                folder.list(record.files.iter().map(String::as_str))?;
                listen(News::Stage(&record));
                true
            }
            Err(error) => {
                // The error itself is what people need to see.
                let _ = folder.put_stage(record);
                return Err(error);
            }
        };
        folder.put_stage(record)?;
        Ok(is_over)
    }

    /// Makes the mesh of the model that `target` names in the folder `place` of a run.
    fn mesh(
        &self,
        profile: &Profile,
        target: &Path,
        (run, place): (&Path, &str),
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Stopped<Work> {
        let open = open_device(profile, self.faults.clone())?;
        let location = Location {
            config: Some(config_path(&self.root)),
            ..Location::find(target, None)?
        };
        let stored = Stored::load(&location, profile, &open)?;
        let done = RunRecord::read(&record_path(run)).map_or(0, |record| record.iterations.done);
        let mut rows = StageRows::of(run, done)?;
        let mut both = |news: News<'_>| {
            rows.hear(&news);
            listen(news);
        };
        let folder = run.join(place);
        let to = Some((folder.as_path(), Up::Scene));
        let made = made_of(stored, (&location.ply, &self.scene), to, &mut both, interrupt)?;
        rows.end()?;
        let Some((_, Some(made))) = made else { return Ok(None) };
        listen(News::Made(&made));
        if run != self.root {
            // What this run lists is its own; the page shows that one by itself.
            list(run, &made.files, listen);
        }
        Ok(Some(Work {
            device_bytes: made.report.device_bytes(),
            files: made.files.iter().map(|path| self.name(path)).collect(),
        }))
    }
}
