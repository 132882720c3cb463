//! Copies from the host's rings to the device that run beside the steps, on a queue of their own.
//!
//! A copy is a submission of its own, recorded once for each ring slot. What orders it with the steps are the timelines of
//! the two queues: it waits until the steps that read its place before are done, and the step that reads it waits until it
//! is there. A wait on a timeline covers memory too, so these two waits are all the barriers between the queues, for reads
//! after writes, writes after reads and writes after writes alike; recordings of either queue know nothing of the other, and
//! [`super::hazards`] looks at one recording at a time.
//!
//! Buffers that both queues touch belong to both families (`VK_SHARING_MODE_CONCURRENT`). The other way, handing a buffer
//! over, takes a barrier on either queue for each photo and each way, whose ranges must agree; and a handed-over range that
//! is only written next need not be handed over at all, which no recording could know. What sharing may cost is compression
//! and caches that only one engine understands; buffers have no such layouts, and what is shared are the blocks of photos
//! and rings alone, never those of the model.

use std::sync::Arc;

use ash::vk;

use super::progress::Label;
use super::{Device, Resolver, VkError};
use crate::memory::View;

/// By which queue photos come to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UploadPath {
    /// That of the steps, as a part of each.
    #[default]
    WithSteps,
    /// One of this family, which only copies.
    Own(u32),
    /// That of the steps, but in submissions of their own as if it were another: for tests where there is only one.
    Alias,
}

impl UploadPath {
    /// True where copies are submissions of their own.
    #[must_use]
    pub fn is_apart(self) -> bool {
        self != Self::WithSteps
    }
}

/// Copies that are recorded for the queue that photos come by.
pub struct UploadCopies {
    device: Arc<Device>,
    pool: vk::CommandPool,
    buffers: Vec<vk::CommandBuffer>,
    label: Arc<Label>,
}

impl UploadCopies {
    /// Records one command buffer for each of `copies`, from the first view to the second, which are of equal length.
    ///
    /// # Errors
    /// [`VkError`] when the driver refuses a recording.
    pub fn new(
        device: &Arc<Device>,
        memory: &dyn Resolver,
        name: &str,
        copies: &[(View, View)],
    ) -> Result<Self, VkError> {
        let raw = device.raw();
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.upload_family());
        device.attempt("vkCreateCommandPool")?;
        // SAFETY: `info` lives through the call.
        let pool = unsafe { raw.create_command_pool(&info, None) }.map_err(VkError::call("vkCreateCommandPool"))?;
        let mut made = Self {
            device: device.clone(),
            pool,
            buffers: Vec::new(),
            label: Arc::new(Label {
                program: name.to_owned(),
                part: None,
            }),
        };
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(u32::try_from(copies.len()).unwrap_or(u32::MAX));
        device.attempt("vkAllocateCommandBuffers")?;
        // SAFETY: `info` lives through the call.
        made.buffers =
            unsafe { raw.allocate_command_buffers(&info) }.map_err(VkError::call("vkAllocateCommandBuffers"))?;
        for (buffer, (from, to)) in made.buffers.iter().zip(copies) {
            made.record(*buffer, memory, from, to)?;
        }
        Ok(made)
    }

    fn record(&self, cmd: vk::CommandBuffer, memory: &dyn Resolver, from: &View, to: &View) -> Result<(), VkError> {
        let raw = self.device.raw();
        let (source, target) = (memory.place(from), memory.place(to));
        let region = [vk::BufferCopy {
            src_offset: source.offset,
            dst_offset: target.offset,
            size: source.bytes.min(target.bytes),
        }];
        self.device.count_recording();
        // No barriers: what the host wrote is there when the copy is submitted, and the rest is up to the timelines.
        // SAFETY: the command buffer is freshly allocated, and blocks and ranges come from the plan that memory was made of.
        unsafe {
            raw.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())
                .map_err(VkError::call("vkBeginCommandBuffer"))?;
            let (source, target) = (memory.block(source.block).buffer, memory.block(target.block).buffer);
            raw.cmd_copy_buffer(cmd, source, target, &region);
            raw.end_command_buffer(cmd).map_err(VkError::call("vkEndCommandBuffer"))
        }
    }

    /// The command buffer of copy `index`, and what it is called.
    pub(super) fn get(&self, index: u32) -> Result<(vk::CommandBuffer, &Arc<Label>), VkError> {
        let buffer = self.buffers.get(index as usize);
        let buffer = buffer.ok_or_else(|| VkError::Unsupported {
            device: self.device.caps().name.clone(),
            what: format!("slot {index} of `{}`", self.label.program),
        })?;
        Ok((*buffer, &self.label))
    }
}

impl Drop for UploadCopies {
    fn drop(&mut self) {
        // SAFETY: waiting first makes the recordings free to destroy, with the pool they are of.
        unsafe {
            let raw = self.device.raw();
            let _ = raw.queue_wait_idle(self.device.upload_queue());
            raw.destroy_command_pool(self.pool, None);
        }
    }
}
