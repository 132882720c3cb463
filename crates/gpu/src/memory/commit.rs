//! A plan, allocated.

use std::sync::Arc;

use super::{MemoryError, Plan, PlannedBlock, Slot};
use crate::vk::{Block, BlockKind, Device, Place, Resolver, Window};
use kiln_program::{Class, Span, TensorId, TensorTable};

/// Every block of a run. Nothing can be added after [`Memory::commit`].
pub struct Memory {
    table: TensorTable,
    plan: Plan,
    /// In the order of the plan's.
    blocks: Vec<Block>,
    allocated_bytes: u64,
}

impl Memory {
    /// Allocates all blocks of `plan`, which places the tensors of `table`.
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
        let blocks = (0..)
            .zip(&plan.blocks)
            .map(|(index, block)| take_block(device, index, block))
            .collect::<Result<_, _>>()?;
        // Arena tensors share bytes; together they have what the arena has.
        let own = |class| matches!(class, Class::Persistent | Class::Images | Class::Small);
        let tensors = table.tensors().iter().filter(|t| own(t.class)).map(|t| t.bytes);
        let allocated_bytes = tensors.sum::<u64>() + plan.arena_bytes();
        Ok(Self {
            table,
            plan,
            blocks,
            allocated_bytes,
        })
    }

    /// Bytes that tensors have on the device; the arena, whose tensors share bytes, counts once.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
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

    /// All bytes of block `index` of the plan, whatever lies in it: for work on memory itself. None beyond the last one.
    #[must_use]
    pub fn block_view(&self, index: usize) -> Option<Span> {
        // Names behind the last tensor are those of blocks.
        self.blocks.get(index).map(|block| Span {
            tensor: TensorId::at(self.plan.slots.len() + index),
            offset: 0,
            bytes: block.bytes(),
        })
    }

    /// Host bytes of an upload tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host_mut(&mut self, view: &Span) -> Result<&mut [u8], MemoryError> {
        let place = self.checked(view)?;
        let error = out_of_range(&self.table, view);
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let block = self.blocks.get_mut(place.block);
        block.and_then(|block| block.mapped_mut(place.offset, len)).ok_or(error)
    }

    /// Lends host bytes of an upload tensor's view to a thread that writes them; until the window is dropped, nobody else
    /// reaches them.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped, outside its tensor or lent already.
    pub fn lend(&mut self, view: &Span) -> Result<Window, MemoryError> {
        let place = self.checked(view)?;
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let block = self.blocks.get_mut(place.block);
        let window = block.and_then(|block| block.lend(place.offset, len));
        window.ok_or_else(|| out_of_range(&self.table, view))
    }

    /// Host bytes of a readback tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host(&self, view: &Span) -> Result<&[u8], MemoryError> {
        let place = self.checked(view)?;
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let block = self.blocks.get(place.block);
        let bytes = block.and_then(|block| block.mapped(place.offset, len));
        bytes.ok_or_else(|| out_of_range(&self.table, view))
    }

    fn checked(&self, view: &Span) -> Result<Place, MemoryError> {
        match self.table.get(view.tensor) {
            Some(t) if view.offset.checked_add(view.bytes).is_some_and(|end| end <= t.bytes) => Ok(self.place(view)),
            _ => Err(out_of_range(&self.table, view)),
        }
    }
}

impl Resolver for Memory {
    fn name(&self, view: &Span) -> String {
        let tensor = self.table.get(view.tensor).map(|t| t.name.clone());
        tensor.unwrap_or_else(|| format!("block {}", view.tensor.index().saturating_sub(self.plan.slots.len())))
    }

    fn place(&self, view: &Span) -> Place {
        let slots = &self.plan.slots;
        let whole = || Slot {
            block: view.tensor.index().saturating_sub(slots.len()),
            offset: 0,
        };
        let slot = slots.get(view.tensor.index()).copied().unwrap_or_else(whole);
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

fn take_block(device: &Arc<Device>, index: usize, block: &PlannedBlock) -> Result<Block, MemoryError> {
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
    Ok(made)
}

fn out_of_range(table: &TensorTable, view: &Span) -> MemoryError {
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
