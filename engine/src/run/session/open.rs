//! A session from its request: scene, plan, device, folder, sinks, and where it goes on from.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::recovery::Begun;
use super::{ResumeFrom, RunRequest, Session, Stage};
use crate::eval::lpips::Lpips;
use crate::plan::{
    Demand, FirstModel, OpenDevice, Pinned, PlanError, PlanReport, TrainPlan, check_host_memory, image_host_bytes,
    plan, plan_first, plan_with_photos, settle_photo_colors, training_options, triangles, with_remedies,
};
use crate::record::clock::{Rate, Stopwatch};
use crate::record::environment;
use crate::record::events::Event;
use crate::record::pictures::PictureWriter;
use crate::record::run_folder::{Existing, NewRun, RunFolder, RunScene, Which, name_inside, place, stored_name};
use crate::record::sinks::{JsonEvents, Sinks, Stamp};
use crate::run::device_loss::{careful, last_loss};
use crate::run::judges::Judges;
use crate::run::left_out::LeftOut;
use crate::run::resolution_phases::Phase;
use crate::run::watch::{self, Guard, Orders, device_budget};
use crate::run::{Outlets, RunError, early_stop, evaluation};
use crate::train::Trainer;
use crate::train::checkpoint::{self, OpenCheckpoint};
use kiln_config::Profile;
use kiln_gpu::memory::{Gpu, MIB};
use kiln_gpu::vk::DeviceKind;
use kiln_kernels::views::Variants;
use kiln_scene::{Point, SceneError, SceneIndex, ViewSampler};

/// What is known of a session before anything is written.
struct Prepared {
    profile: Profile,
    scene: SceneIndex,
    /// When the scene was opened.
    opened: Instant,
    /// Where the run goes on from, and what was found damaged before it.
    from: Option<OpenCheckpoint>,
    damaged: Vec<String>,
    root: PathBuf,
    variants: Variants,
    /// What the timing of kernels chose.
    timing: Option<String>,
    first: Option<FirstModel>,
    plan: TrainPlan,
    report: PlanReport,
    /// Host memory that photos take, and that is there.
    image_bytes: (u64, Option<u64>),
    lpips: Option<Lpips>,
    /// When all this was known: the start of the session, and the time from which its events count.
    started: Instant,
    stamp: Stamp,
    warnings: Vec<String>,
    /// What the photos decided.
    decided: Option<String>,
}

/// The request's scene and checkpoint, and the plan for both with room for at least `room` tile intersections where the run goes on.
fn prepared(
    (mut profile, open): (Profile, &OpenDevice),
    (path, loaded): (&Path, Option<(SceneIndex, Instant)>),
    (resume, overwrite): (Option<&ResumeFrom>, bool),
    room: Option<u32>,
) -> Result<Prepared, RunError> {
    let (mut scene, opened) = match loaded {
        Some(loaded) => loaded,
        None => {
            let opened = Instant::now();
            (SceneIndex::load(path, &training_options(&profile)?)?, opened)
        }
    };
    let name = RunScene::of(&scene).name;
    let root = place(&profile.run, &name, Which::of(resume.is_some(), overwrite));
    if let Some(loss) = resume.and_then(|_| last_loss(&root)) {
        // A device that was lost in a session before this one gets no longer submissions than it would have got next.
        profile = careful(profile, &loss);
        open.device.limit_submissions(profile.care.submit_ms);
        open.device.mark_passes(profile.care.marks_passes);
    }
    let found = match resume {
        None => None,
        Some(ResumeFrom::Latest | ResumeFrom::AfterLoss) => checkpoint::open_any(&root.join("checkpoints"))?,
        Some(ResumeFrom::File(file)) => Some(checkpoint::open(file)?),
    };
    let (from, damaged) = found.map_or((None, Vec::new()), |(c, d)| (Some(c), d));
    // The run keeps its near plane, whatever the scene asks for.
    let kept = from.as_ref().and_then(|checkpoint| checkpoint.state().near_z());
    profile.model.near = profile.model.near.or(kept).or(Some(scene.near_z()));
    let Pinned {
        variants,
        timing,
        mut warnings,
    } = Pinned::for_training(open, &profile)?;
    if let Some(checkpoint) = &from {
        profile = checkpoint.state().chosen(profile);
        checkpoint.check(&profile, &scene, &variants)?;
        warnings.extend(checkpoint.state().notes(&profile));
    }
    let decided = settle_photo_colors(&mut profile, &mut scene, from.is_none())?;
    let goes_on = from.as_ref().map(|from| (from, room));
    let (first, plan, report) = planned(&mut profile, &scene, open, &variants, goes_on)?;
    let image_bytes = (image_host_bytes(&profile, &scene), kiln_system::available_bytes());
    check_host_memory(&profile, image_bytes.0, image_bytes.1)?;
    if let Some(first) = &first {
        profile = first.chosen(profile);
    }
    // Before anything is written or trained: a damaged weights file should not end a run at its last iteration.
    let (lpips, lpips_warning) = evaluation::lpips(&profile.eval, plan.lpips.clone())?;
    let (started, stamp) = (Instant::now(), Stamp::now());
    warnings.extend(scene.warnings.iter().cloned().chain(lpips_warning));
    warnings.extend(less_room(&profile, &report));
    Ok(Prepared {
        profile,
        scene,
        opened,
        from,
        damaged,
        root,
        variants,
        timing,
        first,
        plan,
        report,
        image_bytes,
        lpips,
        started,
        stamp,
        warnings,
        decided,
    })
}

/// The plan of a run, and the first model of one that begins; a refusal says what would fit.
fn planned(
    profile: &mut Profile,
    scene: &SceneIndex,
    open: &OpenDevice,
    variants: &Variants,
    from: Option<(&OpenCheckpoint, Option<u32>)>,
) -> Result<(Option<FirstModel>, TrainPlan, PlanReport), PlanError> {
    let cap = device_budget(open, profile).cap_bytes;
    plan_with_photos(
        profile,
        scene,
        cap,
        kiln_system::available_bytes(),
        |profile| make_plan(profile, scene, open, variants, from),
        |(_, _, report)| report,
    )
    .map_err(|error| match from {
        // What a checkpoint holds cannot be made smaller.
        Some(_) => error,
        None => {
            let both = (device_budget(open, profile), Gpu::limits(&open.device));
            with_remedies(error, profile, scene, both, variants, &open.faults)
        }
    })
}

/// The trainer with its first model, where the run begins.
fn trainer(
    open: &OpenDevice,
    profile: &Profile,
    (plan, report): (TrainPlan, PlanReport),
    scene: &SceneIndex,
    first: Option<&FirstModel>,
) -> Result<Trainer, RunError> {
    // Triangles are made of the points, and given to the trainer when it has a place for them.
    let schedule = profile.triangle_schedule();
    let model = first.map(|first| &first.gaussians).filter(|_| schedule.is_none());
    let mut trainer = Trainer::new(&open.device, profile.clone(), plan, report, scene, model, &open.faults)?;
    if let Some(mesh) = first.and_then(FirstModel::mesh) {
        trainer.bind(mesh)?;
    }
    if let (Some(schedule), Some(first)) = (&schedule, first) {
        let model = triangles::first_model(&first.gaussians, schedule, triangles::seed(profile));
        trainer.begin_triangles(model)?;
    }
    Ok(trainer)
}

/// What becomes of a folder that is there already.
fn existing(resume: Option<&ResumeFrom>, overwrite: bool, root: &Path) -> Existing {
    match resume {
        Some(ResumeFrom::Latest | ResumeFrom::AfterLoss) => Existing::Resume,
        // A checkpoint of elsewhere may start a run of its own.
        Some(ResumeFrom::File(_)) if root.join("run.json").exists() => Existing::Resume,
        _ if overwrite => Existing::Replace,
        _ => Existing::Refuse,
    }
}

/// Where the run's events go, with their files listed in its folder.
fn sinks(profile: &Profile, folder: &mut RunFolder, outlets: &Outlets, stamp: &Stamp) -> Result<Sinks, RunError> {
    let mut sinks = Sinks::open(&profile.sinks, folder.root(), outlets.terminal(), stamp)?;
    folder.list(sinks.files().iter().map(String::as_str))?;
    if let Some(out) = outlets.json() {
        sinks.add(Box::new(JsonEvents::new(out)));
    }
    Ok(sinks)
}

/// The points that the run begins with: those of the scene, and of its background.
fn points(scene: &SceneIndex, first: Option<&FirstModel>) -> Vec<Point> {
    let background = first.into_iter().flat_map(FirstModel::background_points);
    scene.points.iter().copied().chain(background).collect()
}

/// Every training view once, in an order of its own.
fn sampler(scene: &SceneIndex, seed: u64) -> Result<ViewSampler, SceneError> {
    let views = u32::try_from(scene.train.len()).unwrap_or(u32::MAX);
    ViewSampler::new(views, seed).ok_or_else(|| SceneError::NoViews {
        path: scene.root.clone(),
        why: "none is left to train on".to_owned(),
    })
}

impl Session {
    /// A session that is about to take its first step, where it goes on with room for at least `room` tile intersections if memory is
    /// not short. `begun` is set as soon as the run has its folder.
    pub(super) fn open(request: RunRequest, room: Option<u32>, begun: &mut Option<Begun>) -> Result<Self, RunError> {
        let RunRequest {
            profile,
            open,
            scene: path,
            loaded,
            stage,
            chosen,
            made_by,
            resume,
            overwrite,
            outlets,
        } = request;
        let mut ready = prepared((profile, &open), (&path, loaded), (resume.as_ref(), overwrite), room)?;
        let existing = existing(resume.as_ref(), overwrite, &ready.root);
        let scene = RunScene::of(&ready.scene);
        let run = NewRun {
            name: run_name(&ready.profile, &scene, &ready.root, existing),
            scene: scene.clone(),
            iterations: ready.profile.schedule.iterations,
            started_unix_s: ready.stamp.unix.as_secs(),
            made_by: made_by.with(&ready.profile),
        };
        let folder = RunFolder::create(&ready.root, existing, run)?;
        let root = ready.root.clone();
        *begun = Some(Begun { root, scene });
        let (mut from, damaged) = (ready.from.take(), std::mem::take(&mut ready.damaged));
        let at = from.as_ref().map(|checkpoint| checkpoint.state().iteration);
        let mut session = Self::set_up(ready, &open, (folder, at), (chosen, stage, room), &outlets)?;
        if let Some(checkpoint) = &mut from {
            session.resume(checkpoint, &damaged)?;
        } else if matches!(resume, Some(ResumeFrom::Latest | ResumeFrom::AfterLoss)) {
            session.begin_again()?;
        }
        session.announce()?;
        Ok(session)
    }

    /// The session on its device and in its folder, where it goes on behind an iteration or begins.
    fn set_up(
        ready: Prepared,
        open: &OpenDevice,
        (mut folder, at): (RunFolder, Option<u32>),
        (mut chosen, stage, room): (Vec<String>, Stage, Option<u32>),
        outlets: &Outlets,
    ) -> Result<Self, RunError> {
        let Prepared {
            profile,
            scene,
            mut first,
            report,
            mut warnings,
            ..
        } = ready;
        let mut guard = Guard::new(open, &profile);
        let (device_bytes, host_bytes) = (report.device_bytes, report.host_bytes);
        let phase = Phase::at(&profile, &scene, profile.iterations_before() + 1)?;
        if let Some(first) = &mut first {
            first.colour(&phase.scene, &phase.store);
        }
        let trainer = trainer(open, &profile, (ready.plan, report), &scene, first.as_ref())?;
        warnings.extend(without_neighbors(trainer.views_alone(), scene.train.len()));
        guard.committed(at.unwrap_or(0), device_bytes, host_bytes);
        let table = trainer.gpu().memory().table();
        folder.write_setup(&profile, &environment::of(&profile, open, &ready.variants, table))?;
        let points = points(&scene, first.as_ref());
        chosen.extend(ready.decided);
        chosen.extend(first.as_ref().and_then(FirstModel::choice));
        chosen.extend(ready.timing);
        let judges = Judges::of(&profile, scene.train.len());
        let names: Vec<&str> = scene.train.iter().map(|view| view.id.as_str()).collect();
        let begins = judges.as_ref().filter(|_| first.is_some());
        chosen.extend(begins.map(|judges| judges.start(&names)));
        // A run that goes on keeps what its beginning chose.
        if first.take().is_some() {
            folder.note_choices(chosen.clone())?;
        }
        let (chosen, warnings) = match room {
            // What is as it should be is no warning.
            None => ([chosen, scene.notices.clone()].concat(), warnings),
            // The session before said the rest.
            Some(_) => (vec![more_room(trainer.report())], Vec::new()),
        };
        folder.write_inputs(&scene, &points, at.is_some())?;
        let aloud = outlets.terminal().is_some();
        let sinks = sinks(&profile, &mut folder, outlets, &ready.stamp)?;
        let sampler = sampler(&scene, profile.train.seed)?;
        let (faults, views) = (&open.faults, scene.train.len());
        let watchers = watch::all(&profile, faults, &trainer, &sinks, guard, views, aloud);
        Ok(Self {
            watchers,
            orders: Orders::default(),
            pictures: PictureWriter::default(),
            unindexed: VecDeque::new(),
            early_stop: profile.schedule.early_stop.map(early_stop::Stagnation::new),
            may_grow: room.is_none_or(|room| trainer.report().capacities.i_cap >= room),
            sampler,
            profile,
            scene,
            lpips: ready.lpips,
            trainer,
            phase,
            stage,
            sinks,
            kept: checkpoint::kept(&folder.checkpoints()),
            folder,
            started: ready.started,
            checkpointed: ready.started,
            watch: Stopwatch::default(),
            rate: Rate::default(),
            test_psnr: None,
            on_cpu: open.device.caps().kind == DeviceKind::Cpu,
            opened: Some(ready.opened),
            left_out: LeftOut::default(),
            judges,
            image_bytes: ready.image_bytes,
            stored: false,
            saved_at: None,
            chosen,
            warnings,
            from: 0,
        })
    }

    fn resume(&mut self, from: &mut OpenCheckpoint, damaged: &[String]) -> Result<(), RunError> {
        for message in damaged {
            self.event(
                from.state().iteration,
                Event::Warning {
                    message: message.clone(),
                },
            )?;
        }
        self.trainer.restore(from)?;
        let state = from.state();
        let (iteration, t_s) = (state.iteration, state.t_s);
        self.sampler = state.sampler.clone();
        self.watch = Stopwatch::showing(t_s);
        for watcher in &mut self.watchers {
            watcher.resume(state);
        }
        self.folder.rewind(iteration)?;
        if let Some(stagnation) = &mut self.early_stop {
            for eval in &self.folder.record().evals {
                let mean = eval.test.as_ref().or(eval.train.as_ref()).map(|set| set.mean);
                // Whether it should have ended before is not asked again: someone wants it to go on.
                let _ = stagnation.take(eval.iteration, mean);
            }
        }
        // The phase of the last step: the next one changes it, and the filter with it, as it would have without a pause.
        self.phase = Phase::at(&self.profile, &self.scene, iteration.max(1))?;
        self.trainer.set_cameras(&self.phase.scene, false)?;
        self.event(
            iteration,
            Event::Resume {
                checkpoint: name_inside(self.folder.root(), from.path()),
            },
        )
    }
}

/// A resumed run keeps its name unless it is given another one.
fn run_name(profile: &Profile, scene: &RunScene, root: &Path, existing: Existing) -> String {
    let stored = (existing == Existing::Resume).then(|| stored_name(root)).flatten();
    let name = profile.run.name.clone().or(stored);
    name.unwrap_or_else(|| scene.name.clone())
}

/// What is to be said where the cap holds fewer vertices than the profile allows.
fn less_room(profile: &Profile, report: &PlanReport) -> Option<String> {
    let (room, most) = (
        report.capacities.triangles?.vertices,
        profile.mesh_splatting().max_points.number(),
    );
    (room < most).then(|| {
        format!(
            "there is room for {room} vertices, not for the {most} of `mesh_splatting.max_points`: a higher `memory.cap_gib` \
             has more"
        )
    })
}

/// Views that the loss `neighbour` has nothing to compare with.
fn without_neighbors(alone: usize, all: usize) -> Option<String> {
    (alone > 0).then(|| {
        format!(
            "the loss `neighbour` has no term for {alone} of {all} training views: no other view looks the same way from a place nearby"
        )
    })
}

/// What a run says that goes on with a new plan.
fn more_room(report: &PlanReport) -> String {
    format!(
        "steps want more tile intersections than there was room for, and the budget holds them: the run goes on from here with room \
         for {}, {:.1} of {:.1} MiB",
        report.capacities.i_cap,
        report.device_bytes as f64 / MIB as f64,
        report.budget.cap_bytes as f64 / MIB as f64
    )
}

/// One try of a plan, and the first model of a run that begins.
fn make_plan(
    profile: &Profile,
    scene: &SceneIndex,
    open: &OpenDevice,
    variants: &Variants,
    from: Option<(&OpenCheckpoint, Option<u32>)>,
) -> Result<(Option<FirstModel>, TrainPlan, PlanReport), PlanError> {
    let budget = device_budget(open, profile);
    let limits = Gpu::limits(&open.device);
    match from.map(|(checkpoint, room)| (checkpoint.state(), room)) {
        None => {
            let (first, plan, report) = plan_first(profile, scene, budget, limits, variants, &open.faults)?;
            Ok((Some(first), plan, report))
        }
        Some((state, _)) if profile.is_triangles() => {
            let start = triangles::Start {
                vertices: state.vertices.unwrap_or(0),
                triangles: state.gaussians,
            };
            let (plan, report) = triangles::plan(profile, scene, start, (budget, limits), variants, &open.faults)?;
            Ok((None, plan, report))
        }
        Some((state, room)) => {
            let mut demand = Demand::of_checkpoint(&state.capacities, state.gaussians);
            demand.room = demand.room.max(room.unwrap_or(0));
            let (plan, report) = plan(profile, scene, &demand, budget, limits, variants, &open.faults)?;
            Ok((None, plan, report))
        }
    }
}
