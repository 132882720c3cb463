//! The compute queue and its timeline: submit, ask, wait.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::{Device, VkError};

/// Names a submission; later submissions have larger tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The device's compute queue.
pub struct Queue {
    device: Arc<Device>,
    timeline: vk::Semaphore,
    last: u64,
}

impl Queue {
    /// Wraps the device's queue.
    ///
    /// # Errors
    /// [`VkError::Call`] when the timeline semaphore cannot be made.
    pub fn new(device: &Arc<Device>) -> Result<Self, VkError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        device.attempt("vkCreateSemaphore")?;
        // SAFETY: `info` lives through the call.
        let timeline =
            unsafe { device.raw().create_semaphore(&info, None) }.map_err(VkError::call("vkCreateSemaphore"))?;
        Ok(Self {
            device: device.clone(),
            timeline,
            last: 0,
        })
    }

    pub(super) fn submit_raw(&mut self, commands: vk::CommandBuffer, what: &str) -> Result<Ticket, VkError> {
        let value = self.last + 1;
        let values = [value];
        let signals = [self.timeline];
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
            vk::Result::ERROR_DEVICE_LOST => VkError::Lost {
                during: what.to_owned(),
            },
            other => VkError::call("vkQueueSubmit")(other),
        })?;
        self.last = value;
        Ok(Ticket(value))
    }

    /// True when the device has finished `ticket`.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone.
    pub fn is_done(&self, ticket: Ticket) -> Result<bool, VkError> {
        // SAFETY: plain query.
        let value = unsafe { self.device.raw().get_semaphore_counter_value(self.timeline) }
            .map_err(VkError::call("vkGetSemaphoreCounterValue"))?;
        Ok(value >= ticket.0)
    }

    /// Blocks until the device has finished `ticket`.
    ///
    /// # Errors
    /// [`VkError::Lost`], or [`VkError::Timeout`] after ten minutes (a software driver may take minutes a step).
    pub fn wait(&self, ticket: Ticket, what: &str) -> Result<(), VkError> {
        const LIMIT_S: u64 = 600;
        let semaphores = [self.timeline];
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
        })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: waiting first makes the semaphore free to destroy.
        unsafe {
            let _ = self.device.raw().queue_wait_idle(self.device.queue());
            self.device.raw().destroy_semaphore(self.timeline, None);
        }
    }
}
