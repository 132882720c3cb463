//! One driver allocation for each tensor, growth by copying: what most trainers do.

use std::collections::BTreeMap;

use kiln::program::ALIGNMENT;

use super::{Allocator, AllocatorKind, BlockId, Driver, FreeSpace, Handle, Range, Refused, Request};

/// Takes a block for every request and gives it back with it.
pub(crate) struct Naive<D> {
    driver: D,
    next: u32,
    blocks: BTreeMap<Handle, (BlockId, u64)>,
}

impl<D: Driver> Naive<D> {
    /// Over the blocks of `driver`.
    pub(crate) const fn new(driver: D) -> Self {
        Self {
            driver,
            next: 0,
            blocks: BTreeMap::new(),
        }
    }
}

impl<D: Driver> Allocator for Naive<D> {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::Naive
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        let bytes = request.bytes.next_multiple_of(ALIGNMENT);
        let block = self.driver.take(bytes, request.desc.class)?;
        let handle = Handle(self.next);
        self.next = self.next.wrapping_add(1);
        self.blocks.insert(handle, (block, bytes));
        Ok(handle)
    }

    fn free(&mut self, handle: Handle) {
        if let Some((block, _)) = self.blocks.remove(&handle) {
            self.driver.give(block);
        }
    }

    fn range(&self, handle: Handle) -> Option<Range> {
        let (block, bytes) = *self.blocks.get(&handle)?;
        Some(Range {
            block,
            offset: 0,
            bytes,
        })
    }

    fn free_space(&self) -> FreeSpace {
        FreeSpace::default()
    }
}
