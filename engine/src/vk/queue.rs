//! The compute queue and its timeline: submit, ask, wait; and the queue that photos come by.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::progress::{Awaited, Label};
use super::{Device, Markers, Progress, UploadCopies, VkError};

/// Names a submission; later submissions have larger tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The device's compute queue, with what comes to it by another.
pub struct Queue {
    device: Arc<Device>,
    progress: Arc<Progress>,
    /// Copies submitted.
    copies: u64,
    /// What the next submission waits for.
    awaited: Option<Awaited>,
}

impl Queue {
    /// Wraps the device's queue, with a marker word when the device is told to [mark passes](Device::mark_passes).
    ///
    /// # Errors
    /// [`VkError::Call`] when the timeline semaphore cannot be made.
    pub fn new(device: &Arc<Device>) -> Result<Self, VkError> {
        let markers = device.marks_passes().then(|| Markers::new(device)).transpose()?;
        Ok(Self {
            device: device.clone(),
            progress: Arc::new(Progress::new(device, markers)?),
            copies: 0,
            awaited: None,
        })
    }

    /// How far the queue is.
    #[must_use]
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// The last submission; before the first, one that is done.
    #[must_use]
    pub fn last(&self) -> Ticket {
        Ticket(self.progress.last())
    }

    /// Submits copy `index` of `copies` to the queue that photos come by. It begins when `after` is done, and whatever is
    /// submitted from now on computes when it is done.
    ///
    /// `after` is a submission that was made already, so that there is always something to wait for, also where both queues
    /// are one and work in the order of submission.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone, [`VkError::Unsupported`] where photos come with the steps.
    pub fn submit_copy(&mut self, copies: &UploadCopies, index: u32, after: Ticket) -> Result<(), VkError> {
        let (buffer, label) = copies.get(index)?;
        let Some(timeline) = &self.progress.copies else {
            return Err(VkError::Unsupported {
                device: self.device.caps().name.clone(),
                what: format!("{label} beside the steps"),
            });
        };
        let value = self.copies + 1;
        let wait = Some((self.progress.timeline.raw, after.0, vk::PipelineStageFlags::TRANSFER));
        self.submit_to(self.device.upload_queue(), buffer, label, wait, (timeline.raw, value))?;
        self.copies = value;
        self.awaited = Some(Awaited {
            value,
            label: label.clone(),
        });
        Ok(())
    }

    pub(super) fn submit_raw(&mut self, commands: vk::CommandBuffer, what: &Arc<Label>) -> Result<Ticket, VkError> {
        let value = self.progress.last() + 1;
        let copies = self.progress.copies.as_ref();
        // Photos are read by shaders only. A wait holds for what is submitted later too, so one is enough.
        let wait = self.awaited.as_ref().zip(copies);
        let wait = wait.map(|(copy, timeline)| (timeline.raw, copy.value, vk::PipelineStageFlags::COMPUTE_SHADER));
        let signal = (self.progress.timeline.raw, value);
        self.submit_to(self.device.queue(), commands, what, wait, signal)?;
        self.progress.submitted(value, what, self.awaited.take());
        Ok(Ticket(value))
    }

    /// Submits `commands`, which wait at some stages for a timeline to reach a value, and raise one to another.
    fn submit_to(
        &self,
        queue: vk::Queue,
        commands: vk::CommandBuffer,
        what: &Arc<Label>,
        wait: Option<(vk::Semaphore, u64, vk::PipelineStageFlags)>,
        signal: (vk::Semaphore, u64),
    ) -> Result<(), VkError> {
        let lost = || VkError::Lost {
            during: what.to_string(),
        };
        if self.device.is_lost() {
            return Err(lost());
        }
        let (wait_on, wait_value, wait_stages) = (wait.map(|w| w.0), wait.map(|w| w.1), wait.map(|w| w.2));
        let (signals, values) = ([signal.0], [signal.1]);
        let buffers = [commands];
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(wait_value.as_slice())
            .signal_semaphore_values(&values);
        let submits = [vk::SubmitInfo::default()
            .wait_semaphores(wait_on.as_slice())
            .wait_dst_stage_mask(wait_stages.as_slice())
            .command_buffers(&buffers)
            .signal_semaphores(&signals)
            .push_next(&mut timeline)];
        // SAFETY: the command buffer is recorded and not in flight (its owner waited for its last ticket), and is of the
        // queue's family.
        unsafe { self.device.raw().queue_submit(queue, &submits, vk::Fence::null()) }.map_err(|result| match result {
            vk::Result::ERROR_DEVICE_LOST => lost(),
            other => VkError::call("vkQueueSubmit")(other),
        })
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
        let semaphores = [self.progress.timeline.raw];
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
