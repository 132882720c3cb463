//! Two-level segregated fit over driver blocks, with compaction.

mod index;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{Allocator, AllocatorKind, BlockId, Driver, FreeSpace, Handle, Policy, Range, Refused, Request};
use index::{Index, Node};
use kiln_program::Class;

/// Requests larger than this part of a block have one of their own: a few of them side by side would leave a hole that
/// nothing fills.
const OWN_BLOCK: u64 = 4;

/// An allocator of our own: constant time per request, blocks and compaction by [`Policy`].
pub(crate) struct Tlsf<D> {
    driver: D,
    index: Index,
    policy: Policy,
    /// Bytes of the blocks, and those of them that are handed out.
    blocks: BTreeMap<BlockId, Held>,
    entries: Vec<Option<Node>>,
    vacant: Vec<u32>,
    reserved_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: u64,
    used_bytes: u64,
}

impl<D: Driver> Tlsf<D> {
    /// Over the blocks of `driver`; ranges begin at multiples of `unit_bytes`, which is the largest of what bindings,
    /// buffers and images side by side ask for.
    pub(crate) fn new(driver: D, policy: Policy, unit_bytes: u64) -> Self {
        Self {
            driver,
            index: Index::new(unit_bytes),
            policy,
            blocks: BTreeMap::new(),
            entries: Vec::new(),
            vacant: Vec::new(),
            reserved_bytes: 0,
        }
    }

    /// Bytes of all blocks.
    #[cfg(test)]
    fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Share of the reserved bytes that is not handed out, 0 to 1.
    fn overhead(&self) -> f64 {
        self.index.free_bytes() as f64 / self.reserved_bytes.max(1) as f64
    }

    fn standard_block(&self) -> u64 {
        self.policy.block_bytes.min(self.driver.largest_block())
    }

    fn take_block(&mut self, bytes: u64, class: Class) -> Result<(), Refused> {
        let block = self.driver.take(bytes, class)?;
        self.index.add_block(block, bytes);
        self.blocks.insert(block, Held { bytes, used_bytes: 0 });
        self.reserved_bytes += bytes;
        Ok(())
    }

    /// Makes room for `bytes` with a new block. A request of more than a [`OWN_BLOCK`]th of a block gets one of its own
    /// size; where no whole block is to be had, smaller ones are tried.
    fn grow(&mut self, bytes: u64, class: Class) -> Result<(), Refused> {
        let standard = self.standard_block();
        if bytes <= standard / OWN_BLOCK {
            for size in [standard, standard / 2, standard / 4, standard / 8] {
                let size = size / self.index.round(1) * self.index.round(1);
                if size >= bytes && self.take_block(size, class).is_ok() {
                    return Ok(());
                }
            }
        }
        self.take_block(bytes, class)
    }

    fn enter(&mut self, node: Node) -> Handle {
        let range = self.index.range(node);
        if let Some(held) = self.blocks.get_mut(&range.block) {
            held.used_bytes += range.bytes;
        }
        match self.vacant.pop() {
            Some(at) => {
                if let Some(entry) = self.entries.get_mut(at as usize) {
                    *entry = Some(node);
                }
                Handle(at)
            }
            None => {
                self.entries.push(Some(node));
                Handle(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX))
            }
        }
    }

    fn give_block(&mut self, block: BlockId) {
        if let Some(held) = self.blocks.remove(&block) {
            self.reserved_bytes -= held.bytes;
            self.driver.give(block);
        }
    }

    /// Gives empty blocks back until at most `spares` are left.
    fn give_empty(&mut self, spares: usize) {
        let standard = self.standard_block();
        let empty = self.blocks.iter().filter(|(_, held)| held.used_bytes == 0);
        let mut empty: Vec<(bool, BlockId)> = empty.map(|(block, held)| (held.bytes == standard, *block)).collect();
        // Blocks of odd sizes fit the next request least.
        empty.sort_unstable();
        let surplus = empty.len().saturating_sub(spares);
        for (_, block) in empty.into_iter().take(surplus) {
            self.index.forget(block);
            self.give_block(block);
        }
    }

    /// Moves ranges together until the overhead is within bounds; returns the bytes moved.
    ///
    /// Each round empties the block with the most unused bytes: into holes of the others, and what fits nowhere into a
    /// block of just its size. So the unused bytes shrink with every round.
    fn compact(&mut self) -> u64 {
        let mut moved_bytes = 0;
        self.give_empty(0);
        while self.overhead() > self.policy.overhead {
            let unused = |held: &Held| held.bytes - held.used_bytes;
            let worst = self.blocks.iter().max_by_key(|(_, held)| unused(held));
            let Some(bytes) = worst.map(|(block, _)| *block).and_then(|block| self.empty_block(block)) else {
                break;
            };
            moved_bytes += bytes;
        }
        moved_bytes
    }

    /// Moves everything out of `block` and gives it back; none when the driver has no room for what fits nowhere.
    fn empty_block(&mut self, block: BlockId) -> Option<u64> {
        let closed = self.index.close(block);
        let mut inside: Vec<(usize, Node, u64)> = Vec::new();
        for (at, node) in self.entries.iter().enumerate() {
            if let Some(node) = *node {
                let range = self.index.range(node);
                if range.block == block {
                    inside.push((at, node, range.bytes));
                }
            }
        }
        inside.sort_by_key(|(at, _, bytes)| (std::cmp::Reverse(*bytes), *at));
        let mut moved: Vec<(usize, Node)> = Vec::new();
        let mut rest = Vec::new();
        for (at, _, bytes) in &inside {
            match self.index.allocate(*bytes) {
                Some(node) => moved.push((*at, node)),
                None => rest.push((*at, *bytes)),
            }
        }
        let rest_bytes: u64 = rest.iter().map(|(_, bytes)| bytes).sum();
        if rest_bytes > 0 && self.take_block(rest_bytes, Class::Persistent).is_err() {
            for (_, node) in moved {
                self.index.free(node);
            }
            self.index.reopen(closed);
            return None;
        }
        for (at, bytes) in rest {
            // The new block has just these bytes, and no other block has room for them.
            moved.extend(self.index.allocate(bytes).map(|node| (at, node)));
        }
        for (at, node) in moved {
            let range = self.index.range(node);
            if let Some(held) = self.blocks.get_mut(&range.block) {
                held.used_bytes += range.bytes;
            }
            if let Some(entry) = self.entries.get_mut(at) {
                *entry = Some(node);
            }
        }
        self.index.forget(block);
        self.give_block(block);
        Some(inside.iter().map(|(_, _, bytes)| bytes).sum())
    }
}

impl<D: Driver> Allocator for Tlsf<D> {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::Tlsf
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        let bytes = self.index.round(request.bytes);
        if let Some(node) = self.index.allocate(bytes) {
            return Ok(self.enter(node));
        }
        let limit_bytes = self.driver.largest_block();
        if bytes > limit_bytes {
            return Err(Refused::TooLarge { bytes, limit_bytes });
        }
        if let Err(refused) = self.grow(bytes, request.desc.class) {
            // Once: with everything moved together there may be room, here or at the driver.
            self.compact();
            if self.index.largest_free() < bytes && self.take_block(bytes, request.desc.class).is_err() {
                return Err(refused);
            }
        }
        let node = self
            .index
            .allocate(bytes)
            .ok_or(Refused::TooLarge { bytes, limit_bytes })?;
        Ok(self.enter(node))
    }

    fn free(&mut self, handle: Handle) {
        let Some(node) = self.entries.get_mut(handle.0 as usize).and_then(Option::take) else {
            return;
        };
        self.vacant.push(handle.0);
        let range = self.index.range(node);
        if let Some(held) = self.blocks.get_mut(&range.block) {
            held.used_bytes -= range.bytes;
        }
        let joined = self.index.free(node);
        if self.index.is_whole(joined) {
            self.give_empty(self.policy.spare_blocks);
        }
    }

    fn range(&self, handle: Handle) -> Option<Range> {
        let node = self.entries.get(handle.0 as usize).copied().flatten()?;
        Some(self.index.range(node))
    }

    fn free_space(&self) -> FreeSpace {
        FreeSpace {
            bytes: self.index.free_bytes(),
            largest: self.index.largest_free(),
        }
    }

    fn tend(&mut self, iteration: u32, topology_changed: bool) -> u64 {
        if self.policy.is_due(iteration, topology_changed) && self.overhead() > self.policy.overhead {
            self.compact()
        } else {
            0
        }
    }
}
