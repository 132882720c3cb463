//! How tensors lie in their blocks: packed for training, spread where an overrun is looked for.

use super::plan::by_size;
use super::{BAND_BYTES, MemoryError, Plan, PlanLimits, PlannedBlock, Slot};
use kiln_program::{ALIGNMENT, Class, Program, TensorTable};

/// How tensors lie in their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Side by side; arena tensors whose lifetimes do not meet share bytes.
    #[default]
    Packed,
    /// Every tensor has bytes of its own, with a band around it that no pass may write; see
    /// [`GuardBands`](super::GuardBands).
    Guarded,
    /// Every tensor has a block of its own, so that the validation layer, which knows buffers and not tensors, sees
    /// accesses beyond one.
    Apart,
}

impl Plan {
    /// [`Plan::new`] with another layout. It needs more bytes than a packed plan, and the passes compute the same.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] when a tensor, with its bands, exceeds a block or a binding.
    pub fn with_layout(
        table: &TensorTable,
        programs: &[&Program],
        limits: PlanLimits,
        layout: Layout,
    ) -> Result<Self, MemoryError> {
        let plan = Self::new(table, programs, limits)?;
        match layout {
            Layout::Packed => Ok(plan),
            Layout::Guarded => plan.spread(table, limits, BAND_BYTES, limits.largest_block()),
            Layout::Apart => plan.spread(table, limits, 0, 0),
        }
    }

    /// Lays the tensors apart, class by class in the order of their sizes, with at least `band_bytes` before and behind
    /// each. A block that has reached `full_bytes`, or would go beyond them, takes no further tensor.
    fn spread(
        mut self,
        table: &TensorTable,
        limits: PlanLimits,
        band_bytes: u64,
        full_bytes: u64,
    ) -> Result<Self, MemoryError> {
        let largest = limits.largest_block();
        let mut blocks: Vec<PlannedBlock> = Vec::new();
        for class in [
            Class::Persistent,
            Class::Images,
            Class::Small,
            Class::Arena,
            Class::Upload,
            Class::Readback,
        ] {
            let first = blocks.len();
            for index in by_size(table, class) {
                let (Some(tensor), Some(slot)) = (table.tensors().get(index), self.slots.get_mut(index)) else {
                    continue;
                };
                // Its own bytes, the rest of its last unit, and the band behind it; the one before it is its neighbour's.
                let bytes = (tensor.bytes + band_bytes).next_multiple_of(ALIGNMENT);
                if band_bytes + bytes > largest {
                    return Err(MemoryError::TooLarge {
                        tensor: tensor.name.clone(),
                        tag: tensor.tag,
                        bytes: band_bytes + bytes,
                        limit: "block",
                        limit_bytes: largest,
                    });
                }
                let last = blocks.len();
                let room = blocks.get(last.saturating_sub(1)).filter(|_| last > first);
                if room.is_none_or(|block| block.bytes + bytes > full_bytes) {
                    blocks.push(PlannedBlock {
                        class,
                        bytes: band_bytes,
                        request_bytes: 0,
                    });
                }
                let block = blocks.len() - 1;
                if let Some(planned) = blocks.last_mut() {
                    *slot = Slot {
                        block,
                        offset: planned.bytes,
                    };
                    planned.bytes += bytes;
                }
            }
        }
        for block in &mut blocks {
            block.request_bytes = limits.rounding.request(block.bytes);
        }
        self.blocks = blocks;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::vk::BlockRounding;
    use kiln_program::Tag;

    const LIMITS: PlanLimits = PlanLimits {
        block_bytes: 1 << 12,
        binding_bytes: 1 << 12,
        rounding: BlockRounding::NONE,
    };

    /// Block, first byte and last byte of each tensor, and the bytes of the blocks.
    fn laid_out(layout: Layout) -> (Vec<(usize, u64, u64)>, Vec<u64>) {
        let mut table = TensorTable::default();
        let a = table.add("a", Class::Arena, Tag::Other, 1000);
        let b = table.add("b", Class::Arena, Tag::Other, 1000);
        table.add("c", Class::Persistent, Tag::Other, 512);
        table.add("d", Class::Persistent, Tag::Other, 256);
        let mut program = Program::new("p");
        program.fill(a, 0);
        program.fill(b, 0);
        let plan = Plan::with_layout(&table, &[&program], LIMITS, layout).unwrap();
        let places = std::iter::zip(&plan.slots, table.tensors());
        let places = places.map(|(slot, tensor)| (slot.block, slot.offset, slot.offset + tensor.bytes));
        (places.collect(), plan.blocks.iter().map(|block| block.bytes).collect())
    }

    #[test]
    fn packed_tensors_share_and_touch() {
        let (places, blocks) = laid_out(Layout::Packed);
        assert_eq!(places, [(1, 0, 1008), (1, 0, 1008), (0, 0, 512), (0, 512, 768)]);
        assert_eq!(blocks, [768, 1024]);
    }

    #[test]
    fn guarded_tensors_have_a_band_on_each_side() {
        let (places, blocks) = laid_out(Layout::Guarded);
        assert_eq!(
            places,
            [(1, 256, 1264), (1, 1536, 2544), (0, 256, 768), (0, 1024, 1280)]
        );
        assert_eq!(blocks, [1536, 2816]);
    }

    #[test]
    fn tensors_apart_share_no_block() {
        let (places, blocks) = laid_out(Layout::Apart);
        assert_eq!(places, [(2, 0, 1008), (3, 0, 1008), (0, 0, 512), (1, 0, 256)]);
        assert_eq!(blocks, [512, 256, 1024, 1024]);
    }
}
