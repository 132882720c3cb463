//! Memory figures of a run: allocated, reserved, their peaks, and what creeps.

use std::collections::BTreeMap;

use crate::memory::Gpu;
use crate::memory::backend::BackendKind;
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
    creep: Creep,
    said_capacities: bool,
}

/// Growth of a figure since it was first seen after the last change that explains growth.
#[derive(Clone, Copy, Debug, Default)]
struct Creep {
    baseline: Option<u64>,
}

impl Creep {
    fn of(&mut self, allocated: u64) -> i64 {
        let baseline = *self.baseline.get_or_insert(allocated);
        let difference = i128::from(allocated) - i128::from(baseline);
        i64::try_from(difference).unwrap_or(i64::MAX)
    }
}

impl MemoryWatch {
    /// Says that the number of Gaussians changed by plan: the next row gives the new baseline of creep.
    pub(super) fn topology_changed(&mut self) {
        self.creep.baseline = None;
    }

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
        let said = std::mem::replace(&mut self.said_capacities, true);
        MemoryRow {
            it,
            allocated,
            reserved,
            // Some allocators grow by plan, before the densification that they make room for is told.
            vram_creep: match memory.backend().kind {
                BackendKind::Naive | BackendKind::Sparse => 0,
                _ => self.creep.of(allocated),
            },
            peak_allocated: peaks.allocated,
            peak_reserved: peaks.reserved,
            heap_budget: heap.map(|(budget, _)| budget),
            heap_usage: heap.map(|(_, usage)| usage),
            host_heap_usage: device.host_heap_usage(),
            tags,
            large_tensors: u32::try_from(large.count()).unwrap_or(u32::MAX),
            overhead: 1.0 - allocated as f64 / reserved.max(1) as f64,
            gpu: sample,
            capacities: (!said).then(|| plan.capacities.into()),
            capacities_from: (!said).then_some(plan.capacities_from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creep_counts_from_the_first_row_after_a_change() {
        let mut watch = MemoryWatch::default();
        assert_eq!([100, 100, 130, 90].map(|now| watch.creep.of(now)), [0, 0, 30, -10]);
        watch.topology_changed();
        assert_eq!([500, 521].map(|now| watch.creep.of(now)), [0, 21]);
    }

    #[test]
    fn peaks_keep_the_larger_of_each() {
        let peaks = |allocated, reserved| Peaks { allocated, reserved };
        assert_eq!(peaks(5, 6).max(peaks(4, 9)), peaks(5, 9));
    }
}
