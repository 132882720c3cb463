//! A run from its first session to its last: one, or two when the device is lost.

use super::{ResumeFrom, RunEnd, RunError, RunRequest, Session};
use crate::config::Profile;
use crate::plan::OpenDevice;
use crate::record::events::Event;
use crate::record::run_folder::{REPORT_FILE, Status};
use crate::run::device_loss::{Outlets, careful, reopen, write_report};
use crate::run::error::DeviceLoss;
use crate::run::interrupt::Interrupt;
use crate::train::TrainError;

/// Trains, evaluates and exports. When the device is lost, it is opened anew once, and the run goes on from its newest
/// checkpoint with shorter submissions.
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
        chosen,
        resume,
        overwrite,
        terminal,
        json,
    } = request;
    let caps = open.device.caps();
    let device = (caps.name.clone(), caps.driver.clone());
    let mut faults = open.faults.clone();
    let outlets = Outlets::new(terminal, json);
    let mut request = |profile: &Profile, open: OpenDevice, resume: Option<ResumeFrom>| RunRequest {
        profile: profile.clone(),
        open,
        scene: scene.clone(),
        loaded: loaded.take(),
        chosen: chosen.clone(),
        overwrite: overwrite && resume.is_none(),
        resume,
        terminal: outlets.terminal(),
        json: outlets.json(),
    };
    let mut session = Session::open(request(&profile, open, resume))?;
    let mut losses: Vec<DeviceLoss> = Vec::new();
    loop {
        let error = match session.train(interrupt) {
            Ok(signal) => return session.finish(signal),
            Err(error) => error,
        };
        let Some(loss) = session.loss(&error) else {
            let status = if matches!(error, RunError::Train(TrainError::Stalled { .. })) {
                Status::Stalled
            } else {
                Status::Failed
            };
            session.abandon(status, &error);
            return Err(error);
        };
        losses.push(loss.clone());
        let root = session.folder.root().to_owned();
        if losses.len() > 1 {
            return Err(session.lost_again(&device, losses));
        }
        // The rows so far are to be there before the next session appends to the same files.
        let _ = session.sinks.flush();
        // Everything made from the device goes with the session.
        drop(session);
        profile = careful(profile, &root, &loss);
        faults = faults.after_loss(loss.iteration + 1);
        let open = reopen(&profile, &faults).map_err(|error| RunError::DeviceLost {
            report: write_report(&root, &device, &losses),
            losses: std::mem::take(&mut losses),
            reopening: Some(error.to_string()),
        })?;
        session = Session::open(request(&profile, open, Some(ResumeFrom::AfterLoss)))?;
        let from = session.trainer.iteration();
        let submit_ms = profile.device.submit_ms;
        let DeviceLoss {
            iteration, noticed, at, ..
        } = loss;
        session.event(
            from,
            Event::DeviceLost {
                iteration,
                noticed,
                at,
                submit_ms,
            },
        )?;
    }
}

impl Session {
    /// What is known of the loss that `error` tells of, if it does.
    fn loss(&self, error: &RunError) -> Option<DeviceLoss> {
        Some(DeviceLoss {
            iteration: self.trainer.iteration(),
            noticed: error.lost()?.to_owned(),
            at: self.trainer.gpu().queue().progress().whereabouts(),
            submit_ms: self.profile.device.submit_ms,
        })
    }

    /// Ends a run whose device was lost for the second time.
    fn lost_again(mut self, device: &(String, String), losses: Vec<DeviceLoss>) -> RunError {
        let report = write_report(self.folder.root(), device, &losses);
        if report.is_some() {
            // The report is there; an index without it is no reason to say anything else.
            let _ = self.folder.list([REPORT_FILE]);
        }
        let error = RunError::DeviceLost {
            losses,
            report,
            reopening: None,
        };
        self.abandon(Status::Failed, &error);
        error
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
