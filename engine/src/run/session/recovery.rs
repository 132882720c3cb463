//! A run from its first session to its last: one, one more when the device is lost, and one more each time that its plan gets more room.

use std::path::PathBuf;

use super::{Pause, ResumeFrom, RunEnd, RunError, RunRequest, Session};
use crate::config::Profile;
use crate::plan::OpenDevice;
use crate::record::events::Event;
use crate::record::run_folder::{REPORT_FILE, RunFolder, RunScene, Status};
use crate::run::device_loss::{careful, reopen, write_report};
use crate::run::error::DeviceLoss;
use crate::run::interrupt::Interrupt;
use crate::train::TrainError;

/// Trains, evaluates and exports. When the device is lost, it is opened anew once, and the run goes on from its newest
/// checkpoint, or from its start where it has none, with shorter submissions. When steps want more tile intersections than the plan
/// has room for and the budget has bytes left, the run is planned again and goes on from a checkpoint of that moment, with the same
/// bytes where it is deterministic.
///
/// # Errors
/// [`RunError`]; the run folder then says `failed` or `stalled`, and what was written before stays.
/// [`RunError::DeviceLost`] when the device is lost for the second time, or cannot be opened again.
pub fn run(request: RunRequest, interrupt: &Interrupt) -> Result<RunEnd, RunError> {
    let RunRequest {
        mut profile,
        open,
        scene,
        mut loaded,
        stage,
        chosen,
        made_by,
        resume,
        overwrite,
        outlets,
    } = request;
    let caps = open.device.caps();
    let device = (caps.name.clone(), caps.driver.clone());
    let mut faults = open.faults.clone();
    let mut request = |profile: &Profile, open: OpenDevice, resume: Option<ResumeFrom>| RunRequest {
        profile: profile.clone(),
        open,
        scene: scene.clone(),
        loaded: loaded.take(),
        stage,
        chosen: chosen.clone(),
        made_by: made_by.clone(),
        overwrite: overwrite && resume.is_none(),
        resume,
        outlets: outlets.clone(),
    };
    let (mut open, mut from) = (open, resume.clone());
    let mut losses: Vec<DeviceLoss> = Vec::new();
    let mut reported = 0;
    let mut room = None;
    loop {
        let mut begun = None;
        let tier = open.tier;
        let opened = Session::open(request(&profile, open, from.clone()), room.take(), &mut begun);
        let (error, session) = match opened {
            Ok(mut session) => match session.go(losses.get(reported..).and_then(<[_]>::last), interrupt) {
                Ok(Pause::End(signal)) => return session.finish(signal),
                Ok(Pause::MoreRoom(least)) => {
                    (room, reported) = (Some(least), losses.len());
                    from = Some(ResumeFrom::AfterLoss);
                    profile.run.output = Some(session.folder.root().display().to_string());
                    session.sinks.flush()?;
                    // The same device, with its pipelines; its memory goes with the session.
                    let device = session.trainer.gpu().device().clone();
                    drop(session);
                    open = OpenDevice::on(device, tier, &profile, faults.clone());
                    continue;
                }
                Err(error) => (error, Some(session)),
            },
            Err(error) => (error, None),
        };
        let Some(loss) = DeviceLoss::of(&error, session.as_ref(), &profile) else {
            end(session, begun, &error);
            return Err(error);
        };
        losses.push(loss.clone());
        if losses.len() > 1 {
            let error = RunError::DeviceLost {
                report: begun.as_ref().and_then(|at| write_report(&at.root, &device, &losses)),
                losses,
                reopening: None,
            };
            end(session, begun, &error);
            return Err(error);
        }
        if let Some(at) = &begun {
            from = Some(match (&resume, session.as_ref().and_then(|session| session.saved_at)) {
                // What came of that file so far is lost.
                (Some(ResumeFrom::File(file)), None) => ResumeFrom::File(file.clone()),
                _ => ResumeFrom::AfterLoss,
            });
            profile.run.output = Some(at.root.display().to_string());
        }
        if let Some(mut session) = session {
            // The rows so far are to be there before the next session appends to the same files.
            let _ = session.sinks.flush();
            // Everything made from the device goes with the session.
        }
        profile = careful(profile, &loss);
        faults = faults.after_loss(loss.iteration + 1);
        open = reopen(&profile, &faults).map_err(|error| {
            let error = RunError::DeviceLost {
                report: begun.as_ref().and_then(|at| write_report(&at.root, &device, &losses)),
                losses: std::mem::take(&mut losses),
                reopening: Some(error.to_string()),
            };
            end(None, begun.take(), &error);
            error
        })?;
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
