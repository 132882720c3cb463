//! A run from the first step to the last file: the order of steps, evaluations, exports and checkpoints.

mod open;
mod photos;
mod recovery;
mod results;

pub use recovery::run;
pub(super) use results::{comments, triangle_comments};

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::interrupt::{Interrupt, Signal};
use super::judges::Judges;
use super::left_out::LeftOut;
use super::resolution_phases::Phase;
use super::watch::{Context, Orders, Watch};
use super::{Outlets, RunError, early_stop};
use crate::eval::EvalFile;
use crate::eval::lpips::Lpips;
use crate::plan::{OpenDevice, schedule};
use crate::record::clock::{Rate, Stopwatch};
use crate::record::events::{Event, EventRow, Primitive, RunEvent, Stage, Start, TrainRow};
use crate::record::pictures::PictureWriter;
use crate::record::run_folder::{MadeBy, RunFolder, Status};
use crate::record::sinks::Sinks;
use crate::train::{StepStatus, Trainer};
use kiln_config::{Profile, Schedule};
use kiln_scene::{LoadReport, SceneIndex, ViewSampler};

/// What to run.
pub struct RunRequest {
    /// The resolved profile.
    pub profile: Profile,
    /// The device.
    pub open: OpenDevice,
    /// The scene folder.
    pub scene: PathBuf,
    /// The scene as `profile` reads it, where it has been read already, and when that began.
    pub loaded: Option<(SceneIndex, Instant)>,
    /// What its steps are called.
    pub stage: Stage,
    /// What was chosen in the profile for this scene, a sentence each.
    pub chosen: Vec<String>,
    /// Command and names of settings, for the run's index; the rest of it comes from `profile`.
    pub made_by: MadeBy,
    /// Checkpoint file or folder to go on from.
    pub resume: Option<ResumeFrom>,
    /// Deletes a run of the same scene that is in the way.
    pub overwrite: bool,
    /// Where progress is shown and events go.
    pub outlets: Outlets,
}

impl RunRequest {
    /// A run from its start that shows nothing.
    #[must_use]
    pub fn new(profile: Profile, open: OpenDevice, scene: PathBuf) -> Self {
        Self {
            profile,
            open,
            scene,
            loaded: None,
            stage: Stage::Train,
            chosen: Vec::new(),
            made_by: MadeBy::default(),
            resume: None,
            overwrite: false,
            outlets: Outlets::default(),
        }
    }
}

/// Where a run goes on.
#[derive(Clone, Debug)]
pub enum ResumeFrom {
    /// The newest checkpoint of the output folder, or the start when there is none.
    Latest,
    /// The same, after the run lost its device.
    AfterLoss,
    /// This file.
    File(PathBuf),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// The run folder.
    pub folder: PathBuf,
    /// Iterations done.
    pub iterations: u32,
    /// The signal that ended it early.
    pub signal: Option<Signal>,
    /// Mean PSNR (one squared error per image) over the test views at the last evaluation, dB.
    pub test_psnr: Option<f64>,
    /// Device memory that it allocated, bytes.
    pub device_bytes: u64,
}

/// A run is not planned again in the last of so many parts.
const LATE: u32 = 10;

/// Why a session stopped to train.
enum Pause {
    /// The run is over, or a signal ended it.
    End(Option<Signal>),
    /// It goes on from its newest checkpoint in a session with room for at least so many tile intersections.
    MoreRoom(u32),
}

struct Session {
    profile: Profile,
    scene: SceneIndex,
    // Dropped before `trainer`, on whose device it was compiled.
    lpips: Option<Lpips>,
    trainer: Trainer,
    phase: Phase,
    /// What its steps are called.
    stage: Stage,
    sampler: ViewSampler,
    sinks: Sinks,
    folder: RunFolder,
    started: Instant,
    /// Iterations of checkpoints that were there when the session began and stay.
    kept: Vec<u32>,
    /// When the last checkpoint was written, or the first step came next.
    checkpointed: Instant,
    /// Runs from a step's start to the next evaluation, export or checkpoint. Waiting for an image to be decoded does not
    /// count, as long as the device has nothing else to do.
    watch: Stopwatch,
    rate: Rate,
    test_psnr: Option<f64>,
    pictures: PictureWriter,
    /// Evaluations whose pictures are being written, with the number of their last one.
    unindexed: VecDeque<(u64, EvalFile)>,
    early_stop: Option<early_stop::Stagnation>,
    on_cpu: bool,
    /// When the scene began to be read, until the first step is reported.
    opened: Option<Instant>,
    left_out: LeftOut,
    /// Training photos that judge the growth of the model.
    judges: Option<Judges>,
    /// Host memory that decoded images need at most, and what there is.
    image_bytes: (u64, Option<u64>),
    /// The device has the images of this phase.
    stored: bool,
    /// Iteration of the last checkpoint of this session.
    saved_at: Option<u32>,
    /// What was chosen for the scene, to be reported before the first step.
    chosen: Vec<String>,
    /// What people should know before the first step.
    warnings: Vec<String>,
    watchers: Vec<Box<dyn Watch>>,
    /// What watchers want of the loop.
    orders: Orders,
    /// Iterations done before this process began.
    from: u32,
    /// The plan has the room that it was made for: another one may have more.
    may_grow: bool,
}

impl Session {
    fn announce(&mut self) -> Result<(), RunError> {
        let report = self.trainer.report();
        let start = Start {
            primitive: match self.trainer.is_triangles() {
                true => Primitive::Triangles,
                false => Primitive::Gaussians,
            },
            stage: self.stage,
            from: self.trainer.iteration(),
            iterations: self.profile.schedule.iterations,
            cap_bytes: report.budget.cap_bytes,
            capacities: report.capacities.into(),
        };
        self.emit(&RunEvent::Start(start))?;
        let (host_bytes, available_bytes) = self.image_bytes;
        self.event(
            self.trainer.iteration(),
            Event::Images {
                residency: self.profile.dataset.residency.name().to_owned(),
                images: count(self.scene.views().count()),
                host_bytes,
                available_bytes,
            },
        )?;
        if !self.phase.is_full() && self.trainer.iteration() == self.profile.iterations_before() {
            self.trainer.set_cameras(&self.phase.scene, true)?;
        }
        let short = self.trainer.report().shortage();
        for message in std::mem::take(&mut self.chosen) {
            self.event(self.trainer.iteration(), Event::Chosen { message })?;
        }
        for message in std::mem::take(&mut self.warnings).into_iter().chain(short) {
            self.event(self.trainer.iteration(), Event::Warning { message })?;
        }
        self.from = self.trainer.iteration();
        self.checkpointed = Instant::now();
        self.watched(|watcher, ctx| watcher.start(ctx))
    }

    /// Trains until the last iteration, a signal, or a checkpoint from which the run wants to go on with more room.
    fn train(&mut self, interrupt: &Interrupt) -> Result<Pause, RunError> {
        let pause = self.steps(interrupt)?;
        self.watch.stop(self.now());
        if let Pause::End(_) = pause {
            self.watched(|watcher, ctx| watcher.end(ctx))?;
        }
        Ok(pause)
    }

    fn steps(&mut self, interrupt: &Interrupt) -> Result<Pause, RunError> {
        let total = self.profile.schedule.iterations;
        while self.trainer.iteration() < total {
            self.end_if_asked()?;
            if let Some(room) = self.orders.room.take()
                && self.is_worth_a_plan()
            {
                self.settle()?;
                self.checkpoint_if_there_is_room()?;
                if self.saved_at == Some(self.trainer.iteration()) {
                    return Ok(Pause::MoreRoom(room));
                }
            }
            if let Some(signal) = interrupt.signal() {
                // A stage of a larger run may be asked to end before its first step.
                if self.trainer.iteration() > self.from {
                    self.settle()?;
                    self.checkpoint()?;
                    self.save_what_was_reached()?;
                }
                return Ok(Pause::End(Some(signal)));
            }
            let next = self.trainer.iteration() + 1;
            if next == total {
                // The last step updates nothing, so the state before it is the final one; from there a run can be
                // extended as if it had never ended.
                self.settle()?;
                self.checkpoint_if_there_is_room()?;
            }
            self.step(next)?;
            interrupt.set_heard(true);
            if self.trainer.culls_last() {
                self.settle()?;
                self.trainer.cull_last(&self.phase.scene)?;
                self.tell_events()?;
            }
            // Measured and saved before a densification or reset of the same iteration, as the reference does; a
            // checkpoint holds the state after it, from which the next iteration starts.
            if self.is_due(next, |s| &s.test) {
                self.settle()?;
                let stop = self.evaluate()?.filter(|_| next < total);
                if let Some(stop) = stop {
                    self.event(next, stop)?;
                    self.save()?;
                    self.trainer.release()?;
                    self.settle()?;
                    self.checkpoint()?;
                    return Ok(Pause::End(None));
                }
            }
            if self.is_due(next, |s| &s.save) {
                self.settle()?;
                self.save()?;
            }
            self.judge(next)?;
            self.trainer.release()?;
            if (self.is_due(next, |s| &s.checkpoint) || self.is_checkpoint_late()) && next != total {
                self.settle()?;
                self.checkpoint_if_there_is_room()?;
            }
        }
        self.settle()?;
        Ok(Pause::End(None))
    }

    /// True when enough of the run is left for the seconds that a new plan takes, and something was done since the last one.
    fn is_worth_a_plan(&self) -> bool {
        let (done, total) = (self.trainer.iteration(), self.profile.schedule.iterations);
        self.may_grow && done > self.from && done < total - total / LATE
    }

    /// True when the last checkpoint was written too long ago.
    fn is_checkpoint_late(&self) -> bool {
        let minutes = self.profile.schedule.checkpoint_minutes;
        minutes > 0.0 && self.checkpointed.elapsed().as_secs_f64() >= 60.0 * minutes
    }

    fn is_due(&self, iteration: u32, list: impl Fn(&Schedule) -> &[u32]) -> bool {
        list(&self.profile.schedule).contains(&iteration)
    }

    fn step(&mut self, iteration: u32) -> Result<(), RunError> {
        self.watched(|watcher, ctx| watcher.before(iteration, ctx))?;
        if self.phase.is_over(&self.profile, iteration) {
            self.settle()?;
            self.trainer.unstage();
            self.watch.stop(self.now());
            self.phase = Phase::at(&self.profile, &self.scene, iteration)?;
            self.trainer.set_cameras(&self.phase.scene, true)?;
            self.stored = false;
        }
        if self.trainer.is_resident() && !self.stored {
            self.trainer.idle_gpu()?;
            self.watch.stop(self.now());
            self.store_images(iteration)?;
        }
        self.watch.start(self.now());
        let (id, photo) = self.draw(iteration)?;
        let Some(view) = self.phase.scene.view(id) else {
            return Ok(());
        };
        let camera = view.camera.clone();
        self.trainer.see(id.index);
        self.see_neighbor(iteration, id.index)?;
        let status = self.trainer.advance_and_hold(&camera, photo)?;
        self.stage_next();
        if let Some(opened) = self.opened.take() {
            let LoadReport { images, bytes, threads } = self.phase.store.report();
            let seconds = opened.elapsed().as_secs_f64();
            self.event(
                iteration,
                Event::FirstStep {
                    seconds,
                    images,
                    bytes,
                    threads,
                },
            )?;
        }
        self.report(status)
    }

    /// Waits for the steps in flight and reports them.
    fn settle(&mut self) -> Result<(), RunError> {
        let statuses = self.trainer.drain()?;
        for status in statuses {
            self.report(Some(status))?;
        }
        // A step that was left out has events but no status.
        self.tell_events()
    }

    fn report(&mut self, status: Option<StepStatus>) -> Result<(), RunError> {
        let Some(status) = status else {
            return Ok(());
        };
        let StepStatus {
            iteration,
            counters,
            vertices,
            pair,
        } = status;
        let t = self.watch.elapsed(self.now());
        let its = self.rate.step(iteration, t);
        let dense = schedule::density_at(&self.profile, iteration);
        #[expect(clippy::cast_possible_truncation, reason = "a rate for people")]
        let row = TrainRow {
            it: iteration,
            loss: counters.loss,
            l1: counters.l1,
            normals: self.trainer.looks_at_normals(iteration).then_some(counters.normals),
            density: dense.then_some(counters.density),
            density_normals: dense.then_some(counters.density_normals),
            neighbour_geometry: pair.map(|[geometry, _]| geometry),
            neighbour_photometric: pair.map(|[_, photometric]| photometric),
            gaussians: counters.gaussians,
            triangles: vertices.map(|_| counters.gaussians),
            vertices,
            visible: counters.visible,
            intersections: counters.intersections,
            its: its.map(|r| r as f32),
            t_s: t.as_secs_f64(),
        };
        self.emit(&RunEvent::Train(row))?;
        self.tell_events()?;
        self.watched(|watcher, ctx| watcher.step(&status, ctx))?;
        self.index_evaluations(false)
    }

    fn tell_events(&mut self) -> Result<(), RunError> {
        self.watched(|watcher, ctx| {
            watcher.look(ctx);
            Ok(())
        })?;
        for row in self.trainer.take_events() {
            let event = RunEvent::Event(row.clone());
            self.emit(&event)?;
            self.watched(|watcher, ctx| {
                watcher.event(&row, ctx);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls every watcher, and reports what they say, also when one of them ends the run.
    fn watched(
        &mut self,
        mut ask: impl FnMut(&mut dyn Watch, &mut Context<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let t_s = self.watch.elapsed(self.now()).as_secs_f64();
        let mut ctx = Context {
            trainer: &mut self.trainer,
            profile: &self.profile,
            sinks: &self.sinks,
            folder: &mut self.folder,
            orders: &mut self.orders,
            t_s,
            // Most steps have nothing to say, and an empty list takes no memory.
            rows: Vec::new(),
        };
        let mut watchers = self.watchers.iter_mut();
        let asked = watchers.try_for_each(|watcher| ask(&mut **watcher, &mut ctx));
        for row in ctx.rows {
            self.emit(&row)?;
        }
        asked
    }

    /// Ends the run when a watcher wants that: what was reached is saved first.
    fn end_if_asked(&mut self) -> Result<(), RunError> {
        let Some(end) = self.orders.end.take() else {
            return Ok(());
        };
        let done = self.trainer.iteration() > self.from;
        if done {
            self.settle()?;
            self.checkpoint()?;
        }
        Err(match end {
            RunError::Spilled { evidence, .. } => RunError::Spilled {
                iteration: self.trainer.iteration(),
                evidence,
                saved: done,
            },
            other => other,
        })
    }

    fn finish(mut self, signal: Option<Signal>) -> Result<RunEnd, RunError> {
        self.index_evaluations(true)?;
        self.sinks.flush()?;
        let iterations = self.trainer.iteration();
        let folder = self.folder.root().to_owned();
        let device_bytes = self.trainer.report().device_bytes;
        let status = if signal.is_some() {
            Status::Interrupted
        } else {
            Status::Done
        };
        self.folder.finish(status, iterations, None)?;
        Ok(RunEnd {
            folder,
            iterations,
            signal,
            test_psnr: self.test_psnr,
            device_bytes,
        })
    }

    /// Ends a run that failed; `report` is the file of the report.
    fn abandon(mut self, status: Status, error: &RunError, report: Option<&str>) {
        // The error itself is what people need to see; a second one while tidying up would only hide it.
        let _ = self.index_evaluations(true);
        let _ = self.sinks.flush();
        let _ = self.folder.list(report);
        let iterations = self.trainer.iteration();
        let _ = self.folder.finish(status, iterations, Some(error.to_string()));
    }

    fn event(&mut self, it: u32, event: Event) -> Result<(), RunError> {
        self.emit(&RunEvent::Event(EventRow { it, event }))
    }

    fn emit(&mut self, event: &RunEvent) -> Result<(), RunError> {
        let now = self.now();
        Ok(self.sinks.emit(event, now)?)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
