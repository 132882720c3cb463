//! Which memory a block is made of, from what a device says of its heaps and types.
//!
//! What a block must have is never given up: without a type that has it there is an error, not a weaker type. Beyond
//! that a device block avoids types the host can map where there is a plain one, because drivers place large mappable
//! blocks outside video memory, and takes the largest heap, which is the one that budgets speak of.

use super::{BlockKind, Caps, DeviceKind, MemoryType};

impl Caps {
    /// The memory type for a block of `kind` among those with a bit in `allowed`; none when no type is fit for it.
    #[must_use]
    pub fn memory_type(&self, kind: BlockKind, allowed: u32) -> Option<u32> {
        let mut best: Option<((u8, u64), u32)> = None;
        for (index, candidate) in (0u32..32).zip(&self.types) {
            if allowed & (1 << index) == 0 || candidate.special {
                continue;
            }
            // Of equally good types the first: drivers list the better ones earlier.
            if let Some(score) = self.score(kind, candidate)
                && best.is_none_or(|(top, _)| score > top)
            {
                best = Some((score, index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// How good a type is for a kind of block; none when it lacks what the kind must have.
    fn score(&self, kind: BlockKind, t: &MemoryType) -> Option<(u8, u64)> {
        let mapped = t.host_visible && t.host_coherent;
        let heap = self.heaps.get(t.heap as usize).map_or(0, |heap| heap.bytes);
        match kind {
            BlockKind::Device => t.device_local.then_some((u8::from(!t.host_visible), heap)),
            BlockKind::Upload => mapped.then_some((2 * u8::from(!t.device_local) + u8::from(!t.host_cached), 0)),
            BlockKind::Readback => mapped.then_some((2 * u8::from(t.host_cached) + u8::from(!t.device_local), 0)),
        }
    }

    /// Index and size in bytes of the heap that device blocks come from: the largest that a device-local type reaches.
    #[must_use]
    pub fn device_heap(&self) -> Option<(u32, u64)> {
        self.types
            .iter()
            .filter(|t| t.device_local && !t.special)
            .filter_map(|t| self.heaps.get(t.heap as usize).map(|heap| (t.heap, heap.bytes)))
            .max_by_key(|(index, bytes)| (*bytes, std::cmp::Reverse(*index)))
    }

    /// True when the device has no memory of its own: a block cannot be moved out of it, and how fast it is read says
    /// nothing of where it is.
    #[must_use]
    pub fn shares_host_memory(&self) -> bool {
        matches!(self.kind, DeviceKind::Cpu | DeviceKind::Integrated) || self.heaps.iter().all(|heap| heap.device_local)
    }
}
