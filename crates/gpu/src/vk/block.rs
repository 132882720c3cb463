//! A driver allocation with one buffer over all of it.

use std::sync::Arc;

use ash::vk;

use super::rounding::BLOCK_USAGE;
use super::window::{Lent, Window};
use super::{Device, VkError};

/// What a block's memory must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Device-local; never anything else.
    Device,
    /// Host-visible and coherent, written by the host.
    Upload,
    /// Host-visible and coherent, read by the host; cached where the device offers it.
    Readback,
}

/// Priority of what the host writes and reads: it may leave the device first, if it was there at all.
const HOST_PRIORITY: f32 = 0.25;

/// The handles of a block: they go when neither the block nor a window of it is left.
pub(super) struct Owned {
    device: Arc<Device>,
    kind: BlockKind,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    allocated_bytes: u64,
}

/// One `VkDeviceMemory` and the `VkBuffer` that covers it.
pub struct Block {
    owned: Arc<Owned>,
    pub(super) buffer: vk::Buffer,
    bytes: u64,
    mapped: *mut u8,
    /// Parts that are in the hands of others.
    lent: Arc<Lent>,
}

// SAFETY: the mapped pointer is only reached through `&self`/`&mut self` methods that check bounds, and never where a
// window is; Vulkan handles are plain values.
unsafe impl Send for Block {}
// SAFETY: see above; shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates `bytes` (a multiple of 4) for `what`; where memory is short, other blocks of the device go first.
    ///
    /// # Errors
    /// See [`Block::with_priority`].
    pub fn new(device: &Arc<Device>, kind: BlockKind, bytes: u64, what: &str) -> Result<Self, VkError> {
        Self::with_priority(device, kind, 1.0, bytes, what)
    }

    /// Allocates `bytes` (a multiple of 4) for `what`. Where drivers know of priorities, blocks of a low `priority`, from
    /// 0 to 1, leave the device before those of a high one; rings of the host have a low one of their own.
    ///
    /// # Errors
    /// [`VkError::Unsupported`] when no memory type of the right kind exists: a weaker type is never a second choice.
    /// [`VkError::OutOfMemory`] when the driver refuses.
    pub fn with_priority(
        device: &Arc<Device>,
        kind: BlockKind,
        priority: f32,
        bytes: u64,
        what: &str,
    ) -> Result<Self, VkError> {
        let raw = device.raw();
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .usage(BLOCK_USAGE);
        device.attempt("vkCreateBuffer")?;
        // SAFETY: `info` is valid for the call.
        let buffer = unsafe { raw.create_buffer(&info, None) }.map_err(VkError::call("vkCreateBuffer"))?;
        let mut owned = Owned {
            device: device.clone(),
            kind,
            buffer,
            memory: vk::DeviceMemory::null(),
            allocated_bytes: 0,
        };
        let mut mapped = std::ptr::null_mut();
        // SAFETY: the buffer was just made from this device.
        let needs = unsafe { raw.get_buffer_memory_requirements(buffer) };
        let chosen = device.caps().memory_type(kind, needs.memory_type_bits);
        let type_index = chosen.ok_or_else(|| VkError::Unsupported {
            device: device.caps().name.clone(),
            what: format!("a {kind:?} memory type for `{what}`"),
        })?;
        let mut priority = vk::MemoryPriorityAllocateInfoEXT::default().priority(match kind {
            BlockKind::Device => priority.clamp(0.0, 1.0),
            BlockKind::Upload | BlockKind::Readback => HOST_PRIORITY,
        });
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(type_index);
        if device.caps().memory_priority {
            info = info.push_next(&mut priority);
        }
        let refused = |result| VkError::OutOfMemory {
            what: what.to_owned(),
            bytes: needs.size,
            result,
        };
        device
            .attempt("vkAllocateMemory")
            .map_err(|_| refused(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY))?;
        device.count_allocation();
        // SAFETY: type index and size come from the device's own answers.
        owned.memory = unsafe { raw.allocate_memory(&info, None) }.map_err(refused)?;
        owned.allocated_bytes = needs.size;
        if kind == BlockKind::Device {
            device.take_bytes(needs.size);
        }
        // SAFETY: memory and buffer belong together and the memory is not bound yet.
        unsafe { raw.bind_buffer_memory(buffer, owned.memory, 0) }.map_err(VkError::call("vkBindBufferMemory"))?;
        if kind != BlockKind::Device {
            // SAFETY: the type is host-visible by selection and the memory is not mapped yet.
            mapped = unsafe { raw.map_memory(owned.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }
                .map_err(VkError::call("vkMapMemory"))?
                .cast();
        }
        Ok(Self {
            buffer: owned.buffer,
            owned: Arc::new(owned),
            bytes,
            mapped,
            lent: Arc::default(),
        })
    }

    /// Usable bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes requested from the driver.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.owned.allocated_bytes
    }

    /// The mapped bytes `[offset, offset + len)` for writing; `None` when not mapped, out of range or lent.
    ///
    /// The caller must not touch a range the device may be using; the rings above this layer see to that.
    pub fn mapped_mut(&mut self, offset: u64, len: usize) -> Option<&mut [u8]> {
        let end = offset.checked_add(len as u64)?;
        if self.mapped.is_null() || end > self.bytes || self.lent.overlaps(&(offset..end)) {
            return None;
        }
        // SAFETY: the range lies inside the mapping and no window is there; `&mut self` excludes other host access.
        Some(unsafe { std::slice::from_raw_parts_mut(self.mapped.add(usize::try_from(offset).ok()?), len) })
    }

    /// The mapped bytes `[offset, offset + len)` for reading; `None` when not mapped, out of range or lent.
    #[must_use]
    pub fn mapped(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let end = offset.checked_add(len as u64)?;
        if self.mapped.is_null() || end > self.bytes || self.lent.overlaps(&(offset..end)) {
            return None;
        }
        // SAFETY: the range lies inside the mapping and no window is there, nor can one be made while `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts(self.mapped.add(usize::try_from(offset).ok()?), len) })
    }

    /// Lends the mapped bytes `[offset, offset + len)` to somebody who writes them, on any thread: nobody else reaches them
    /// until the window is dropped. `None` when not mapped, out of range or lent already.
    pub fn lend(&mut self, offset: u64, len: usize) -> Option<Window> {
        let end = offset.checked_add(len as u64)?;
        if self.mapped.is_null() || end > self.bytes {
            return None;
        }
        // SAFETY: the range lies inside the mapping.
        let at = unsafe { self.mapped.add(usize::try_from(offset).ok()?) };
        Window::new(self.owned.clone(), self.lent.clone(), offset..end, at)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: owners wait for the device before dropping blocks; null handles are allowed.
        unsafe {
            self.device.raw().destroy_buffer(self.buffer, None);
            self.device.raw().free_memory(self.memory, None);
        }
        if self.kind == BlockKind::Device {
            self.device.give_bytes(self.allocated_bytes);
        }
    }
}
