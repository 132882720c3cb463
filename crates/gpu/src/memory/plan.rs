//! Where every tensor lies, decided before a device is touched.
//!
//! Classes other than the arena are packed largest first into blocks. Arena tensors live from the first to the last
//! command that touches them in any program; each goes, largest first, to the lowest offset where no tensor with an
//! overlapping lifetime lies. Such a plan needs exactly the peak of live bytes on the step's lifetimes or very near it,
//! and nothing at run time.

use std::collections::BTreeMap;

use serde::Serialize;

use super::MemoryError;
use crate::vk::BlockRounding;
use kiln_program::{ALIGNMENT, Class, Command, Program, Tag, TensorTable};

/// Limits the plan must respect.
#[derive(Clone, Copy, Debug)]
pub struct PlanLimits {
    /// Largest allocation, bytes.
    pub block_bytes: u64,
    /// Most bytes of a tensor that a pass can bind.
    pub binding_bytes: u64,
    /// What the driver asks for beyond a block's bytes; counts towards `block_bytes`.
    pub rounding: BlockRounding,
}

impl PlanLimits {
    /// Bytes of the largest block.
    #[must_use]
    pub fn largest_block(&self) -> u64 {
        self.rounding.largest_block(self.block_bytes)
    }

    /// Bytes of the largest tensor that fits a block and can be bound.
    #[must_use]
    pub fn largest_tensor(&self) -> u64 {
        self.largest_block().min(self.binding_bytes)
    }
}

/// Place of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// Block index in [`Plan::blocks`].
    pub block: usize,
    /// Byte offset in the block.
    pub offset: u64,
}

/// One block to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedBlock {
    /// Class of everything in it.
    pub class: Class,
    /// Usable size in bytes.
    pub bytes: u64,
    /// Bytes requested from the driver.
    pub request_bytes: u64,
}

/// The worst moment of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArenaPeak {
    /// Name of the program.
    pub program: String,
    /// Name of the first command at which most arena bytes are live.
    pub command: &'static str,
    /// Those bytes.
    pub bytes: u64,
    /// The same by purpose.
    pub by_tag: BTreeMap<Tag, u64>,
}

/// Placement of every tensor.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Blocks to allocate, in order.
    pub blocks: Vec<PlannedBlock>,
    /// One slot per tensor, in table order.
    pub slots: Vec<Slot>,
    /// First and last command per program for arena tensors (`None` elsewhere).
    pub lifetimes: Vec<Vec<Option<(usize, usize)>>>,
    /// The worst moment of every program, in the order of the programs.
    pub arena_peaks: Vec<ArenaPeak>,
    /// Largest sum of simultaneously live arena bytes: no placement can need less.
    pub arena_live_bytes: u64,
}

impl Plan {
    /// Places every tensor of `table` for `programs`.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] when a tensor exceeds a block, or what a pass binds of it a binding.
    pub fn new(table: &TensorTable, programs: &[&Program], limits: PlanLimits) -> Result<Self, MemoryError> {
        let block_bytes = limits.largest_block();
        for (tensor, bound_bytes) in table.tensors().iter().zip(bound(table, programs)) {
            let host = matches!(tensor.class, Class::Upload | Class::Readback);
            let checks = [
                ("block", block_bytes, tensor.bytes),
                (
                    "storage-buffer binding",
                    limits.binding_bytes,
                    if host { 0 } else { bound_bytes },
                ),
            ];
            for (limit, limit_bytes, bytes) in checks {
                if bytes > limit_bytes {
                    return Err(MemoryError::TooLarge {
                        tensor: tensor.name.clone(),
                        tag: tensor.tag,
                        bytes,
                        limit,
                        limit_bytes,
                    });
                }
            }
        }
        let lifetimes = lifetimes(table, programs);
        let mut slots = vec![Slot { block: 0, offset: 0 }; table.tensors().len()];
        let mut blocks = Vec::new();
        for class in [
            Class::Persistent,
            Class::Images,
            Class::Small,
            Class::Upload,
            Class::Readback,
        ] {
            pack(table, class, block_bytes, &mut blocks, &mut slots);
        }
        place_arena(table, &lifetimes, block_bytes, &mut blocks, &mut slots);
        for block in &mut blocks {
            block.request_bytes = limits.rounding.request(block.bytes);
        }
        let arena_peaks: Vec<ArenaPeak> = (0..)
            .zip(programs)
            .map(|(index, program)| peak(table, &lifetimes, index, program))
            .collect();
        Ok(Self {
            arena_live_bytes: arena_peaks.iter().map(|peak| peak.bytes).max().unwrap_or(0),
            arena_peaks,
            blocks,
            slots,
            lifetimes,
        })
    }

    /// Bytes requested from the driver in device-local blocks.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.blocks
            .iter()
            .filter(|b| !matches!(b.class, Class::Upload | Class::Readback))
            .map(|b| b.request_bytes)
            .sum()
    }

    /// Bytes requested from the driver in blocks of one class.
    #[must_use]
    pub fn class_bytes(&self, class: Class) -> u64 {
        self.blocks
            .iter()
            .filter(|b| b.class == class)
            .map(|b| b.request_bytes)
            .sum()
    }

    /// Bytes of the arena that tensors may lie in.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        let arena = self.blocks.iter().filter(|b| b.class == Class::Arena);
        arena.map(|b| b.bytes).sum()
    }

    /// Bytes of host-visible rings.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.class_bytes(Class::Upload) + self.class_bytes(Class::Readback)
    }
}

/// Most bytes of each tensor that a pass binds at once; all of one that none of `programs` binds.
fn bound(table: &TensorTable, programs: &[&Program]) -> Vec<u64> {
    let mut most = vec![None; table.tensors().len()];
    for command in programs.iter().flat_map(|program| &program.commands) {
        let Command::Dispatch(pass) = command else { continue };
        for view in &pass.views {
            if let Some(bytes) = most.get_mut(view.tensor.index()) {
                *bytes = (*bytes).max(Some(view.bytes));
            }
        }
    }
    let all = table.tensors().iter().map(|tensor| tensor.bytes);
    most.into_iter()
        .zip(all)
        .map(|(most, all)| most.unwrap_or(all))
        .collect()
}

fn lifetimes(table: &TensorTable, programs: &[&Program]) -> Vec<Vec<Option<(usize, usize)>>> {
    let mut lives = vec![vec![None; programs.len()]; table.tensors().len()];
    for (p, program) in programs.iter().enumerate() {
        for (index, command) in program.commands.iter().enumerate() {
            for view in command.views() {
                if table.get(view.tensor).is_some_and(|t| t.class == Class::Arena)
                    && let Some(life) = lives.get_mut(view.tensor.index()).and_then(|l| l.get_mut(p))
                {
                    *life = Some(life.map_or((index, index), |(first, _): (usize, usize)| (first, index)));
                }
            }
        }
    }
    lives
}

fn overlaps(a: &[Option<(usize, usize)>], b: &[Option<(usize, usize)>]) -> bool {
    a.iter().zip(b).any(|pair| match pair {
        (Some((a0, a1)), Some((b0, b1))) => a0 <= b1 && b0 <= a1,
        _ => false,
    })
}

/// Tensors of a class, largest first.
pub(super) fn by_size(table: &TensorTable, class: Class) -> Vec<usize> {
    let mut order: Vec<usize> = table
        .tensors()
        .iter()
        .enumerate()
        .filter(|(_, t)| t.class == class)
        .map(|(i, _)| i)
        .collect();
    let bytes = |i: &usize| table.tensors().get(*i).map_or(0, |t| t.bytes);
    order.sort_by_key(|i| (std::cmp::Reverse(bytes(i)), *i));
    order
}

fn pack(table: &TensorTable, class: Class, block_bytes: u64, blocks: &mut Vec<PlannedBlock>, slots: &mut [Slot]) {
    let first = blocks.len();
    for index in by_size(table, class) {
        let bytes = table
            .tensors()
            .get(index)
            .map_or(0, |t| t.bytes)
            .next_multiple_of(ALIGNMENT);
        let found = blocks
            .iter()
            .enumerate()
            .skip(first)
            .find(|(_, b)| b.bytes + bytes <= block_bytes)
            .map(|(i, _)| i);
        let block = found.unwrap_or_else(|| {
            blocks.push(PlannedBlock {
                class,
                bytes: 0,
                request_bytes: 0,
            });
            blocks.len() - 1
        });
        if let (Some(b), Some(slot)) = (blocks.get_mut(block), slots.get_mut(index)) {
            *slot = Slot { block, offset: b.bytes };
            b.bytes += bytes;
        }
    }
}

fn place_arena(
    table: &TensorTable,
    lifetimes: &[Vec<Option<(usize, usize)>>],
    block_bytes: u64,
    blocks: &mut Vec<PlannedBlock>,
    slots: &mut [Slot],
) {
    // Offsets are found in one address line cut into blocks: a tensor may not straddle a cut, and fits between two.
    let arena = table.tensors().iter().filter(|t| t.class == Class::Arena);
    let longest = arena.map(|t| t.bytes.next_multiple_of(ALIGNMENT)).max().unwrap_or(0);
    let block_bytes = block_bytes.max(longest);
    let mut placed: Vec<(usize, u64, u64)> = Vec::new();
    let mut extents: BTreeMap<u64, u64> = BTreeMap::new();
    let first = blocks.len();
    for index in by_size(table, Class::Arena) {
        let Some(life) = lifetimes.get(index) else { continue };
        let bytes = table
            .tensors()
            .get(index)
            .map_or(0, |t| t.bytes)
            .next_multiple_of(ALIGNMENT);
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|(other, _, _)| lifetimes.get(*other).is_some_and(|l| overlaps(l, life)))
            .map(|(_, start, end)| (*start, *end))
            .collect();
        taken.sort_unstable();
        let fit = |at: u64| {
            if at / block_bytes == (at + bytes - 1) / block_bytes {
                at
            } else {
                at.next_multiple_of(block_bytes)
            }
        };
        let mut at = 0;
        for (start, end) in taken {
            if fit(at) + bytes <= start {
                break;
            }
            at = at.max(end);
        }
        let at = fit(at);
        placed.push((index, at, at + bytes));
        let block = at / block_bytes;
        let extent = extents.entry(block).or_default();
        *extent = (*extent).max(at % block_bytes + bytes);
        if let Some(slot) = slots.get_mut(index) {
            *slot = Slot {
                block: first + usize::try_from(block).unwrap_or(usize::MAX),
                offset: at % block_bytes,
            };
        }
    }
    let count = extents.keys().next_back().map_or(0, |last| last + 1);
    for block in 0..count {
        let bytes = extents.get(&block).copied().unwrap_or(ALIGNMENT);
        blocks.push(PlannedBlock {
            class: Class::Arena,
            bytes,
            request_bytes: 0,
        });
    }
}

/// The worst moment of `program`, which is number `index`.
fn peak(table: &TensorTable, lifetimes: &[Vec<Option<(usize, usize)>>], index: usize, program: &Program) -> ArenaPeak {
    let mut change = vec![0i128; program.commands.len() + 1];
    for (tensor, life) in table.tensors().iter().zip(lifetimes) {
        if let Some((first, last)) = life.get(index).copied().flatten() {
            let bytes = i128::from(tensor.bytes.next_multiple_of(ALIGNMENT));
            if let Some(c) = change.get_mut(first) {
                *c += bytes;
            }
            if let Some(c) = change.get_mut(last + 1) {
                *c -= bytes;
            }
        }
    }
    let mut worst = ArenaPeak {
        program: program.name.clone(),
        command: "",
        bytes: 0,
        by_tag: BTreeMap::new(),
    };
    let (mut live, mut moment) = (0i128, 0);
    for (at, (command, c)) in program.commands.iter().zip(change).enumerate() {
        live += c;
        let bytes = u64::try_from(live).unwrap_or(0);
        if bytes > worst.bytes {
            worst.bytes = bytes;
            worst.command = command.name();
            moment = at;
        }
    }
    for (tensor, life) in table.tensors().iter().zip(lifetimes) {
        if life
            .get(index)
            .copied()
            .flatten()
            .is_some_and(|(first, last)| (first..=last).contains(&moment))
        {
            *worst.by_tag.entry(tensor.tag).or_default() += tensor.bytes.next_multiple_of(ALIGNMENT);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "tests stop at the first surprise"
    )]
    use super::*;

    const LIMITS: PlanLimits = PlanLimits {
        block_bytes: 1 << 20,
        binding_bytes: 1 << 20,
        rounding: BlockRounding::NONE,
    };

    #[test]
    fn arena_tensors_share_bytes_only_when_their_lives_do_not_meet() {
        let mut table = TensorTable::default();
        let a = table.add("a", Class::Arena, Tag::Other, 4096);
        let b = table.add("b", Class::Arena, Tag::Other, 4096);
        let c = table.add("c", Class::Arena, Tag::Other, 4096);
        let mut program = Program::new("p");
        program.copy(a, b);
        program.copy(b, c);
        let plan = Plan::new(&table, &[&program], LIMITS).unwrap();
        assert_eq!(plan.slots[0].offset, plan.slots[2].offset, "a ends before c begins");
        assert_ne!(plan.slots[0].offset, plan.slots[1].offset, "a and b live together");
        assert_eq!(plan.device_bytes(), 8192);
        assert_eq!(plan.arena_live_bytes, 8192);
    }

    #[test]
    fn the_fullest_moment_is_told_by_purpose() {
        let mut table = TensorTable::default();
        let keys = table.add("keys", Class::Arena, Tag::Sort, 9000);
        let sums = table.add_rows("sums", Class::Arena, Tag::Gradients, 1000, 4);
        let more = table.add("more", Class::Arena, Tag::Gradients, 4096);
        table.add("idle", Class::Arena, Tag::Loss, 1 << 19);
        let mut program = Program::new("p");
        program.fill(keys, 0);
        program.copy(keys, sums);
        program.copy(sums, more);
        let plan = Plan::new(&table, &[&program], LIMITS).unwrap();
        let [peak] = &plan.arena_peaks[..] else { unreachable!() };
        assert_eq!(peak.by_tag, BTreeMap::from([(Tag::Sort, 9216), (Tag::Gradients, 4096)]));
        assert_eq!((peak.bytes, peak.by_tag.values().sum::<u64>()), (13_312, 13_312));
        assert_eq!(table.get(sums.tensor).unwrap().shape.unwrap().to_string(), "1000 x 4 B");
    }

    #[test]
    fn a_tensor_never_straddles_two_blocks() {
        let mut table = TensorTable::default();
        let mut program = Program::new("p");
        for i in 0..5 {
            let v = table.add(format!("t{i}"), Class::Arena, Tag::Other, 600 << 10);
            program.fill(v, 0);
        }
        let views: Vec<_> = program.commands.iter().flat_map(Command::views).collect();
        for v in views {
            program.fill(v, 1);
        }
        let plan = Plan::new(&table, &[&program], LIMITS).unwrap();
        for (slot, tensor) in plan.slots.iter().zip(table.tensors()) {
            assert!(
                slot.offset + tensor.bytes <= plan.blocks[slot.block].bytes,
                "{} overruns its block",
                tensor.name
            );
        }
    }

    #[test]
    fn a_tensor_larger_than_a_binding_is_refused_by_name() {
        let mut table = TensorTable::default();
        table.add("sh", Class::Persistent, Tag::Parameters, 2 << 20);
        let error = Plan::new(&table, &[], LIMITS).unwrap_err();
        assert!(error.to_string().contains("`sh`"), "{error}");
    }
}
