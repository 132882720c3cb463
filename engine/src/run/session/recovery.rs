//! A run from its first session to its last: one, one more when the device is lost, and one more each time that its plan gets more room.

use std::path::PathBuf;
use std::time::Instant;

use super::{Pause, ResumeFrom, RunEnd, RunError, RunRequest, Session};
use crate::config::Profile;
use crate::plan::{Faults, OpenDevice};
use crate::record::events::{Event, Stage};
use crate::record::run_folder::{MadeBy, REPORT_FILE, RunFolder, RunScene, Status};
use crate::run::Outlets;
use crate::run::device_loss::{careful, reopen, write_report};
use crate::run::error::DeviceLoss;
use crate::run::interrupt::Interrupt;
use crate::scene::SceneIndex;
use crate::train::TrainError;
use crate::vk::Tier;

/// Trains, evaluates and exports. When the device is lost, it is opened anew once, and the run goes on from its newest
/// checkpoint, or from its start where it has none, with shorter submissions. When steps want more tile intersections than the plan
/// has room for and the budget has bytes left, the run is planned again and goes on from a checkpoint of that moment, with the same
/// bytes where it is deterministic.
///
/// # Errors
/// [`RunError`]; the run folder then says `failed` or `stalled`, and what was written before stays.
/// [`RunError::DeviceLost`] when the device is lost for the second time, or cannot be opened again.
pub fn run(request: RunRequest, interrupt: &Interrupt) -> Result<RunEnd, RunError> {
    let (mut sessions, mut open) = Sessions::of(request);
    loop {
        let mut begun = None;
        let tier = open.tier;
        let opened = Session::open(sessions.request(open), sessions.room.take(), &mut begun);
        let (error, session) = match opened {
            Ok(mut session) => match session.go(sessions.unreported(), interrupt) {
                Ok(Pause::End(signal)) => return session.finish(signal),
                Ok(Pause::MoreRoom(least)) => {
                    open = sessions.with_room(least, session, tier)?;
                    continue;
                }
                Err(error) => (error, Some(session)),
            },
            Err(error) => (error, None),
        };
        let Some(loss) = DeviceLoss::of(&error, session.as_ref(), &sessions.profile) else {
            end(session, begun, &error);
            return Err(error);
        };
        open = sessions.after(&loss, session, begun)?;
    }
}

/// What goes on from one session of a run to the next.
struct Sessions {
    profile: Profile,
    faults: Faults,
    /// Where the next session begins, and where the first one did.
    from: Option<ResumeFrom>,
    resume: Option<ResumeFrom>,
    /// Tile intersections that the next session has room for at least.
    room: Option<u32>,
    losses: Vec<DeviceLoss>,
    /// Losses that a session has reported.
    reported: usize,
    /// Name and driver of the first device.
    device: (String, String),
    scene: PathBuf,
    loaded: Option<(SceneIndex, Instant)>,
    stage: Stage,
    chosen: Vec<String>,
    made_by: MadeBy,
    overwrite: bool,
    outlets: Outlets,
}

impl Sessions {
    /// Of a run that nothing happened to yet, and its device.
    fn of(request: RunRequest) -> (Self, OpenDevice) {
        let open = request.open;
        let caps = open.device.caps();
        let sessions = Self {
            profile: request.profile,
            faults: open.faults.clone(),
            from: request.resume.clone(),
            resume: request.resume,
            room: None,
            losses: Vec::new(),
            reported: 0,
            device: (caps.name.clone(), caps.driver.clone()),
            scene: request.scene,
            loaded: request.loaded,
            stage: request.stage,
            chosen: request.chosen,
            made_by: request.made_by,
            overwrite: request.overwrite,
            outlets: request.outlets,
        };
        (sessions, open)
    }

    /// The request of the next session.
    fn request(&mut self, open: OpenDevice) -> RunRequest {
        RunRequest {
            profile: self.profile.clone(),
            open,
            scene: self.scene.clone(),
            loaded: self.loaded.take(),
            stage: self.stage,
            chosen: self.chosen.clone(),
            made_by: self.made_by.clone(),
            resume: self.from.clone(),
            overwrite: self.overwrite && self.from.is_none(),
            outlets: self.outlets.clone(),
        }
    }

    /// The loss that the session is to report.
    fn unreported(&self) -> Option<&DeviceLoss> {
        self.losses.get(self.reported..).and_then(<[_]>::last)
    }

    /// The device for a session with room for at least `least` tile intersections.
    fn with_room(&mut self, least: u32, mut session: Session, tier: Tier) -> Result<OpenDevice, RunError> {
        (self.room, self.reported) = (Some(least), self.losses.len());
        self.from = Some(ResumeFrom::AfterLoss);
        self.profile.run.output = Some(session.folder.root().display().to_string());
        session.sinks.flush()?;
        // The same device, with its pipelines; its memory goes with the session.
        let device = session.trainer.gpu().device().clone();
        drop(session);
        Ok(OpenDevice::on(device, tier, &self.profile, self.faults.clone()))
    }

    /// The device for a session after a loss, opened anew.
    ///
    /// # Errors
    /// [`RunError::DeviceLost`] for the second loss, and where the device cannot be opened; the run has ended then.
    fn after(
        &mut self,
        loss: &DeviceLoss,
        session: Option<Session>,
        mut begun: Option<Begun>,
    ) -> Result<OpenDevice, RunError> {
        self.losses.push(loss.clone());
        if self.losses.len() > 1 {
            let error = self.lost(begun.as_ref(), None);
            end(session, begun, &error);
            return Err(error);
        }
        if let Some(at) = &begun {
            self.from = Some(
                match (&self.resume, session.as_ref().and_then(|session| session.saved_at)) {
                    // What came of that file so far is lost.
                    (Some(ResumeFrom::File(file)), None) => ResumeFrom::File(file.clone()),
                    _ => ResumeFrom::AfterLoss,
                },
            );
            self.profile.run.output = Some(at.root.display().to_string());
        }
        if let Some(mut session) = session {
            // The rows so far are to be there before the next session appends to the same files.
            let _ = session.sinks.flush();
            // Everything made from the device goes with the session.
        }
        self.profile = careful(self.profile.clone(), loss);
        self.faults = self.faults.clone().after_loss(loss.iteration + 1);
        reopen(&self.profile, &self.faults).map_err(|error| {
            let error = self.lost(begun.as_ref(), Some(error.to_string()));
            end(None, begun.take(), &error);
            error
        })
    }

    /// The error of a run that ends with its losses, and its report where the run has a folder.
    fn lost(&mut self, begun: Option<&Begun>, reopening: Option<String>) -> RunError {
        RunError::DeviceLost {
            report: begun.and_then(|at| write_report(&at.root, &self.device, &self.losses)),
            losses: std::mem::take(&mut self.losses),
            reopening,
        }
    }
}

/// Writes into the folder of a run how it ended, if it has begun one.
fn end(session: Option<Session>, begun: Option<Begun>, error: &RunError) {
    let status = match error {
        RunError::Train(TrainError::Stalled { .. }) => Status::Stalled,
        _ => Status::Failed,
    };
    let report = matches!(error, RunError::DeviceLost { report: Some(_), .. }).then_some(REPORT_FILE);
    if let Some(session) = session {
        session.abandon(status, error, report);
    } else if let Some(Begun { root, scene }) = begun
        && let Ok(mut folder) = RunFolder::reopen(&root, &scene)
    {
        let done = folder.record().iterations.done;
        // The error itself is what people need to see.
        let _ = folder.list(report);
        let _ = folder.finish(status, done, Some(error.to_string()));
    }
}

/// The folder of a run, once it is made or taken over.
pub(super) struct Begun {
    /// The folder.
    pub(super) root: PathBuf,
    /// The scene it is of.
    pub(super) scene: RunScene,
}

impl DeviceLoss {
    /// What is known of the loss that `error` reports, if it does; a session that did not come to its first step has no
    /// place to report.
    fn of(error: &RunError, session: Option<&Session>, profile: &Profile) -> Option<Self> {
        let noticed = error.lost()?.to_owned();
        let (iteration, at) = match session {
            Some(session) => (
                session.trainer.iteration(),
                session.trainer.gpu().queue().progress().whereabouts(),
            ),
            None => (0, "the preparations of its first step".to_owned()),
        };
        Some(Self {
            iteration,
            noticed,
            at,
            submit_ms: session.map_or(profile, |session| &session.profile).care.submit_ms,
        })
    }
}

impl Session {
    /// Trains; first reports the device that was lost before, if one was.
    fn go(&mut self, lost: Option<&DeviceLoss>, interrupt: &Interrupt) -> Result<Pause, RunError> {
        if let Some(loss) = lost.cloned() {
            let DeviceLoss {
                iteration, noticed, at, ..
            } = loss;
            let event = Event::DeviceLost {
                iteration,
                noticed,
                at,
                submit_ms: self.profile.care.submit_ms,
            };
            self.event(self.trainer.iteration(), event)?;
        }
        self.train(interrupt)
    }

    /// Begins anew in the folder of a run that ended before its first checkpoint.
    pub(super) fn begin_again(&mut self) -> Result<(), RunError> {
        self.folder.rewind(0)?;
        self.event(
            0,
            Event::Resume {
                checkpoint: "the start".to_owned(),
            },
        )
    }
}
