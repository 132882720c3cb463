//! The residency probe: reads a sample of every block and compares its speed with that of a small block in use.
//!
//! Drivers move memory of a process to the host without a word. What they cannot hide is how fast it is read: a bus
//! carries 6 to 60 GB/s, video memory 100 to 5000. The probe reads 4 MiB of every block, spread over it, and 4 MiB of a
//! reference in the block of counters and tables that every step uses, and takes the time of each on the device. A block
//! at less than a quarter of the reference's speed is spilled. Before that a stretch of the largest block is read, which
//! is judged too, so that neither reference nor samples come out of a cache by chance.
//!
//! Nothing waits for it: it follows a step as one more submission and its times are read some steps later. What looks
//! like a spill is measured again, [`AGAIN`] times, and believed when the best of all times is as slow.

use std::collections::BTreeSet;

use super::TrainError;
use crate::plan::{ProbeTensors, REFERENCE_BYTES, SWEEP_BYTES};
use crate::record::{MemoryPlace, SpillEvidence, Verdict};
use kiln_gpu::memory::{Gpu, MIB, MemoryError};
use kiln_gpu::vk::{CompiledProgram, RecordOptions, Ticket};
use kiln_kernels::probe::{self, Sample};
use kiln_program::{Program, Span};

/// Measurements that make a verdict at the start, and that confirm a suspicion.
const AGAIN: u32 = 4;
/// A block this many times slower than the reference is spilled, and a reference this many times slower than its best is
/// none.
const FACTOR: f64 = 4.0;

/// What one command of the probe reads.
struct Part {
    /// Name of the block; none for the reference.
    block: Option<String>,
    bytes: u64,
}

/// The compiled probe of a run.
pub(crate) struct Probe {
    program: CompiledProgram,
    parts: Vec<Part>,
    flight: Option<Ticket>,
}

impl Probe {
    /// Compiles the probe for the blocks of `gpu`.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub(crate) fn new(gpu: &Gpu, tensors: &ProbeTensors) -> Result<Self, MemoryError> {
        let (program, parts) = program(gpu, tensors);
        let options = RecordOptions {
            slots: 1,
            timestamps: true,
            ..RecordOptions::default()
        };
        Ok(Self {
            program: gpu.compile(&program, options)?,
            parts,
            flight: None,
        })
    }

    /// Submits a measurement, unless one is under way.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub(crate) fn submit(&mut self, gpu: &mut Gpu) -> Result<(), TrainError> {
        if self.flight.is_none() {
            self.flight = Some(gpu.submit(&self.program, 0)?);
        }
        Ok(())
    }

    /// The rates of a measurement that has arrived since the last call.
    ///
    /// # Errors
    /// [`TrainError::Vulkan`] when the device is lost.
    pub(crate) fn take(&mut self, gpu: &Gpu) -> Result<Option<Rates>, TrainError> {
        match self.flight {
            Some(ticket) if gpu.queue().is_done(ticket)? => {
                self.flight = None;
                self.rates().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Measures [`AGAIN`] times, waiting, and gives the best rate of each part.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub(crate) fn measure(&mut self, gpu: &mut Gpu) -> Result<Rates, TrainError> {
        let mut best: Option<Rates> = None;
        for _ in 0..AGAIN {
            let ticket = gpu.submit(&self.program, 0)?;
            gpu.queue().wait(ticket, "the residency probe")?;
            let rates = self.rates()?;
            best = Some(match best {
                Some(best) => best.better_of(rates),
                None => rates,
            });
        }
        self.flight = None;
        Ok(best.unwrap_or_default())
    }

    fn rates(&self) -> Result<Rates, TrainError> {
        let mut rates = Rates::default();
        for (part, time) in self.parts.iter().zip(self.program.times(0)?) {
            // Bytes a nanosecond are GB/s.
            let gb_s = part.bytes as f64 / time.ns.max(1.0);
            match &part.block {
                Some(block) => rates.blocks.push((block.clone(), gb_s)),
                None => rates.reference_gb_s = gb_s,
            }
        }
        Ok(rates)
    }
}

/// Passes over the largest block, the reference, and a sample of every part of a block that can be bound at once.
fn program(gpu: &Gpu, tensors: &ProbeTensors) -> (Program, Vec<Part>) {
    let limit = (gpu.device().caps().max_binding_bytes / MIB * MIB).max(REFERENCE_BYTES);
    let mut windows = Vec::new();
    for (index, block) in gpu.memory().plan().blocks.iter().enumerate() {
        let Some(view) = gpu.memory().block_view(index).filter(|_| block.class.is_on_device()) else {
            continue;
        };
        let name = format!("block {index} ({})", block.class.name());
        let mut at = 0;
        while view.bytes - at >= REFERENCE_BYTES {
            let bytes = (view.bytes - at).min(limit);
            windows.push((name.clone(), view.slice(at, bytes)));
            at += bytes;
        }
    }
    let mut program = Program::new("probe");
    let mut parts = Vec::new();
    let mut read = |block: Option<String>, view: Span, wanted: u64| {
        let sample = Sample::of(view.bytes, wanted);
        probe::record(&mut program, view, tensors.sums, sample);
        parts.push(Part {
            block,
            bytes: sample.bytes(),
        });
    };
    if let Some((name, view)) = windows.iter().max_by_key(|(_, view)| view.bytes) {
        read(Some(name.clone()), *view, SWEEP_BYTES);
    }
    read(None, tensors.reference, REFERENCE_BYTES);
    for (name, view) in windows {
        read(Some(name), view, REFERENCE_BYTES);
    }
    (program, parts)
}

/// How fast the reference and the blocks are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    /// The reference, GB/s.
    pub(crate) reference_gb_s: f64,
    /// Blocks by name, GB/s; large ones in several parts.
    pub(crate) blocks: Vec<(String, f64)>,
}

impl Rates {
    /// What the fault `spill_from` pretends to have measured.
    pub(crate) fn spilled_example() -> Self {
        Self {
            reference_gb_s: 400.0,
            blocks: vec![("block 0 (persistent)".to_owned(), 12.0)],
        }
    }

    /// The faster of two measurements of the same parts: whatever else the device did can only have slowed them.
    fn better_of(mut self, other: Self) -> Self {
        self.reference_gb_s = self.reference_gb_s.max(other.reference_gb_s);
        for ((_, mine), (_, theirs)) in self.blocks.iter_mut().zip(other.blocks) {
            *mine = mine.max(theirs);
        }
        self
    }

    fn slowest(&self) -> Option<&(String, f64)> {
        self.blocks.iter().min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Evidence of a spill, by these rates alone.
    pub(crate) fn evidence(&self) -> Option<SpillEvidence> {
        let (block, gb_s) = self.slowest()?;
        (gb_s * FACTOR < self.reference_gb_s).then(|| SpillEvidence::Probe {
            block: block.clone(),
            gb_s: *gb_s,
            reference_gb_s: self.reference_gb_s,
        })
    }

    /// The verdict; `best_reference` is the best rate that the reference ever had, GB/s.
    pub(crate) fn residency(&self, best_reference: f64) -> MemoryPlace {
        let slowest = self.slowest();
        let names: BTreeSet<&str> = self.blocks.iter().map(|(name, _)| name.as_str()).collect();
        let mut residency = MemoryPlace {
            verdict: Verdict::Resident,
            reason: None,
            reference_gb_s: Some(self.reference_gb_s),
            slowest_gb_s: slowest.map(|(_, gb_s)| *gb_s),
            slowest: slowest.map(|(name, _)| name.clone()),
            blocks: u32::try_from(names.len()).unwrap_or(u32::MAX),
        };
        if self.evidence().is_some() {
            residency.verdict = Verdict::Spilled;
        } else if self.reference_gb_s * FACTOR < best_reference {
            // Everything is slow: it may all have gone, or the device may be resting or shared.
            residency.verdict = Verdict::Unknown;
            residency.reason = Some(format!("the reference was read at {best_reference:.1} GB/s before"));
        } else if slowest.is_none() {
            residency.verdict = Verdict::Unknown;
            residency.reason = Some("every block is too small to measure".to_owned());
        }
        residency
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn rates(reference_gb_s: f64, blocks: &[f64]) -> Rates {
        let named = blocks.iter().enumerate().map(|(i, gb_s)| (format!("block {i}"), *gb_s));
        Rates {
            reference_gb_s,
            blocks: named.collect(),
        }
    }

    fn verdict(rates: &Rates) -> Verdict {
        rates.residency(rates.reference_gb_s).verdict
    }

    #[test]
    fn bandwidths_make_the_verdict() {
        // Cards from slow to fast, and what hangs behind PCIe 3 to 5.
        for card in [112.0, 272.0, 448.0, 1008.0, 3350.0, 4800.0] {
            assert_eq!(
                verdict(&rates(card, &[card, 0.9 * card, 0.4 * card])),
                Verdict::Resident
            );
            // The reference came out of a cache.
            assert_eq!(verdict(&rates(3.0 * card, &[card, card])), Verdict::Resident);
            for bus in [6.0, 12.0, 25.0] {
                let spilled = rates(card, &[card, bus, card]);
                assert_eq!(verdict(&spilled), Verdict::Spilled, "{card} {bus}");
                let evidence = SpillEvidence::Probe {
                    block: "block 1".to_owned(),
                    gb_s: bus,
                    reference_gb_s: card,
                };
                assert_eq!(spilled.evidence(), Some(evidence));
            }
        }
    }

    #[test]
    fn nothing_to_compare_with_is_unknown() {
        assert_eq!(verdict(&rates(400.0, &[])), Verdict::Unknown);
        // All of it at once: a card at rest looks the same as one that lost everything.
        let slow = rates(20.0, &[20.0, 20.0]);
        let residency = slow.residency(400.0);
        assert_eq!(residency.verdict, Verdict::Unknown);
        assert_eq!(residency.reason.unwrap(), "the reference was read at 400.0 GB/s before");
    }

    #[test]
    fn the_best_of_several_measurements_counts() {
        // A block was slow once, because somebody else had the card.
        let first = rates(400.0, &[390.0, 30.0]);
        assert!(first.evidence().is_some());
        let best = first.better_of(rates(380.0, &[100.0, 385.0]));
        assert_eq!(best, rates(400.0, &[390.0, 385.0]));
        assert_eq!(verdict(&best), Verdict::Resident);
    }
}
