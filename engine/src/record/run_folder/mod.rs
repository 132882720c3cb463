//! The folder a run leaves behind: its layout, its index `run.json`, and which process may write to it.
//!
//! Owns every path below the folder. Promises that `run.json` is whole at any moment and lists only files that are
//! there, and that a run never mixes with another scene's: a folder that holds one is refused. Refuses to delete what
//! it does not know: replacing a run removes only names that a run writes.
//!
//! ```text
//! run.json  env.json  config.resolved.yaml  metrics.jsonl  memory.jsonl  events.out.tfevents.*  cameras.json  input.ply  live.ply
//! point_cloud/iteration_N/{point_cloud.ply, point_cloud_raw.ply, point_cloud.{compressed.ply,spz,glb}}     checkpoints/
//! eval/iteration_N/{metrics.json, {render,error,density,density_proxy}/{test,train}/STEM.png}     eval/gt/{test,train}/STEM.png
//! refined/ coarse.ply bound.ply: of SuGaR
//! ```

mod environment;
mod error;
#[cfg(test)]
mod golden;
mod made_by;
mod paths;
mod place;
mod presence;
mod record;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kiln_system::Locked;

pub use environment::{Allocation, COMMIT, Engine, Environment, Host};
pub use error::RunFolderError;
pub use made_by::MadeBy;
pub use paths::{
    BOUND_MESH, BOUND_PLY, COARSE_PLY, REFINED, REPORT_FILE, cameras_paths, checkpoints_path, config_path,
    environment_path, eval_path, memory_path, models_path, name_inside, record_path,
};
pub use place::{Which, place};
pub use presence::{is_written_to, stored_name};
pub use record::{
    EvalRecord, Iterations, PlyKind, PlyRecord, RunRecord, RunScene, SCHEMA_VERSION, SetRecord, StageRecord, Status,
};

use self::paths::{
    CAMERAS, CHECKPOINTS, CONFIG, ENVIRONMENT, EVALS, GIVEN_CAMERAS, INPUT, LIVE, METRICS, RUN, eval_name,
    iteration_name, model_iteration, ply_name,
};
use self::presence::{clear, lock, present, refuse_links};
use super::evaluated_view::PictureKind;
use crate::eval::EvalFile;
use crate::export::{
    CameraRecord, ExportError, camera_records, file_digest, make_folder, remove_leftovers, write_atomic, write_cameras,
    write_json, write_points,
};
use kiln_config::{Profile, SugarStage, to_yaml};
use kiln_scene::{Point, SceneIndex, Split};

/// What to do with a run that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone: an error.
    Refuse,
    /// Delete it, when it is of the same scene.
    Replace,
    /// Go on with it, when it is of the same scene; an error when there is none.
    Resume,
}

/// What a run is called and what it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Name shown in reports.
    pub name: String,
    /// The scene.
    pub scene: RunScene,
    /// Iterations of the whole run.
    pub iterations: u32,
    /// The time, seconds since 1970 UTC; a resumed run keeps its first.
    pub started_unix_s: u64,
    /// What makes it; a resumed run keeps its first.
    pub made_by: MadeBy,
}

/// A run folder that this process writes to. Dropped without [`RunFolder::finish`], the run counts as failed.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    record: RunRecord,
    /// Held for its lock.
    lock: Locked,
}

impl RunFolder {
    /// Makes or takes over the folder and writes a `run.json` with status `running`.
    ///
    /// # Errors
    /// [`RunFolderError`] when the folder holds a run that `existing` does not allow, when another process writes to
    /// it, or when it cannot be written to.
    pub fn create(root: &Path, existing: Existing, run: NewRun) -> Result<Self, RunFolderError> {
        make_folder(root)?;
        let lock = lock(root)?;
        let is_held = matches!(lock, Locked::Held(_));
        let old = present(root)?;
        refuse_links(root)?;
        if old.is_some() && is_held {
            remove_leftovers(root);
        }
        let record = match (&old, existing) {
            (Some(old), _) if old.scene.fingerprint != run.scene.fingerprint => {
                return Err(RunFolderError::OtherScene {
                    path: root.to_owned(),
                    found: old.scene.name.clone(),
                    wanted: run.scene.name,
                });
            }
            (Some(old), Existing::Refuse) => {
                return Err(RunFolderError::Exists {
                    path: root.to_owned(),
                    status: old.status.found(is_held.then_some(false)),
                    done: old.iterations.done,
                    total: old.iterations.total,
                });
            }
            (None, Existing::Resume) => {
                return Err(RunFolderError::NoRun { path: root.to_owned() });
            }
            (Some(old), Existing::Resume) => RunRecord {
                started_unix_s: old.started_unix_s,
                made_by: old.made_by.clone(),
                plys: old.plys.clone(),
                evals: old.evals.clone(),
                files: old.files.clone(),
                chosen: old.chosen.clone(),
                stages: old.stages.clone(),
                iterations: Iterations {
                    done: old.iterations.done,
                    total: run.iterations,
                },
                ..fresh(run)
            },
            (Some(_), Existing::Replace) => {
                clear(root)?;
                fresh(run)
            }
            (None, Existing::Refuse | Existing::Replace) => fresh(run),
        };
        let folder = Self {
            root: root.to_owned(),
            record,
            lock,
        };
        folder.write_record()?;
        Ok(folder)
    }

    /// Takes over the finished run in a folder, to add to it. Its index stays as it is until something is written.
    ///
    /// # Errors
    /// [`RunFolderError`] when the folder holds no run, one of another scene, or one that is under way.
    pub fn reopen(root: &Path, scene: &RunScene) -> Result<Self, RunFolderError> {
        let path = root.to_owned();
        if !root.is_dir() {
            return Err(RunFolderError::NoRun { path });
        }
        let lock = lock(root)?;
        let record = present(root)?.ok_or(RunFolderError::NoRun { path: path.clone() })?;
        refuse_links(root)?;
        if record.scene.fingerprint != scene.fingerprint {
            return Err(RunFolderError::OtherScene {
                path,
                found: record.scene.name,
                wanted: scene.name.clone(),
            });
        }
        Ok(Self {
            root: path,
            record,
            lock,
        })
    }

    /// Says that a run which ended goes on, with stages behind its training.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn go_on(&mut self) -> Result<(), RunFolderError> {
        if matches!(self.lock, Locked::Held(_)) {
            remove_leftovers(&self.root);
        }
        (self.record.status, self.record.message) = (Status::Running, None);
        self.write_record()
    }

    /// The stage of SuGaR, if it has begun.
    #[must_use]
    pub fn stage(&self, stage: SugarStage) -> Option<&StageRecord> {
        self.record.stages.iter().find(|record| record.stage == stage)
    }

    /// Notes how a stage of SuGaR stands.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn put_stage(&mut self, stage: StageRecord) -> Result<(), RunFolderError> {
        let place = |stage: SugarStage| SugarStage::ALL.iter().position(|known| *known == stage);
        put(&mut self.record.stages, stage, |record| place(record.stage));
        self.write_record()
    }

    /// `NAME` below `parent`, or `NAME-2`, `NAME-3`, ... when that is taken: where a new run goes by default.
    #[must_use]
    pub fn unused(parent: &Path, name: &str) -> PathBuf {
        let numbered = (2_u32..).map(|number| parent.join(format!("{name}-{number}")));
        std::iter::once(parent.join(name))
            .chain(numbered)
            .find(|path| !path.exists())
            .unwrap_or_else(|| parent.join(name))
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The index as it was last written.
    #[must_use]
    pub const fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Writes the settings and the circumstances of the run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_setup(&mut self, profile: &Profile, environment: &Environment) -> Result<(), RunFolderError> {
        write_json(&self.root.join(ENVIRONMENT), environment)?;
        self.list([ENVIRONMENT])?;
        self.write_config(profile)
    }

    /// Writes the settings of the run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_config(&mut self, profile: &Profile) -> Result<(), RunFolderError> {
        let mut profile = profile.clone();
        // Who goes on with the run, or evaluates it, may stand elsewhere.
        profile.dataset.path = profile.dataset.path.map(|path| absolute(Path::new(&path)));
        let yaml = to_yaml(&profile)?;
        write_atomic(&self.root.join(CONFIG), |file| file.write_all(yaml.as_bytes()))?;
        self.list([CONFIG])
    }

    /// Writes `cameras.json` and, when there are points, `input.ply`: the points of the scene and those of the background.
    /// A run that goes on keeps the one it has.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_inputs(&mut self, scene: &SceneIndex, points: &[Point], goes_on: bool) -> Result<(), RunFolderError> {
        write_cameras(&self.root.join(CAMERAS), &camera_records(scene))?;
        self.list([CAMERAS])?;
        let is_kept = goes_on && self.root.join(INPUT).exists();
        if !points.is_empty() && !is_kept {
            write_points(&self.root.join(INPUT), points)?;
            self.list([INPUT])?;
        }
        Ok(())
    }

    /// Writes where cameras are at `iteration`, beside its model for whoever draws it and as those of the run. `given`, those of the
    /// data set, are kept under another name.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_refined(
        &mut self,
        iteration: u32,
        refined: &[CameraRecord],
        given: &[CameraRecord],
    ) -> Result<(), RunFolderError> {
        let beside_model = format!("{}/{CAMERAS}", iteration_name(iteration));
        for (name, records) in [(GIVEN_CAMERAS, given), (&beside_model, refined), (CAMERAS, refined)] {
            write_cameras(&self.root.join(name), records)?;
        }
        self.list([&beside_model, GIVEN_CAMERAS])
    }

    /// Notes in the index that `iteration` is done.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn reach(&mut self, iteration: u32) -> Result<(), RunFolderError> {
        self.reached(iteration);
        self.write_record()
    }

    /// Adds files to the index that somebody else writes, e.g. `metrics.jsonl`; paths relative to the folder.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn list<'a>(&mut self, files: impl IntoIterator<Item = &'a str>) -> Result<(), RunFolderError> {
        for file in files {
            if let Err(at) = self.record.files.binary_search_by(|known| known.as_str().cmp(file)) {
                self.record.files.insert(at, file.to_owned());
            }
        }
        self.write_record()
    }

    /// Notes in the index what was chosen for the scene, a sentence each.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn note_choices(&mut self, chosen: Vec<String>) -> Result<(), RunFolderError> {
        self.record.chosen = chosen;
        self.write_record()
    }

    /// Where the snapshot of a running run goes.
    #[must_use]
    pub fn live_path(&self) -> PathBuf {
        self.root.join(LIVE)
    }

    /// Removes the snapshot where a saved model has taken its place.
    pub fn drop_live(&self) {
        if !self.record.plys.is_empty() {
            // One that stays is an old picture, and no loss.
            let _ = fs::remove_file(self.live_path());
        }
    }

    /// Where a model of an iteration goes.
    #[must_use]
    pub fn ply_path(&self, iteration: u32, kind: PlyKind) -> PathBuf {
        self.root.join(ply_name(iteration, kind))
    }

    /// Where a model of an iteration goes that is handed out in another format: path relative to the folder, and the
    /// place itself. `ending` is that of the format, without the first dot.
    #[must_use]
    pub fn delivery_path(&self, iteration: u32, ending: &str) -> (String, PathBuf) {
        let name = format!("{}/point_cloud.{ending}", iteration_name(iteration));
        let path = self.root.join(&name);
        (name, path)
    }

    /// Where the mesh of an iteration goes that its model is bound to: path relative to the folder, and the place itself.
    #[must_use]
    pub fn mesh_path(&self, iteration: u32) -> (String, PathBuf) {
        let name = format!("{}/{BOUND_MESH}", iteration_name(iteration));
        let path = self.root.join(&name);
        (name, path)
    }

    /// Adds a model that has been written to [`RunFolder::ply_path`]; gives its path relative to the folder.
    ///
    /// # Errors
    /// When the file is not there or `run.json` cannot be written.
    pub fn add_ply(&mut self, iteration: u32, kind: PlyKind, gaussians: u32) -> Result<String, RunFolderError> {
        let path = ply_name(iteration, kind);
        let full = self.root.join(&path);
        let fail = |source| ExportError::new(&full, source);
        let bytes = fs::metadata(&full).map_err(fail)?.len();
        let sha256 = Some(file_digest(&full).map_err(fail)?);
        let ply = PlyRecord {
            iteration,
            kind,
            path: path.clone(),
            gaussians,
            bytes,
            sha256,
        };
        let key = |ply: &PlyRecord| (ply.iteration, ply.kind);
        put(&mut self.record.plys, ply, key);
        self.reached(iteration);
        self.write_record()?;
        Ok(path)
    }

    /// The folder of an iteration's evaluation.
    #[must_use]
    pub fn eval_folder(&self, iteration: u32) -> PathBuf {
        self.root.join(eval_name(iteration))
    }

    /// Where a picture of an evaluated view goes; `stem` is the view's `id`.
    #[must_use]
    pub fn picture_path(&self, iteration: u32, kind: PictureKind, set: Split, stem: &str) -> PathBuf {
        let folder = self.eval_folder(iteration).join(kind.name());
        folder.join(set.name()).join(format!("{stem}.png"))
    }

    /// Where the photograph of a view goes.
    #[must_use]
    pub fn photo_path(&self, set: Split, stem: &str) -> PathBuf {
        let folder = self.root.join(EVALS).join("gt");
        folder.join(set.name()).join(format!("{stem}.png"))
    }

    /// Writes an evaluation's `metrics.json`, after its pictures, and adds it to the index.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_eval(&mut self, eval: &EvalFile) -> Result<(), RunFolderError> {
        let path = format!("{}/{METRICS}", eval_name(eval.iteration));
        write_json(&self.root.join(&path), eval)?;
        let figures = |set| eval.set(set).map(SetRecord::from);
        let record = EvalRecord {
            iteration: eval.iteration,
            path,
            test: figures(Split::Test),
            train: figures(Split::Train),
        };
        put(&mut self.record.evals, record, |eval| eval.iteration);
        self.reached(eval.iteration);
        self.write_record()
    }

    /// The folder of the checkpoints; it is made by the first one.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join(CHECKPOINTS)
    }

    /// Goes back to `iteration` after a resume: later models and evaluations leave the index, because they will be
    /// written again, in whatever formats.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn rewind(&mut self, iteration: u32) -> Result<(), RunFolderError> {
        self.record.plys.retain(|ply| ply.iteration <= iteration);
        self.record.evals.retain(|eval| eval.iteration <= iteration);
        self.record
            .files
            .retain(|file| model_iteration(file).is_none_or(|of| of <= iteration));
        self.record.iterations.done = iteration;
        self.write_record()
    }

    /// Writes how the run ended. `message` says why, for people.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn finish(mut self, status: Status, done: u32, message: Option<String>) -> Result<(), RunFolderError> {
        self.record.status = status;
        self.record.iterations.done = done;
        self.record.message = message;
        self.write_record()
    }

    fn reached(&mut self, iteration: u32) {
        let done = &mut self.record.iterations.done;
        *done = iteration.max(*done);
    }

    fn write_record(&self) -> Result<(), RunFolderError> {
        write_json(&self.root.join(RUN), &self.record)?;
        Ok(())
    }
}

impl Drop for RunFolder {
    /// A run that ends without a word ended by an error or a panic; there is nobody to report a second one to.
    fn drop(&mut self) {
        if self.record.status == Status::Running {
            self.record.status = Status::Failed;
            let _ = self.write_record();
        }
    }
}

/// `path` from the root of the file system, where it can be found.
fn absolute(path: &Path) -> String {
    let found = dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    found.display().to_string()
}

fn fresh(run: NewRun) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        name: run.name,
        scene: run.scene,
        status: Status::Running,
        message: None,
        started_unix_s: run.started_unix_s,
        made_by: Some(run.made_by),
        iterations: Iterations {
            done: 0,
            total: run.iterations,
        },
        plys: Vec::new(),
        evals: Vec::new(),
        files: Vec::new(),
        chosen: Vec::new(),
        stages: Vec::new(),
    }
}

/// Inserts into a list sorted by `key`, in the place of an equal one.
fn put<T, K: Ord>(list: &mut Vec<T>, item: T, key: impl Fn(&T) -> K) {
    match list.binary_search_by_key(&key(&item), &key) {
        Ok(at) => list[at] = item,
        Err(at) => list.insert(at, item),
    }
}
