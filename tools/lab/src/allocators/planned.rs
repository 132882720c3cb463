//! The engine's plan as an allocator: everything is taken at once, and tensors lie where the plan has them.

use super::{Allocator, AllocatorKind, BlockId, Driver, FreeSpace, Handle, Range, Refused, Request};
use kiln_gpu::memory::Plan;
use kiln_program::{Class, TensorTable};

/// A plan whose device-local blocks are taken.
pub(crate) struct Planned {
    ranges: Vec<Option<Range>>,
    free: FreeSpace,
}

impl Planned {
    /// Takes every device-local block of `plan`.
    ///
    /// # Errors
    /// [`Refused`] when the driver has no room for one; those before it are given back.
    pub(crate) fn commit(driver: &mut impl Driver, table: &TensorTable, plan: &Plan) -> Result<Self, Refused> {
        let on_device = |class| !matches!(class, Class::Upload | Class::Readback);
        let mut taken: Vec<Option<BlockId>> = Vec::with_capacity(plan.blocks.len());
        for block in &plan.blocks {
            if !on_device(block.class) {
                taken.push(None);
                continue;
            }
            match driver.take(block.bytes, block.class) {
                Ok(id) => taken.push(Some(id)),
                Err(refused) => {
                    taken.into_iter().flatten().for_each(|id| driver.give(id));
                    return Err(refused);
                }
            }
        }
        let ranges: Vec<_> = table
            .tensors()
            .iter()
            .zip(&plan.slots)
            .map(|(tensor, slot)| {
                let block = taken.get(slot.block).copied().flatten()?;
                (on_device(tensor.class)).then_some(Range {
                    block,
                    offset: slot.offset,
                    bytes: tensor.bytes,
                })
            })
            .collect();
        let reserved: u64 = plan
            .blocks
            .iter()
            .filter(|b| on_device(b.class))
            .map(|b| b.request_bytes)
            .sum();
        let own = table
            .tensors()
            .iter()
            .filter(|t| t.class != Class::Arena && on_device(t.class));
        let used = plan.arena_live_bytes + own.map(|t| t.bytes).sum::<u64>();
        Ok(Self {
            ranges,
            // What is left between the tensors of a plan is rounding; no piece of it is of use.
            free: FreeSpace {
                bytes: reserved.saturating_sub(used),
                largest: reserved.saturating_sub(used),
            },
        })
    }
}

impl Allocator for Planned {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::Planned
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        let limit_bytes = match self.ranges.get(request.tensor) {
            Some(Some(range)) => range.bytes,
            _ => 0,
        };
        let handle = u32::try_from(request.tensor)
            .ok()
            .filter(|_| request.bytes <= limit_bytes);
        handle.map(Handle).ok_or(Refused::TooLarge {
            bytes: request.bytes,
            limit_bytes,
        })
    }

    fn free(&mut self, _handle: Handle) {}

    fn range(&self, handle: Handle) -> Option<Range> {
        self.ranges.get(handle.0 as usize).copied().flatten()
    }

    fn resize(&mut self, handle: Handle, request: &Request<'_>) -> Result<super::Resized, Refused> {
        self.allocate(request)?;
        Ok(super::Resized {
            handle,
            copied_bytes: 0,
        })
    }

    fn free_space(&self) -> FreeSpace {
        self.free
    }
}
