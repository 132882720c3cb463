//! Sparse buffers: addresses that get memory page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use ash::vk;

use super::{Block, BlockKind, Device, VkError};
use crate::memory::backend::{BlockId, Driver, PageDriver, Refused};
use crate::program::Class;

/// The page driver of a device: blocks of memory, and buffers without.
///
/// Nothing that uses a buffer may be in flight when its pages are bound: callers wait for the queue before.
pub struct DevicePages {
    device: Arc<Device>,
    page_bytes: u64,
    largest_block: u64,
    /// Most bytes of device memory that may be taken, everything of the device included.
    cap_bytes: u64,
    next: u32,
    blocks: BTreeMap<BlockId, Block>,
    spaces: BTreeMap<BlockId, Block>,
}

impl DevicePages {
    /// Pages of `device`, in blocks of at most `largest_block`, while it has less than `cap_bytes` taken.
    ///
    /// # Errors
    /// [`VkError::Unsupported`] when the device has no sparse binding.
    pub fn new(device: &Arc<Device>, largest_block: u64, cap_bytes: u64) -> Result<Self, VkError> {
        if !device.caps().sparse {
            return Err(VkError::Unsupported {
                device: device.caps().name.clone(),
                what: "sparse binding of buffers on its compute queue".to_owned(),
            });
        }
        let probe = Block::without_memory(device, 1 << 20)?;
        Ok(Self {
            device: device.clone(),
            page_bytes: probe.page_bytes(),
            largest_block,
            cap_bytes,
            next: 0,
            blocks: BTreeMap::new(),
            spaces: BTreeMap::new(),
        })
    }

    /// The buffer of an address range.
    #[must_use]
    pub fn space(&self, space: BlockId) -> Option<&Block> {
        self.spaces.get(&space)
    }

    fn name(&mut self) -> BlockId {
        self.next += 1;
        BlockId(self.next)
    }

    fn refused(&self, bytes: u64) -> Refused {
        Refused::Heap {
            bytes,
            free_bytes: self.cap_bytes.saturating_sub(self.device.reserved_bytes()),
            heap_bytes: self.cap_bytes,
        }
    }
}

impl Driver for DevicePages {
    fn take(&mut self, bytes: u64, _: Class) -> Result<BlockId, Refused> {
        if self.device.reserved_bytes() + bytes > self.cap_bytes {
            return Err(self.refused(bytes));
        }
        let block = Block::new(&self.device, BlockKind::Device, bytes, "pages").map_err(|_| self.refused(bytes))?;
        let id = self.name();
        self.blocks.insert(id, block);
        Ok(id)
    }

    fn give(&mut self, block: BlockId) {
        self.blocks.remove(&block);
    }

    fn largest_block(&self) -> u64 {
        self.largest_block
    }
}

impl PageDriver for DevicePages {
    fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn reserve(&mut self, bytes: u64) -> Result<BlockId, Refused> {
        let block = Block::without_memory(&self.device, bytes).map_err(|_| self.refused(bytes))?;
        let id = self.name();
        self.spaces.insert(id, block);
        Ok(id)
    }

    fn release(&mut self, space: BlockId) {
        self.spaces.remove(&space);
    }

    fn bind(&mut self, space: BlockId, binds: &[(u64, Option<(BlockId, u64)>)]) -> Result<(), Refused> {
        let refused = self.refused(binds.len() as u64 * self.page_bytes);
        let buffer = self.spaces.get(&space).ok_or(refused)?;
        let page = self.page_bytes;
        let mut list: Vec<vk::SparseMemoryBind> = Vec::with_capacity(binds.len());
        for (at, memory) in binds {
            let mut bind = vk::SparseMemoryBind::default().resource_offset(at * page).size(page);
            if let Some((block, index)) = memory {
                let block = self.blocks.get(block).ok_or(refused)?;
                bind = bind.memory(block.memory()).memory_offset(index * page);
            }
            list.push(bind);
        }
        buffer.bind_pages(&list).map_err(|_| refused)
    }
}
