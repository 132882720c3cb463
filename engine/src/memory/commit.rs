//! A plan, allocated.

use std::sync::Arc;

use super::{Class, MemoryError, Plan, Slot, TensorId, TensorTable, View};
use crate::vk::{Block, BlockKind, Device, Place, Resolver};

/// Every block of a run. Nothing can be added after [`Memory::commit`].
pub struct Memory {
    table: TensorTable,
    plan: Plan,
    blocks: Vec<Block>,
    /// Bytes of the tensors that have a place on the device.
    allocated_bytes: u64,
    peak_allocated_bytes: u64,
}

impl Memory {
    /// Allocates all blocks of `plan`.
    ///
    /// # Errors
    /// [`MemoryError::OverBudget`] above `cap_bytes`, naming the largest tensors; [`MemoryError::Vulkan`] when the
    /// driver refuses a block (everything taken so far is freed); [`MemoryError::NotAsPlanned`] when a block takes other
    /// bytes than the plan says.
    pub fn commit(device: &Arc<Device>, table: TensorTable, plan: Plan, cap_bytes: u64) -> Result<Self, MemoryError> {
        let needed_bytes = plan.device_bytes();
        if needed_bytes > cap_bytes {
            return Err(MemoryError::OverBudget {
                needed_bytes,
                cap_bytes,
                largest: largest(&table),
            });
        }
        let mut blocks = Vec::with_capacity(plan.blocks.len());
        for (index, block) in plan.blocks.iter().enumerate() {
            let kind = match block.class {
                Class::Upload => BlockKind::Upload,
                Class::Readback => BlockKind::Readback,
                _ => BlockKind::Device,
            };
            let name = format!("block {index} ({:?})", block.class);
            let made = Block::with_priority(device, kind, block.class.priority(), block.bytes, &name)?;
            if made.allocated_bytes() != block.request_bytes {
                return Err(MemoryError::NotAsPlanned {
                    block: name,
                    planned_bytes: block.request_bytes,
                    requested_bytes: made.allocated_bytes(),
                });
            }
            blocks.push(made);
        }
        let mut memory = Self {
            table,
            plan,
            blocks,
            allocated_bytes: 0,
            peak_allocated_bytes: 0,
        };
        let own = |class| matches!(class, Class::Persistent | Class::Images | Class::Small);
        let tensors = memory.table.tensors().iter().filter(|t| own(t.class)).map(|t| t.bytes);
        // Arena tensors share bytes; together they have what the arena has.
        let allocated = tensors.sum::<u64>() + memory.plan.arena_bytes();
        memory.take(allocated);
        Ok(memory)
    }

    /// Counts bytes that tensors take.
    fn take(&mut self, bytes: u64) {
        self.allocated_bytes += bytes;
        self.peak_allocated_bytes = self.peak_allocated_bytes.max(self.allocated_bytes);
    }

    /// Bytes that tensors have on the device now; the arena, whose tensors share bytes, counts once.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
    }

    /// Most that [`Memory::allocated_bytes`] ever was, kept where tensors get their bytes.
    #[must_use]
    pub fn peak_allocated_bytes(&self) -> u64 {
        self.peak_allocated_bytes
    }

    /// Bytes the driver was asked for in device-local blocks.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.plan
            .blocks
            .iter()
            .zip(&self.blocks)
            .filter(|(p, _)| !matches!(p.class, Class::Upload | Class::Readback))
            .map(|(_, b)| b.allocated_bytes())
            .sum()
    }

    /// The tensors.
    #[must_use]
    pub fn table(&self) -> &TensorTable {
        &self.table
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All bytes of block `index` of the plan, whatever lies in it: for work on memory itself.
    #[must_use]
    pub fn block_view(&self, index: usize) -> Option<View> {
        let block = self.blocks.get(index)?;
        // Names behind the last tensor are those of blocks.
        Some(View {
            tensor: TensorId(self.plan.slots.len() + index),
            offset: 0,
            bytes: block.bytes(),
        })
    }

    /// Host bytes of an upload tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host_mut(&mut self, view: &View) -> Result<&mut [u8], MemoryError> {
        let place = self.checked(view)?;
        let error = out_of_range(&self.table, view);
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        self.blocks
            .get_mut(place.block)
            .and_then(|b| b.mapped_mut(place.offset, len))
            .ok_or(error)
    }

    /// Host bytes of a readback tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host(&self, view: &View) -> Result<&[u8], MemoryError> {
        let place = self.checked(view)?;
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        self.blocks
            .get(place.block)
            .and_then(|b| b.mapped(place.offset, len))
            .ok_or_else(|| out_of_range(&self.table, view))
    }

    fn checked(&self, view: &View) -> Result<Place, MemoryError> {
        match self.table.get(view.tensor) {
            Some(t) if view.offset.checked_add(view.bytes).is_some_and(|end| end <= t.bytes) => Ok(self.place(view)),
            _ => Err(out_of_range(&self.table, view)),
        }
    }
}

impl Resolver for Memory {
    fn place(&self, view: &View) -> Place {
        let slots = &self.plan.slots;
        let whole = || Slot {
            block: view.tensor.0.saturating_sub(slots.len()),
            offset: 0,
        };
        let slot = slots.get(view.tensor.0).copied().unwrap_or_else(whole);
        Place {
            block: slot.block,
            offset: slot.offset + view.offset,
            bytes: view.bytes,
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "block indices come from the same plan that made the blocks"
    )]
    fn block(&self, index: usize) -> &Block {
        &self.blocks[index]
    }
}

fn out_of_range(table: &TensorTable, view: &View) -> MemoryError {
    MemoryError::OutOfRange {
        tensor: table
            .get(view.tensor)
            .map_or_else(|| "?".to_owned(), |t| t.name.clone()),
        offset: view.offset,
        bytes: view.bytes,
    }
}

fn largest(table: &TensorTable) -> String {
    let mut list: Vec<_> = table.tensors().iter().collect();
    list.sort_by_key(|t| (std::cmp::Reverse(t.bytes), t.name.clone()));
    list.iter()
        .take(5)
        .map(|t| format!("{} {} MiB", t.name, t.bytes >> 20))
        .collect::<Vec<_>>()
        .join(", ")
}
