//! A driver without a device: a heap of a given size that counts requests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::{BlockId, Driver, Refused};
use kiln_gpu::memory::BlockRounding;
use kiln_program::Class;

/// What a driver was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DriverStats {
    /// Calls that took or gave back.
    pub(crate) calls: u64,
    /// Bytes in blocks now.
    pub(crate) reserved_bytes: u64,
    /// Most bytes that were ever in blocks.
    pub(crate) peak_reserved_bytes: u64,
    /// Blocks that were refused.
    pub(crate) refused: u64,
}

#[derive(Debug)]
struct Heap {
    heap_bytes: u64,
    rounding: BlockRounding,
    largest_block: u64,
    next: u32,
    blocks: BTreeMap<BlockId, (u64, Class)>,
    stats: DriverStats,
}

/// A simulated heap; clones are the same heap.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDriver(Rc<RefCell<Heap>>);

impl SimulatedDriver {
    /// A heap of `heap_bytes` whose blocks have at most `largest_block` bytes and are rounded up like `rounding` says.
    pub(crate) fn new(heap_bytes: u64, largest_block: u64, rounding: BlockRounding) -> Self {
        Self(Rc::new(RefCell::new(Heap {
            heap_bytes,
            rounding,
            largest_block,
            next: 0,
            blocks: BTreeMap::new(),
            stats: DriverStats::default(),
        })))
    }

    /// What it was asked for so far.
    pub(crate) fn stats(&self) -> DriverStats {
        self.0.borrow().stats
    }

    /// Bytes of the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.0.borrow().heap_bytes
    }
}

/// What tests look at.
#[cfg(test)]
impl SimulatedDriver {
    /// The blocks that are taken, with bytes and class, by number.
    pub(crate) fn blocks(&self) -> Vec<(BlockId, u64, Class)> {
        let heap = self.0.borrow();
        heap.blocks
            .iter()
            .map(|(id, (bytes, class))| (*id, *bytes, *class))
            .collect()
    }
}

impl Heap {
    fn name(&mut self) -> BlockId {
        self.next += 1;
        BlockId(self.next)
    }
}

impl Driver for SimulatedDriver {
    fn take(&mut self, bytes: u64, class: Class) -> Result<BlockId, Refused> {
        let mut heap = self.0.borrow_mut();
        heap.stats.calls += 1;
        let request = heap.rounding.request(bytes);
        let free_bytes = heap.heap_bytes.saturating_sub(heap.stats.reserved_bytes);
        if request > free_bytes || bytes > heap.largest_block {
            heap.stats.refused += 1;
            return Err(Refused::Heap {
                bytes: request,
                free_bytes,
                heap_bytes: heap.heap_bytes,
            });
        }
        heap.stats.reserved_bytes += request;
        heap.stats.peak_reserved_bytes = heap.stats.peak_reserved_bytes.max(heap.stats.reserved_bytes);
        let id = heap.name();
        heap.blocks.insert(id, (bytes, class));
        Ok(id)
    }

    fn give(&mut self, block: BlockId) {
        let mut heap = self.0.borrow_mut();
        heap.stats.calls += 1;
        if let Some((bytes, _)) = heap.blocks.remove(&block) {
            heap.stats.reserved_bytes -= heap.rounding.request(bytes);
        }
    }

    fn largest_block(&self) -> u64 {
        self.0.borrow().largest_block
    }
}
