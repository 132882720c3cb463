//! The compute queue and its timeline: submit, ask, wait.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::progress::Label;
use super::{Device, Markers, Progress, VkError};

/// Names a submission; later submissions have larger tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The device's compute queue.
pub struct Queue {
    device: Arc<Device>,
    progress: Arc<Progress>,
}

impl Queue {
    /// Wraps the device's queue, with a marker word when the device is set to [mark passes](Device::mark_passes).
    ///
    /// # Errors
    /// [`VkError::Call`] when the timeline semaphore cannot be made.
    pub fn new(device: &Arc<Device>) -> Result<Self, VkError> {
        let markers = device.marks_passes().then(|| Markers::new(device)).transpose()?;
        Ok(Self {
            device: device.clone(),
            progress: Arc::new(Progress::new(device, markers)?),
        })
    }

    /// How far the queue is.
    #[must_use]
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    pub(super) fn submit_raw(&mut self, commands: vk::CommandBuffer, what: &Arc<Label>) -> Result<Ticket, VkError> {
        let lost = || VkError::Lost {
            during: what.to_string(),
        };
        if self.device.is_lost() {
            return Err(lost());
        }
        let value = self.progress.next();
        let values = [value];
        let signals = [self.progress.timeline];
        let buffers = [commands];
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let submits = [vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .signal_semaphores(&signals)
            .push_next(&mut timeline)];
        // SAFETY: the command buffer is recorded and not in flight (its owner waited for its last ticket).
        unsafe {
            self.device
                .raw()
                .queue_submit(self.device.queue(), &submits, vk::Fence::null())
        }
        .map_err(|result| match result {
            vk::Result::ERROR_DEVICE_LOST => lost(),
            other => VkError::call("vkQueueSubmit")(other),
        })?;
        self.progress.submitted(value, what);
        Ok(Ticket(value))
    }

    /// True when the device has finished `ticket`.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone.
    pub fn is_done(&self, ticket: Ticket) -> Result<bool, VkError> {
        self.device.check("vkGetSemaphoreCounterValue")?;
        Ok(self.progress.finished()? >= ticket.0)
    }

    /// Blocks until the device has finished `ticket`.
    ///
    /// # Errors
    /// [`VkError::Lost`], or [`VkError::Timeout`] after ten minutes (a software driver may take minutes a step).
    pub fn wait(&self, ticket: Ticket, what: &str) -> Result<(), VkError> {
        const LIMIT_S: u64 = 600;
        self.device.check(what)?;
        let semaphores = [self.progress.timeline];
        let values = [ticket.0];
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let limit = u64::try_from(Duration::from_secs(LIMIT_S).as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: `info` lives through the call.
        unsafe { self.device.raw().wait_semaphores(&info, limit) }.map_err(|result| match result {
            vk::Result::TIMEOUT => VkError::Timeout(what.to_owned(), LIMIT_S),
            vk::Result::ERROR_DEVICE_LOST => VkError::Lost {
                during: what.to_owned(),
            },
            other => VkError::call("vkWaitSemaphores")(other),
        })?;
        self.progress.finished().map(drop)
    }
}
