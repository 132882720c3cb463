//! Memory figures of a run: allocated, reserved, their peaks, and what creeps; and what the card says of itself.

use std::collections::BTreeMap;

use super::{Context, Watch};
use crate::record::creep::CreepWatch;
use crate::record::events::{Event, GpuRow, MemoryRow, RunEvent};
use crate::record::sinks::Sinks;
use crate::record::telemetry::Telemetry;
use crate::run::RunError;
use crate::train::{StepStatus, Trainer};
use kiln_gpu::vk::GpuSample;
use kiln_program::{Class, TensorDesc};

/// Tensors of this size and more are counted as large.
const LARGE_BYTES: u64 = 512 << 20;

/// Makes the rows of `memory.jsonl`, and those of the card.
pub(super) struct MemoryRows {
    /// What was reserved at the first row: every byte of a run is taken before it.
    first_reserved: Option<u64>,
    /// Iteration of the last row: a step that is done again is reported once.
    last: Option<u32>,
    /// None where nobody asks, or where the card says nothing.
    telemetry: Option<Telemetry>,
    creep: CreepWatch,
    /// Iterations of the run.
    iterations: u32,
    /// What was found to grow before: each is reported once.
    reported: [bool; 2],
}

/// Growth from `before` to `now`, bytes.
fn creep(before: u64, now: u64) -> i64 {
    let difference = i128::from(now) - i128::from(before);
    i64::try_from(difference).unwrap_or(i64::MAX)
}

impl MemoryRows {
    /// For a run of `iterations` with `views` training views.
    pub(crate) fn new(trainer: &Trainer, sinks: &Sinks, iterations: u32, views: usize) -> Self {
        let caps = trainer.gpu().device().caps();
        Self {
            first_reserved: None,
            last: None,
            telemetry: sinks.want_telemetry().then(|| Telemetry::of(caps)).flatten(),
            creep: CreepWatch::new(u32::try_from(views).unwrap_or(u32::MAX)),
            iterations,
            reported: [false; 2],
        }
    }

    /// What the card says of itself, some seconds old at most.
    fn sample(&self) -> Option<GpuSample> {
        self.telemetry.as_ref().and_then(Telemetry::latest)
    }

    /// The figures as they are now, with so many `places` used; the first row also has the capacities.
    fn row(&mut self, it: u32, places: u32, trainer: &Trainer) -> MemoryRow {
        let (gpu, peaks, plan) = (trainer.gpu(), trainer.peaks(), trainer.report());
        let (memory, device) = (gpu.memory(), gpu.device());
        let tensors = memory.table().tensors();
        let on_device = |t: &&TensorDesc| !matches!(t.class, Class::Upload | Class::Readback);
        let mut tags = BTreeMap::new();
        for tensor in tensors.iter().filter(on_device).filter(|t| t.class != Class::Arena) {
            *tags.entry(tensor.tag.name().to_owned()).or_insert(0) += tensor.bytes;
        }
        let arena = memory.plan().arena_bytes();
        tags.insert("arena".to_owned(), arena);
        let large = tensors.iter().filter(on_device).filter(|t| t.bytes >= LARGE_BYTES);
        let (allocated, reserved) = (memory.allocated_bytes(), device.reserved_bytes());
        let live = allocated.saturating_sub(arena) + plan.arena_live_bytes;
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
            shared_usage: device.shared_usage(),
            process_resident: kiln_system::resident_bytes(),
            places_used: Some(places.into()),
            tags,
            large_tensors: u32::try_from(large.count()).unwrap_or(u32::MAX),
            arena_live: plan.arena_live_bytes,
            overhead: 1.0 - live as f64 / reserved.max(1) as f64,
            gpu: self.sample(),
            arena: if is_first {
                plan.arena_purposes()
                    .map(|(tag, bytes)| (tag.name().to_owned(), bytes))
                    .collect()
            } else {
                BTreeMap::new()
            },
            capacities: is_first.then(|| plan.capacities.into()),
            capacities_from: is_first.then_some(plan.capacities_from),
        }
    }
}

impl Watch for MemoryRows {
    fn step(&mut self, step: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let it = step.iteration;
        if ctx.sinks.gpu_due(it)
            && let Some(sample) = self.sample()
        {
            ctx.rows.push(RunEvent::Gpu(GpuRow { it, sample }));
        }
        if ctx.sinks.memory_due(it) && self.last != Some(it) {
            self.last = Some(it);
            let row = self.row(it, step.counters.gaussians, ctx.trainer);
            self.creep.take(&row);
            for creep in self.creep.found(self.iterations) {
                if let Some(reported) = self.reported.get_mut(creep.owner() as usize)
                    && !std::mem::replace(reported, true)
                {
                    let message = creep.to_string();
                    ctx.tell(it, Event::Warning { message });
                }
            }
            ctx.rows.push(RunEvent::Memory(row));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creep_has_a_sign() {
        assert_eq!([100, 130, 90].map(|now| creep(100, now)), [0, 30, -10]);
    }
}
