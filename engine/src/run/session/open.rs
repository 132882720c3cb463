//! A session from its request: scene, plan, device, folder, sinks, and where it goes on from.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use super::recovery::Begun;
use super::{ResumeFrom, RunRequest, Session};
use crate::config::Profile;
use crate::kernels::views::Variants;
use crate::memory::{Gpu, MIB};
use crate::plan::{
    Demand, FirstModel, OpenDevice, Pinned, PlanError, PlanReport, TrainPlan, check_host_memory, image_host_bytes,
    plan, plan_first, plan_with_photos, training_options, triangles, with_remedies,
};
use crate::record::clock::{Rate, Stopwatch};
use crate::record::environment;
use crate::record::events::Event;
use crate::record::pictures::PictureWriter;
use crate::record::run_folder::{Existing, NewRun, RunFolder, RunScene, Which, place, stored_name};
use crate::record::sinks::{JsonEvents, Sinks, Stamp};
use crate::run::device_loss::{careful, last_loss};
use crate::run::left_out::LeftOut;
use crate::run::resolution_phases::Phase;
use crate::run::watch::{self, Guard, Orders, device_budget};
use crate::run::{RunError, early_stop, evaluation};
use crate::scene::{SceneError, SceneIndex, ViewSampler};
use crate::train::Trainer;
use crate::train::checkpoint::{self, OpenCheckpoint};
use crate::vk::DeviceKind;

impl Session {
    /// A session that is about to take its first step, where it goes on with room for at least `room` tile intersections if memory is
    /// not short. `begun` is set as soon as the run has its folder.
    pub(super) fn open(request: RunRequest, room: Option<u32>, begun: &mut Option<Begun>) -> Result<Self, RunError> {
        let RunRequest {
            mut profile,
            open,
            scene: path,
            loaded,
            stage,
            mut chosen,
            made_by,
            resume,
            overwrite,
            outlets,
        } = request;
        let (scene, opened) = match loaded {
            Some(loaded) => loaded,
            None => {
                let opened = Instant::now();
                (SceneIndex::load(&path, &training_options(&profile)?)?, opened)
            }
        };
        let root = place(
            &profile.run,
            &RunScene::of(&scene).name,
            Which::of(resume.is_some(), overwrite),
        );
        if let Some(loss) = resume.as_ref().and_then(|_| last_loss(&root)) {
            // A device that was lost in a session before this one gets no longer submissions than it would have got next.
            profile = careful(profile, &loss);
            open.device.limit_submissions(profile.care.submit_ms);
            open.device.mark_passes(profile.care.marks_passes);
        }
        let found = match &resume {
            None => None,
            Some(ResumeFrom::Latest | ResumeFrom::AfterLoss) => checkpoint::open_any(&root.join("checkpoints"))?,
            Some(ResumeFrom::File(file)) => Some(checkpoint::open(file)?),
        };
        let (mut from, damaged) = found.map_or((None, Vec::new()), |(c, d)| (Some(c), d));
        // The run keeps its near plane, whatever the scene asks for.
        let kept = from.as_ref().and_then(|checkpoint| checkpoint.state().near_z());
        profile.model.near = profile.model.near.or(kept).or(Some(scene.near_z()));
        let Pinned {
            variants,
            timing,
            mut warnings,
        } = Pinned::for_training(&open, &profile)?;
        if let Some(checkpoint) = &from {
            checkpoint.check(&profile, &scene, &variants)?;
            warnings.extend(checkpoint.state().notes(&profile));
            profile = checkpoint.state().chosen(profile);
        }
        let cap = device_budget(&open, &profile).cap_bytes;
        let (mut first, plan, report) = plan_with_photos(
            &mut profile,
            &scene,
            cap,
            kiln_system::available_bytes(),
            |profile| {
                make_plan(
                    profile,
                    &scene,
                    &open,
                    &variants,
                    from.as_ref().map(|from| (from, room)),
                )
            },
            |(_, _, report)| report,
        )
        .map_err(|error| match from {
            // What a checkpoint holds cannot be made smaller.
            Some(_) => error,
            None => {
                let both = (device_budget(&open, &profile), Gpu::limits(&open.device));
                with_remedies(error, &profile, &scene, both, &variants, &open.faults)
            }
        })?;
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
        let existing = match &resume {
            Some(ResumeFrom::Latest | ResumeFrom::AfterLoss) => Existing::Resume,
            // A checkpoint of elsewhere may start a run of its own.
            Some(ResumeFrom::File(_)) if root.join("run.json").exists() => Existing::Resume,
            _ if overwrite => Existing::Replace,
            _ => Existing::Refuse,
        };
        let run = NewRun {
            name: run_name(&profile, &scene, &root, existing),
            scene: RunScene::of(&scene),
            iterations: profile.schedule.iterations,
            started_unix_s: stamp.unix.as_secs(),
            made_by: made_by.with(&profile),
        };
        let mut folder = RunFolder::create(&root, existing, run)?;
        *begun = Some(Begun {
            root,
            scene: RunScene::of(&scene),
        });
        let mut guard = Guard::new(&open, &profile);
        let (device_bytes, host_bytes) = (report.device_bytes, report.host_bytes);
        let phase = Phase::at(&profile, &scene, profile.iterations_before() + 1)?;
        if let Some(first) = &mut first {
            first.colour(&phase.scene, &phase.store);
        }
        // Triangles are made of the points, and given to the trainer when it has a place for them.
        let schedule = profile.triangle_schedule();
        let model = first.as_ref().map(|first| &first.gaussians);
        let model = model.filter(|_| schedule.is_none());
        let mut trainer = Trainer::new(&open.device, profile.clone(), plan, report, &scene, model, &open.faults)?;
        warnings.extend(without_neighbors(trainer.views_alone(), scene.train.len()));
        if let Some(mesh) = first.as_ref().and_then(FirstModel::mesh) {
            trainer.bind(mesh)?;
        }
        if let (Some(schedule), Some(first)) = (&schedule, &first) {
            let model = triangles::first_model(&first.gaussians, schedule, triangles::seed(&profile));
            trainer.begin_triangles(model)?;
        }
        guard.committed(
            from.as_ref().map_or(0, |c| c.state().iteration),
            device_bytes,
            host_bytes,
        );
        let table = trainer.gpu().memory().table();
        folder.write_setup(&profile, &environment::of(&profile, &open, &variants, table))?;
        let mut points = scene.points.clone();
        if let Some(first) = &first {
            points.extend(first.background_points());
            chosen.extend(first.choice());
        }
        chosen.extend(timing);
        // A run that goes on keeps what its beginning chose.
        if first.is_some() {
            folder.note_choices(chosen.clone())?;
        }
        // What is as it should be is no warning.
        chosen.extend(scene.notices.iter().cloned());
        if room.is_some() {
            // The session before said the rest.
            warnings.clear();
            chosen = vec![more_room(trainer.report())];
        }
        drop(first);
        folder.write_inputs(&scene, &points, from.is_some())?;
        let terminal = outlets.terminal();
        let aloud = terminal.is_some();
        let mut sinks = Sinks::open(&profile.sinks, folder.root(), terminal, &stamp)?;
        folder.list(sinks.files().iter().map(String::as_str))?;
        if let Some(out) = outlets.json() {
            sinks.add(Box::new(JsonEvents::new(out)));
        }
        let may_grow = room.is_none_or(|room| trainer.report().capacities.i_cap >= room);
        let caps = open.device.caps();
        let views = u32::try_from(scene.train.len()).unwrap_or(u32::MAX);
        let sampler = ViewSampler::new(views, profile.train.seed).ok_or_else(|| SceneError::NoViews {
            path: scene.root.clone(),
            why: "none is left to train on".to_owned(),
        })?;
        let mut session = Self {
            watchers: watch::all(
                &profile,
                &open.faults,
                &trainer,
                &sinks,
                guard,
                scene.train.len(),
                aloud,
            ),
            orders: Orders::default(),
            pictures: PictureWriter::default(),
            unindexed: VecDeque::new(),
            early_stop: profile.schedule.early_stop.map(early_stop::Stagnation::new),
            profile,
            scene,
            lpips,
            trainer,
            phase,
            stage,
            sampler,
            sinks,
            kept: checkpoint::kept(&folder.checkpoints()),
            folder,
            started,
            checkpointed: started,
            watch: Stopwatch::default(),
            rate: Rate::default(),
            test_psnr: None,
            on_cpu: caps.kind == DeviceKind::Cpu,
            opened: Some(opened),
            left_out: LeftOut::default(),
            image_bytes,
            stored: false,
            saved_at: None,
            chosen,
            warnings,
            from: 0,
            may_grow,
        };
        if let Some(checkpoint) = &mut from {
            session.resume(checkpoint, &damaged)?;
        } else if matches!(resume, Some(ResumeFrom::Latest | ResumeFrom::AfterLoss)) {
            session.begin_again()?;
        }
        session.announce()?;
        Ok(session)
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
        let path = from.path().strip_prefix(self.folder.root()).unwrap_or(from.path());
        self.event(
            iteration,
            Event::Resume {
                checkpoint: path.display().to_string(),
            },
        )
    }
}

/// A resumed run keeps its name unless it is given another one.
fn run_name(profile: &Profile, scene: &SceneIndex, root: &Path, existing: Existing) -> String {
    let stored = (existing == Existing::Resume).then(|| stored_name(root)).flatten();
    let name = profile.run.name.clone().or(stored);
    name.unwrap_or_else(|| RunScene::of(scene).name)
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

/// The plan of a run, and the first model of one that begins.
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
