//! Memory figures of a run: allocated, reserved, their peaks, and what creeps.

use std::collections::BTreeMap;

use crate::memory::Gpu;
use crate::plan::PlanReport;
use crate::program::{Class, TensorDesc};
use crate::record::events::MemoryRow;
use crate::train::Peaks;
use crate::vk::GpuSample;

/// Tensors of this size and more are counted as large.
const LARGE_BYTES: u64 = 512 << 20;

/// Makes the rows of `memory.jsonl`.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryWatch {
    /// What was reserved at the first row: every byte of a run is taken before it.
    first_reserved: Option<u64>,
}

/// Growth from `before` to `now`, bytes.
fn creep(before: u64, now: u64) -> i64 {
    let difference = i128::from(now) - i128::from(before);
    i64::try_from(difference).unwrap_or(i64::MAX)
}

impl MemoryWatch {
    /// The figures as they are now; the first row also has the capacities.
    pub(super) fn row(
        &mut self,
        it: u32,
        gpu: &Gpu,
        peaks: Peaks,
        plan: &PlanReport,
        sample: Option<GpuSample>,
    ) -> MemoryRow {
        let (memory, device) = (gpu.memory(), gpu.device());
        let tensors = memory.table().tensors();
        let on_device = |t: &&TensorDesc| !matches!(t.class, Class::Upload | Class::Readback);
        let mut tags = BTreeMap::new();
        for tensor in tensors.iter().filter(on_device).filter(|t| t.class != Class::Arena) {
            *tags.entry(tensor.tag.name().to_owned()).or_insert(0) += tensor.bytes;
        }
        tags.insert("arena".to_owned(), memory.plan().arena_bytes());
        let large = tensors.iter().filter(on_device).filter(|t| t.bytes >= LARGE_BYTES);
        let (allocated, reserved) = (memory.allocated_bytes(), device.reserved_bytes());
        let heap = device
            .caps()
            .device_heap()
            .and_then(|(heap, _)| device.heap_budget(heap));
        let is_first = self.first_reserved.is_none();
        let first_reserved = *self.first_reserved.get_or_insert(reserved);
        MemoryRow {
            it,
            allocated,
            reserved,
            vram_creep: creep(first_reserved, reserved),
            peak_allocated: peaks.allocated,
            peak_reserved: peaks.reserved,
            heap_budget: heap.map(|(budget, _)| budget),
            heap_usage: heap.map(|(_, usage)| usage),
            host_heap_usage: device.host_heap_usage(),
            tags,
            large_tensors: u32::try_from(large.count()).unwrap_or(u32::MAX),
            overhead: 1.0 - allocated as f64 / reserved.max(1) as f64,
            gpu: sample,
            capacities: is_first.then(|| plan.capacities.into()),
            capacities_from: is_first.then_some(plan.capacities_from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creep_has_a_sign() {
        assert_eq!([100, 130, 90].map(|now| creep(100, now)), [0, 30, -10]);
    }

    #[test]
    fn peaks_keep_the_larger_of_each() {
        let peaks = |allocated, reserved| Peaks { allocated, reserved };
        assert_eq!(peaks(5, 6).max(peaks(4, 9)), peaks(5, 9));
    }
}
