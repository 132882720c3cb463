//! Bands around tensors that nobody may write, for finding passes that do.
//!
//! With `debug.guard_bands` every tensor has bytes of its own, those of the arena too, and at least [`BAND_BYTES`] on each
//! side that belong to no tensor. They are filled with a pattern when memory is committed and looked at between steps: a
//! word that changed was written by a pass that left its tensor. Drivers and the validation layer do not see that, because
//! the band lies in the same buffer.

use super::plan::by_size;
use super::{ALIGNMENT, Class, Memory, MemoryError, Plan, PlanLimits, PlannedBlock, Program, Slot, TensorTable, View};

/// Least bytes between a tensor and its neighbour, and at both ends of a block.
pub const BAND_BYTES: u64 = ALIGNMENT;

/// No index, no count, no float that kernels make: as a float it is -4.1e11.
const PATTERN: u32 = 0xd2be_a57e;

/// Lays the tensors of `plan` apart, class by class in the order of their sizes.
///
/// # Errors
/// [`MemoryError::TooLarge`] when a tensor with its bands exceeds a block.
pub(super) fn guarded(table: &TensorTable, mut plan: Plan, limits: PlanLimits) -> Result<Plan, MemoryError> {
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
            let (Some(tensor), Some(slot)) = (table.tensors().get(index), plan.slots.get_mut(index)) else {
                continue;
            };
            // Its own bytes, the rest of its last unit, and the band behind it; the one before it is its neighbour's.
            let bytes = (tensor.bytes + BAND_BYTES).next_multiple_of(ALIGNMENT);
            if BAND_BYTES + bytes > largest {
                return Err(MemoryError::TooLarge {
                    tensor: tensor.name.clone(),
                    bytes: BAND_BYTES + bytes,
                    limit: "block",
                    limit_bytes: largest,
                });
            }
            let last = blocks.len();
            let room = blocks.get(last.saturating_sub(1)).filter(|_| last > first);
            if room.is_none_or(|block| block.bytes + bytes > largest) {
                blocks.push(PlannedBlock {
                    class,
                    bytes: BAND_BYTES,
                    request_bytes: 0,
                    paged: false,
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
    plan.arena_bytes = blocks.iter().filter(|b| b.class == Class::Arena).map(|b| b.bytes).sum();
    plan.blocks = blocks;
    Ok(plan)
}

/// Bytes between two tensors, or between one and the end of its block.
#[derive(Clone, Debug)]
struct Band {
    view: View,
    before: Option<String>,
    after: Option<String>,
}

/// All bytes of a run's memory that belong to no tensor.
#[derive(Clone, Debug, Default)]
pub struct GuardBands {
    bands: Vec<Band>,
}

impl GuardBands {
    /// The gaps of `memory`; those of a plan without guard bands are what rounding left.
    #[must_use]
    pub fn of(memory: &Memory) -> Self {
        let (table, plan) = (memory.table(), memory.plan());
        let mut bands = Vec::new();
        for index in 0..plan.blocks.len() {
            let Some(whole) = memory.block_view(index) else {
                continue;
            };
            let placed = table.tensors().iter().zip(&plan.slots);
            let mut inside: Vec<(u64, u64, &str)> = placed
                .filter(|(_, slot)| slot.block == index)
                .map(|(tensor, slot)| (slot.offset, slot.offset + tensor.bytes, tensor.name.as_str()))
                .collect();
            inside.sort_unstable();
            let (mut at, mut before) = (0, None);
            for (start, end, name) in inside {
                if start > at {
                    bands.push(Band {
                        view: whole.slice(at, start - at),
                        before: before.clone(),
                        after: Some(name.to_owned()),
                    });
                }
                if end > at {
                    (at, before) = (end, Some(name.to_owned()));
                }
            }
            if whole.bytes > at {
                bands.push(Band {
                    view: whole.slice(at, whole.bytes - at),
                    before,
                    after: None,
                });
            }
        }
        Self { bands }
    }

    /// Number of bands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bands.len()
    }

    /// True when nothing is guarded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bands.is_empty()
    }

    /// Writes the pattern.
    pub(super) fn fill(&self) -> Program {
        let mut program = Program::new("guard_bands");
        for band in &self.bands {
            program.fill(band.view, PATTERN);
        }
        program
    }

    /// Programs that bring all bands to `window`, each with the bands it brings, in order and without gaps.
    pub(super) fn fetch(&self, window: View) -> Vec<(Program, Fetched<'_>)> {
        let mut parts: Vec<(Program, Fetched<'_>)> = Vec::new();
        let mut at = window.bytes;
        for band in &self.bands {
            let mut from = 0;
            while from < band.view.bytes {
                if at == window.bytes {
                    parts.push((Program::new("guard_bands"), Fetched(Vec::new())));
                    at = 0;
                }
                let bytes = (band.view.bytes - from).min(window.bytes - at);
                if let Some((program, Fetched(list))) = parts.last_mut() {
                    program.copy(band.view.slice(from, bytes), window.slice(at, bytes));
                    list.push((band, from, bytes));
                }
                (at, from) = (at + bytes, from + bytes);
            }
        }
        parts
    }
}

/// Pieces of bands in a transfer window: which, from which byte of it, and how many.
pub(super) struct Fetched<'a>(Vec<(&'a Band, u64, u64)>);

impl Fetched<'_> {
    /// Looks at the bytes that were brought.
    ///
    /// # Errors
    /// [`MemoryError::Overrun`] for the first band with a word that is not the pattern.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<(), MemoryError> {
        let mut rest = bytes;
        for (band, from, length) in &self.0 {
            let length = usize::try_from(*length).unwrap_or(usize::MAX).min(rest.len());
            let (piece, behind) = rest.split_at(length);
            rest = behind;
            let words = piece.chunks_exact(4).map(bytemuck::pod_read_unaligned::<u32>);
            let mut spoilt = words.enumerate().filter(|(_, word)| *word != PATTERN);
            let Some((first, found)) = spoilt.next() else { continue };
            let at = from + 4 * first as u64;
            let to_end = band.view.bytes - at - 4;
            let name = |name: &Option<String>| name.clone().unwrap_or_default();
            // What lies nearer was left by a pass that ran too far over its end, or began too early.
            let (tensor, side, distance) = match (&band.before, &band.after) {
                (None, after) => (name(after), "before", to_end),
                (_, Some(after)) if to_end < at => (after.clone(), "before", to_end),
                (before, _) => (name(before), "behind", at),
            };
            return Err(MemoryError::Overrun {
                tensor,
                side,
                distance,
                found,
                count: 1 + spoilt.count(),
            });
        }
        Ok(())
    }
}
