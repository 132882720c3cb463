//! One training, with what goes before it and what follows.
//!
//! Owns the order: the run or the block that goes on, camera poses, settings for device and scene, what all of it will take, the run,
//! the stages of SuGaR or the mesh of its model. Whatever cannot fit is refused before the first step.

use std::path::PathBuf;
use std::time::Instant;

use super::block::BlockTask;
use super::checks::{check_mesh, check_output, check_scene, check_triangles, renamed};
use super::mesh::{StageRows, mesh};
use super::news::{Listener, News};
use super::poses::with_poses;
use super::resume::{Resumed, lay_budgets, of_run};
use super::scene::settle_lpips;
use super::stages::Chain;
use super::stored::{budget_of, report_device};
use super::{ForScene, JobError, Mesh, Meshed, Model, Resume, Settings};
use crate::mesh::Up;
use crate::plan::{Faults, FirstModel, OpenDevice, Pinned, open_device, plan_first, with_remedies};
use crate::project::Done;
use crate::record::events::Stage;
use crate::record::run_folder::{Existing, MadeBy, REFINED, RunRecord, RunScene, Which, place, record_path};
use crate::run::interrupt::{Interrupt, Signal};
use crate::run::{
    Outlets, ResumeFrom, RunEnd, RunRequest, device_budget, mesh_outlook, run as run_training, stages_outlook,
};
use kiln_config::{Profile, SugarStage};
use kiln_gpu::memory::Gpu;
use kiln_scene::SceneIndex;

/// A request for a training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Train {
    /// Inputs of the profile; the scene may be a block of a project.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// Where to resume; none for a new run.
    pub resume: Option<Resume>,
    /// Deletes a run of the same scene that is in the way.
    pub overwrite: bool,
    /// Poses are found by COLMAP.
    pub colmap: bool,
    /// A mesh of the model in the end.
    pub mesh: bool,
    /// The words of the command, for the run's index.
    pub command: Vec<String>,
}

/// How it ended.
#[derive(Debug)]
pub enum TrainEnd {
    /// The block was trained before.
    Before {
        /// Its folder.
        block: PathBuf,
        /// What was trained.
        done: Done,
    },
    /// The run is over, or a signal ended it.
    Now(Trained),
}

/// A run that ended.
#[derive(Debug)]
pub struct Trained {
    /// The run; with stages behind its training the last of them.
    pub end: RunEnd,
    /// The block that it is of.
    pub block: Option<PathBuf>,
    /// The stage behind the training that a signal came before the end of.
    pub stage: Option<SugarStage>,
    /// The mesh in the end, where the request has one.
    pub mesh: Option<Meshed>,
}

/// Trains, with everything that the request has beside it.
///
/// # Errors
/// Whatever ended the run; its folder says so, where there is one.
pub fn train(
    request: &Train,
    outlets: &Outlets,
    listen: &mut Listener<'_>,
    interrupt: &Interrupt,
) -> Result<TrainEnd, JobError> {
    let mut asked = Asked::of(request)?;
    if let Some(task) = &asked.block {
        if let Some(done) = task.done(request.overwrite)? {
            let block = task.folder().to_owned();
            return Ok(TrainEnd::Before { block, done });
        }
        asked.settings = task.settings(asked.settings.auto);
        asked.resume = asked.resume.or_else(|| task.resume(request.overwrite));
    }
    let preliminary = asked.preliminary(request.colmap, listen, interrupt)?;
    let ready = Ready::of(&asked, &preliminary, request, listen)?;
    // Triangles end as a mesh without more work.
    let makes_mesh = request.mesh && !ready.profile.is_triangles();
    let chain = ready.chain(outlets, asked.which(request));
    if makes_mesh || chain.is_some() {
        ready.check_outlook(chain.is_some())?;
    }
    interrupt.attach();
    let goes_on = matches!(asked.resume, Some(Resume::Latest));
    if let Some(chain) = chain.as_ref().filter(|chain| chain.is_trained(goes_on)) {
        let existing = match (goes_on, request.overwrite) {
            (true, _) => Existing::Resume,
            (false, true) => Existing::Replace,
            (false, false) => Existing::Refuse,
        };
        drop(ready);
        return finished(chain, existing, None, listen, interrupt);
    }
    let (begun, before) = (
        Instant::now(),
        chain
            .as_ref()
            .map_or(0.0, |chain| chain.seconds_before(asked.resume.is_some())),
    );
    let device = ready.device();
    let stage = if chain.is_some() { Stage::Coarse } else { Stage::Train };
    let end = run_training(ready.run(&asked, request.overwrite, stage, outlets), interrupt)?;
    if let Some(chain) = &chain {
        chain.trained(&end, before + begun.elapsed().as_secs_f64(), listen)?;
        if end.signal.is_none() {
            return finished(chain, Existing::Resume, Some(&end), listen, interrupt);
        }
    }
    if let Some(task) = asked.block.as_ref().filter(|_| end.signal.is_none()) {
        task.finish(&end, begun.elapsed().as_secs_f64(), &device)?;
    }
    let mesh = match makes_mesh && end.signal.is_none() {
        true => Some(mesh_of(&end, &request.faults, listen, interrupt)?),
        false => None,
    };
    Ok(TrainEnd::Now(Trained {
        end,
        block: asked.block.map(|task| task.folder().to_owned()),
        stage: None,
        mesh,
    }))
}

/// A request, with the settings of the run that goes on.
struct Asked {
    settings: Settings,
    /// Its settings are those of a run that goes on.
    is_of_run: bool,
    resume: Option<Resume>,
    block: Option<BlockTask>,
}

impl Asked {
    fn of(request: &Train) -> Result<Self, JobError> {
        let settings = request.settings.clone();
        let resumed = match &request.resume {
            Some(resume) => of_run(settings, resume)?,
            None => Resumed {
                settings,
                is_of_run: false,
            },
        };
        Ok(Self {
            block: BlockTask::of(&resumed.settings)?,
            settings: resumed.settings,
            is_of_run: resumed.is_of_run,
            resume: request.resume.clone(),
        })
    }

    /// The profile as far as it is known without a device, of a scene that is there; COLMAP finds its poses where the request says so.
    fn preliminary(
        &mut self,
        colmap: bool,
        listen: &mut Listener<'_>,
        interrupt: &Interrupt,
    ) -> Result<Profile, JobError> {
        let mut preliminary = self.settings.preliminary()?;
        if colmap {
            check_mesh(&preliminary)?;
            check_output(&preliminary.run)?;
            // COLMAP works for minutes or hours, and is ended with the run.
            interrupt.attach();
            interrupt.set_heard(true);
            self.settings = with_poses(self.settings.clone(), &preliminary, listen, interrupt)?;
            interrupt.set_heard(false);
            preliminary = self.settings.preliminary()?;
        }
        // Before a device is looked for: a scene that is not there is the first thing to know.
        check_scene(&preliminary)?;
        check_triangles(&preliminary, &self.settings.inputs.overrides)?;
        check_output(&preliminary.run)?;
        Ok(preliminary)
    }

    const fn which(&self, request: &Train) -> Which {
        Which::of(self.resume.is_some(), request.overwrite)
    }
}

/// Everything that a run begins with.
struct Ready {
    profile: Profile,
    open: OpenDevice,
    /// The scene's folder.
    path: PathBuf,
    scene: SceneIndex,
    opened: Instant,
    adapted: Vec<String>,
    made_by: MadeBy,
}

impl Ready {
    /// Opens the device, reads the scene, and settles the profile for both.
    fn of(asked: &Asked, preliminary: &Profile, request: &Train, listen: &mut Listener<'_>) -> Result<Self, JobError> {
        let open = open_device(preliminary, request.faults.clone())?;
        let budget = budget_of(&open);
        let mut inputs = asked.settings.inputs_on(budget)?;
        if asked.is_of_run && asked.settings.auto {
            lay_budgets(&mut inputs)?;
        }
        report_device(&open, listen);
        let for_scene = ForScene::of(&inputs)?;
        // A run that goes on keeps what its beginning decided.
        let for_scene = match asked.resume {
            Some(_) => for_scene,
            None => for_scene.decided()?,
        };
        let ForScene {
            mut profile,
            path,
            scene,
            opened,
            scaled_from,
            adapted,
            notes,
        } = for_scene;
        for note in &notes {
            listen(News::Note(note));
        }
        // What is stored holds in other folders too.
        let path = std::path::absolute(&path).unwrap_or(path);
        // A folder above it may have a name that is no text: then what was typed stays, which holds where it was typed.
        if let Some(text) = path.to_str() {
            profile.dataset.path = Some(text.to_owned());
        }
        if let Some(note) = renamed(&profile.run, &RunScene::of(&scene).name) {
            listen(News::Note(&note));
        }
        if let Some(note) = settle_lpips(&mut profile, budget.is_cpu) {
            listen(News::Note(note));
        }
        let made_by = MadeBy {
            scaled_from,
            ..MadeBy::new(request.command.clone(), &inputs)?
        };
        Ok(Self {
            profile,
            open,
            path,
            scene,
            opened,
            adapted,
            made_by,
        })
    }

    /// Name and driver of the device.
    fn device(&self) -> String {
        let caps = self.open.device.caps();
        format!("{} ({})", caps.name, caps.driver)
    }

    /// The stages behind the training, where there are some.
    fn chain(&self, outlets: &Outlets, which: Which) -> Option<Chain> {
        let of = RunScene::of(&self.scene);
        let root = place(&self.profile.run, &of.name, which);
        self.profile.has_stage(SugarStage::Extract).then(|| Chain {
            profile: self.profile.clone(),
            scene: self.path.clone(),
            of,
            root: std::path::absolute(&root).unwrap_or(root),
            faults: self.open.faults.clone(),
            made_by: self.made_by.clone(),
            outlets: outlets.clone(),
        })
    }

    /// Plans what follows the training: what cannot fit is known before hours of it.
    fn check_outlook(&self, has_stages: bool) -> Result<(), JobError> {
        let Self {
            profile, open, scene, ..
        } = self;
        let faults = &open.faults;
        let place = (device_budget(open, profile), Gpu::limits(&open.device));
        let variants = Pinned::for_training(open, profile)?.variants;
        let (first, gaussians) = match profile.sugar.is_some() && !profile.has_stage(SugarStage::Coarse) {
            true => {
                let first = FirstModel::new(profile, scene)?;
                let gaussians = u32::try_from(first.gaussians.len()).unwrap_or(u32::MAX);
                (first, gaussians)
            }
            false => {
                let planned = plan_first(profile, scene, place.0, place.1, &variants, faults);
                let (first, _, report) =
                    planned.map_err(|error| with_remedies(error, profile, scene, place, &variants, faults))?;
                (first, report.capacities.n_limit)
            }
        };
        let model = (&first, gaussians);
        match has_stages {
            true => drop(stages_outlook(profile, scene, model, &variants, place, faults)?),
            false => drop(mesh_outlook(profile, scene, model, &variants, place, faults)?),
        }
        Ok(())
    }

    fn run(self, asked: &Asked, overwrite: bool, stage: Stage, outlets: &Outlets) -> RunRequest {
        RunRequest {
            loaded: Some((self.scene, self.opened)),
            stage,
            chosen: self.adapted,
            made_by: self.made_by,
            resume: asked.resume.clone().map(|resume| match resume {
                Resume::Latest => ResumeFrom::Latest,
                Resume::From(path) => ResumeFrom::File(path),
            }),
            overwrite,
            outlets: outlets.clone(),
            ..RunRequest::new(self.profile, self.open, self.path)
        }
    }
}

/// Goes through the stages behind the training.
fn finished(
    chain: &Chain,
    existing: Existing,
    trained: Option<&RunEnd>,
    listen: &mut Listener<'_>,
    interrupt: &Interrupt,
) -> Result<TrainEnd, JobError> {
    let stage = chain.run(existing, listen, interrupt)?;
    let record = RunRecord::read(&record_path(&chain.root))?;
    let end = RunEnd {
        folder: chain.root.clone(),
        iterations: record.iterations.done,
        signal: stage.map(|_| interrupt.signal().unwrap_or(Signal::Interrupt)),
        test_psnr: refined_psnr(chain).or(trained.and_then(|end| end.test_psnr)),
        device_bytes: record.stages.iter().map(|row| row.device_bytes).max().unwrap_or(0),
    };
    Ok(TrainEnd::Now(Trained {
        end,
        block: None,
        stage,
        mesh: None,
    }))
}

/// Mean PSNR over the test views of the last evaluation of the refined model, dB.
fn refined_psnr(chain: &Chain) -> Option<f64> {
    let record = RunRecord::read(&record_path(&chain.root.join(REFINED))).ok()?;
    let test = record.evals.last()?.test.as_ref()?;
    Some(test.mean.metrics.psnr_image)
}

/// The mesh of a run that is over.
fn mesh_of(
    end: &RunEnd,
    faults: &Faults,
    listen: &mut Listener<'_>,
    interrupt: &Interrupt,
) -> Result<Meshed, JobError> {
    listen(News::Trained(end));
    let request = Mesh {
        model: Model {
            target: end.folder.clone(),
            iteration: None,
            settings: Settings::default(),
            faults: faults.clone(),
        },
        output: None,
        up: Up::Scene,
        dry_run: false,
    };
    let mut rows = StageRows::of(&end.folder, end.iterations)?;
    let mut both = |news: News<'_>| {
        rows.hear(&news);
        listen(news);
    };
    let made = mesh(&request, &mut both, interrupt)?;
    rows.end()?;
    Ok(made)
}
