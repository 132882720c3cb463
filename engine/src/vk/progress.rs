//! How far the queue is, as far as the host can tell without asking the device to do anything.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::timeline::Timeline;
use super::{Device, Markers, VkError};

/// A look at the queue. When two looks are equal and work is under way, nothing happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Submissions made.
    pub submitted: u64,
    /// Submissions finished.
    pub finished: u64,
    /// The word of [`Markers`], 0 where passes are not marked.
    pub marker: u32,
}

impl Pulse {
    /// True when the device has work to do.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.finished < self.submitted
    }
}

/// What a submission is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Name of the program.
    pub(super) program: String,
    /// Which part of it, where it has several.
    pub(super) part: Option<String>,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "`{}`, {part}", self.program),
            None => write!(f, "`{}`", self.program),
        }
    }
}

/// A copy that the next submission waits for: its number on the timeline of copies, and what it is.
#[derive(Clone, Debug)]
pub(super) struct Awaited {
    pub(super) value: u64,
    pub(super) label: Arc<Label>,
}

/// A submission that may not be finished.
struct UnderWay {
    /// Its number on the timeline.
    value: u64,
    label: Arc<Label>,
    awaited: Option<Awaited>,
}

impl UnderWay {
    /// The copy that this submission cannot begin without, when not more than `copied` of them are done.
    fn waits_for(&self, copied: u64) -> Option<String> {
        let copy = self.awaited.as_ref().filter(|copy| copy.value > copied)?;
        Some(format!("{}, which {} waits for", copy.label, self.label))
    }
}

/// The timelines of the queues and what was submitted on that of the steps; may be asked from any thread.
pub struct Progress {
    pub(super) timeline: Timeline,
    /// That of the queue that photos come by, where they are submissions of their own.
    pub(super) copies: Option<Timeline>,
    last: AtomicU64,
    /// Oldest first.
    under_way: Mutex<VecDeque<UnderWay>>,
    markers: Option<Arc<Markers>>,
    device: Arc<Device>,
}

impl Progress {
    pub(super) fn new(device: &Arc<Device>, markers: Option<Arc<Markers>>) -> Result<Self, VkError> {
        let copies = device.uploads().is_apart().then(|| Timeline::new(device));
        Ok(Self {
            device: device.clone(),
            timeline: Timeline::new(device)?,
            copies: copies.transpose()?,
            last: AtomicU64::new(0),
            under_way: Mutex::default(),
            markers,
        })
    }

    /// The marker word, where passes are marked.
    pub(crate) fn markers(&self) -> Option<&Arc<Markers>> {
        self.markers.as_ref()
    }

    /// Submissions finished.
    pub(super) fn finished(&self) -> Result<u64, VkError> {
        self.timeline.value()
    }

    /// Number of the last submission, 0 before the first.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Notes that submission `value` was made, and what it waits for.
    pub(super) fn submitted(&self, value: u64, what: &Arc<Label>, awaited: Option<Awaited>) {
        let finished = self.finished().unwrap_or(0);
        let mut list = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        while list.front().is_some_and(|old| old.value <= finished) {
            list.pop_front();
        }
        list.push_back(UnderWay {
            value,
            label: what.clone(),
            awaited,
        });
        self.last.store(value, Ordering::Release);
    }

    /// Where the queue is now; none when the device does not answer any more.
    #[must_use]
    pub fn pulse(&self) -> Option<Pulse> {
        Some(Pulse {
            finished: self.finished().ok()?,
            submitted: self.last.load(Ordering::Acquire),
            marker: self.markers.as_ref().map_or(0, |markers| markers.word()),
        })
    }

    /// What the device is at, or was at when it was lost: the pass where passes are marked, else the oldest submission that
    /// is not known to be finished.
    #[must_use]
    pub fn whereabouts(&self) -> String {
        let finished = self.finished().unwrap_or(0);
        let list = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let first = list.iter().find(|submission| submission.value > finished);
        let copied = self.copies.as_ref().map_or(0, |copies| copies.value().unwrap_or(0));
        if let Some(copy) = first.and_then(|first| first.waits_for(copied)) {
            return copy;
        }
        let under_way = first.map(|first| &first.label);
        let markers = self.markers.as_ref();
        let pass = markers.and_then(|markers| markers.describe(markers.word()));
        match (pass, under_way) {
            // The word may be of an earlier submission, when this one has not begun or has no marks.
            (Some(pass), Some(label)) if pass.ends_with(&format!("`{}`", label.program)) => pass,
            (_, Some(label)) => label.to_string(),
            (Some(pass), None) => pass,
            (None, None) => "nothing that is known".to_owned(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // SAFETY: plain waits; they make the timelines free to destroy.
        unsafe {
            let _ = self.device.raw().queue_wait_idle(self.device.queue());
            if self.copies.is_some() {
                let _ = self.device.raw().queue_wait_idle(self.device.upload_queue());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_whose_photo_is_on_its_way_is_told_by_the_photo() {
        let label = |program: &str| {
            Arc::new(Label {
                program: program.to_owned(),
                part: None,
            })
        };
        let mut step = UnderWay {
            value: 7,
            label: label("step"),
            awaited: Some(Awaited {
                value: 3,
                label: label("photo"),
            }),
        };
        assert_eq!(step.waits_for(2).as_deref(), Some("`photo`, which `step` waits for"));
        assert_eq!(step.waits_for(3), None);
        step.awaited = None;
        assert_eq!(step.waits_for(0), None);
    }
}
