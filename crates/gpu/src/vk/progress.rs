//! How far the queue is, as far as the host knows without giving the device work.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

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

/// The timeline of a queue and what was submitted on it; may be asked from any thread.
pub struct Progress {
    device: Arc<Device>,
    pub(super) timeline: vk::Semaphore,
    last: AtomicU64,
    /// Submissions that may not be finished, oldest first: their number on the timeline and what they are.
    under_way: Mutex<VecDeque<(u64, Arc<Label>)>>,
    markers: Option<Arc<Markers>>,
}

impl Progress {
    pub(super) fn new(device: &Arc<Device>, markers: Option<Arc<Markers>>) -> Result<Self, VkError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        device.attempt("vkCreateSemaphore")?;
        // SAFETY: `info` lives through the call.
        let timeline =
            unsafe { device.raw().create_semaphore(&info, None) }.map_err(VkError::call("vkCreateSemaphore"))?;
        Ok(Self {
            device: device.clone(),
            timeline,
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
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone, also where the driver says so by a value beyond all submissions.
    pub(super) fn finished(&self) -> Result<u64, VkError> {
        // SAFETY: plain query.
        let value = unsafe { self.device.raw().get_semaphore_counter_value(self.timeline) }
            .map_err(VkError::call("vkGetSemaphoreCounterValue"))?;
        known(value, self.last.load(Ordering::Acquire))
    }

    /// Number of the next submission.
    pub(super) fn next(&self) -> u64 {
        self.last.load(Ordering::Acquire) + 1
    }

    /// Notes that submission `value` was made.
    pub(super) fn submitted(&self, value: u64, what: &Arc<Label>) {
        let finished = self.finished().unwrap_or(0);
        let mut list = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        while list.front().is_some_and(|(old, _)| *old <= finished) {
            list.pop_front();
        }
        list.push_back((value, what.clone()));
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
        let under_way = list.iter().find(|(value, _)| *value > finished).map(|(_, label)| label);
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

/// A count of finished submissions, when the last that was noted is `last`; the next may be finished before it is noted. Fences of
/// lost devices read all ones on Direct3D 12, and drivers on top of it hand that on.
fn known(value: u64, last: u64) -> Result<u64, VkError> {
    if value > last + 1 {
        let during = "vkGetSemaphoreCounterValue".to_owned();
        return Err(VkError::Lost { during });
    }
    Ok(value)
}

impl Drop for Progress {
    fn drop(&mut self) {
        // SAFETY: waiting first makes the semaphore free to destroy.
        unsafe {
            let _ = self.device.raw().queue_wait_idle(self.device.queue());
            self.device.raw().destroy_semaphore(self.timeline, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_all_submissions_is_a_lost_device() {
        for value in [0, 6, 7, 8] {
            assert!(matches!(known(value, 7), Ok(found) if found == value));
        }
        for value in [9, u64::MAX, u64::from(u32::MAX)] {
            assert!(matches!(known(value, 7), Err(VkError::Lost { .. })), "{value}");
        }
    }
}
