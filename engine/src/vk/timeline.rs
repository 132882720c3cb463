//! A timeline semaphore.

use std::sync::Arc;

use ash::vk;

use super::{Device, VkError};

/// A counter that a queue raises as it finishes submissions. Its owner waits for the queue before it goes.
pub(super) struct Timeline {
    device: Arc<Device>,
    pub(super) raw: vk::Semaphore,
}

impl Timeline {
    /// A timeline at 0.
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, VkError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        device.attempt("vkCreateSemaphore")?;
        // SAFETY: `info` lives through the call.
        let raw = unsafe { device.raw().create_semaphore(&info, None) }.map_err(VkError::call("vkCreateSemaphore"))?;
        Ok(Self {
            device: device.clone(),
            raw,
        })
    }

    /// Where it is.
    pub(super) fn value(&self) -> Result<u64, VkError> {
        // SAFETY: plain query.
        unsafe { self.device.raw().get_semaphore_counter_value(self.raw) }
            .map_err(VkError::call("vkGetSemaphoreCounterValue"))
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: the owner has waited for the queues that raise it or wait for it.
        unsafe { self.device.raw().destroy_semaphore(self.raw, None) };
    }
}
