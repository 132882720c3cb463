//! The allocator of a run: turns tables and programs into the blocks that are committed.

use std::collections::BTreeMap;

use super::super::guard_bands::guarded;
use super::{Backend, BackendKind, BlockId, Fragmentation, Naive, Range, Request, SimulatedDriver, Tlsf};
use crate::memory::{MemoryError, Plan, PlanLimits, PlannedBlock, Slot};
use crate::program::ALIGNMENT;
use crate::program::{Class, Program, Tag, TensorDesc, TensorTable};
use crate::vk::open_library;

/// Which allocator, and how thrifty.
///
/// A run asks its allocator for everything before the first step, in a fixed order, on a heap that is only simulated; what
/// comes out is committed as it is. So the bytes of every allocator of our own are known before anything is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendChoice {
    /// The allocator.
    pub kind: BackendKind,
    /// Its mode; none for what it does by itself.
    pub fragmentation: Option<Fragmentation>,
    /// Every tensor has bytes of its own, with a band around it that nobody may write; see [`crate::memory::GuardBands`].
    pub guard_bands: bool,
}

impl BackendChoice {
    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Fragmentation {
        self.fragmentation.unwrap_or(Fragmentation::of(self.kind))
    }

    /// Places every tensor of `table` for `programs`.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] when a tensor exceeds a block or a binding.
    pub fn place(&self, table: &TensorTable, programs: &[&Program], limits: PlanLimits) -> Result<Plan, MemoryError> {
        let plan = Plan::in_blocks(table, programs, limits, self.mode().policy().block_bytes)?;
        match self.kind {
            BackendKind::Planned if self.guard_bands => return guarded(table, plan, limits),
            BackendKind::Planned => return Ok(plan),
            BackendKind::Sparse => return Ok(paged(table, plan)),
            _ => {}
        }
        let driver = SimulatedDriver::new(u64::MAX, limits.largest_block(), limits.rounding);
        let policy = self.mode().policy();
        let open = || -> Result<Box<dyn Backend>, MemoryError> {
            match self.kind {
                BackendKind::Naive => Ok(Box::new(Naive::new(driver.clone()))),
                BackendKind::Tlsf => Ok(Box::new(Tlsf::new(driver.clone(), policy, ALIGNMENT))),
                kind => open_library(kind, &driver).ok_or_else(|| self.unavailable(NOT_BUILT_IN)),
            }
        };
        let mixed = matches!(self.kind, BackendKind::GpuAllocator | BackendKind::Vma);
        let placement = Placement::new(table, plan, self.kind == BackendKind::Naive, mixed);
        placement.through(&open, &driver, limits)
    }

    /// Says that this allocator does not work, and why.
    pub(in crate::memory) fn unavailable(&self, why: impl Into<String>) -> MemoryError {
        MemoryError::Unavailable {
            backend: self.kind.name(),
            why: why.into(),
        }
    }
}

const NOT_BUILT_IN: &str = "this program was built without it; `cargo build --features vma` builds it in";

/// Page size that plans count with; what devices were seen to have, or a multiple of it.
const PAGE_BYTES: u64 = 1 << 16;

/// The plan with an address range for every persistent tensor. At capacity all of them have memory, in whole pages and
/// whole blocks of pages.
fn paged(table: &TensorTable, mut plan: Plan) -> Plan {
    let mut blocks: Vec<PlannedBlock> = Vec::new();
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, block) in plan
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, b)| b.class != Class::Persistent)
    {
        moved.insert(index, blocks.len());
        blocks.push(*block);
    }
    let mut all_bytes = 0;
    for (tensor, slot) in table.tensors().iter().zip(&mut plan.slots) {
        if tensor.class != Class::Persistent {
            slot.block = moved.get(&slot.block).copied().unwrap_or(usize::MAX);
            continue;
        }
        let request_bytes = tensor.bytes.next_multiple_of(PAGE_BYTES);
        all_bytes += request_bytes;
        *slot = Slot {
            block: blocks.len(),
            offset: 0,
        };
        blocks.push(PlannedBlock {
            class: Class::Persistent,
            bytes: tensor.bytes,
            request_bytes,
            paged: true,
        });
    }
    if let Some(last) = blocks.last_mut() {
        last.request_bytes += all_bytes.next_multiple_of(super::sparse::POOL_BYTES) - all_bytes;
    }
    plan.blocks = blocks;
    plan
}

/// The classes that allocators place; host rings lie as planned.
const CLASSES: [Class; 4] = [Class::Persistent, Class::Images, Class::Small, Class::Arena];

/// Pieces to be placed: tensors, or whole blocks of the arena.
struct Placement<'a> {
    table: &'a TensorTable,
    plan: Plan,
    /// What goes to an allocator of its own: a class, or everything.
    groups: BTreeMap<Class, Vec<(Piece, TensorDesc)>>,
}

/// Opens an allocator for a group.
type Open<'a> = &'a dyn Fn() -> Result<Box<dyn Backend>, MemoryError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Tensor(usize),
    ArenaBlock(usize),
}

impl<'a> Placement<'a> {
    /// Arena tensors share the plan's blocks unless each is to have memory of its own (`own_arena`); classes have an
    /// allocator each unless they are to share one (`mixed`).
    fn new(table: &'a TensorTable, mut plan: Plan, own_arena: bool, mixed: bool) -> Self {
        let mut groups: BTreeMap<Class, Vec<(Piece, TensorDesc)>> = BTreeMap::new();
        let mut put = |piece: Piece, desc: TensorDesc| {
            let group = if mixed { Class::Persistent } else { desc.class };
            groups.entry(group).or_default().push((piece, desc));
        };
        for (index, tensor) in table.tensors().iter().enumerate() {
            if CLASSES.contains(&tensor.class) && (own_arena || tensor.class != Class::Arena) {
                put(Piece::Tensor(index), tensor.clone());
            }
        }
        if own_arena {
            let arena = table.tensors().iter().filter(|t| t.class == Class::Arena);
            plan.arena_bytes = arena.map(|t| t.bytes).sum();
        } else {
            let blocks = plan.blocks.iter().enumerate();
            for (index, block) in blocks.filter(|(_, block)| block.class == Class::Arena) {
                let desc = TensorDesc {
                    name: format!("arena[{index}]"),
                    class: Class::Arena,
                    tag: Tag::Other,
                    bytes: block.bytes,
                };
                put(Piece::ArenaBlock(index), desc);
            }
        }
        for list in groups.values_mut() {
            list.sort_by_key(|(_, desc)| std::cmp::Reverse(desc.bytes));
        }
        Self { table, plan, groups }
    }

    /// Asks the allocators that `open` gives.
    fn through(self, open: Open<'_>, driver: &SimulatedDriver, limits: PlanLimits) -> Result<Plan, MemoryError> {
        let mut ranges: Vec<(Piece, Range)> = Vec::new();
        let mut blocks: Vec<PlannedBlock> = Vec::new();
        let mut numbers: BTreeMap<BlockId, usize> = BTreeMap::new();
        // Libraries give their blocks back when they go; what they took is committed after that.
        let mut backends = Vec::new();
        for (class, pieces) in &self.groups {
            let mut backend = open()?;
            let mut handles = Vec::with_capacity(pieces.len());
            for (index, (piece, desc)) in pieces.iter().enumerate() {
                handles.push((*piece, backend.allocate(&Request::whole(index, desc))?));
            }
            // Nothing lies anywhere yet, so moving things together costs nothing.
            backend.tend(0, true);
            let found = handles.iter().map(|(piece, handle)| (*piece, backend.range(*handle)));
            ranges.extend(found.filter_map(|(piece, range)| Some((piece, range?))));
            for (id, bytes, _) in driver.blocks() {
                numbers.entry(id).or_insert_with(|| {
                    blocks.push(PlannedBlock {
                        class: *class,
                        bytes,
                        request_bytes: limits.rounding.request(bytes),
                        paged: false,
                    });
                    blocks.len() - 1
                });
            }
            backends.push(backend);
        }
        let Self { table, mut plan, .. } = self;
        let slot = |range: &Range| Slot {
            block: numbers.get(&range.block).copied().unwrap_or(usize::MAX),
            offset: range.offset,
        };
        let mut slots = plan.slots.clone();
        for (piece, range) in &ranges {
            match piece {
                Piece::Tensor(index) => {
                    if let Some(entry) = slots.get_mut(*index) {
                        *entry = slot(range);
                    }
                }
                Piece::ArenaBlock(block) => {
                    let start = slot(range);
                    for (entry, old) in slots.iter_mut().zip(&plan.slots).filter(|(_, old)| old.block == *block) {
                        *entry = Slot {
                            block: start.block,
                            offset: start.offset + old.offset,
                        };
                    }
                }
            }
        }
        // Host rings keep their blocks, behind the others.
        let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, block) in plan.blocks.iter().enumerate() {
            if matches!(block.class, Class::Upload | Class::Readback) {
                moved.insert(index, blocks.len());
                blocks.push(*block);
            }
        }
        for ((entry, old), tensor) in slots.iter_mut().zip(&plan.slots).zip(table.tensors()) {
            if let (Class::Upload | Class::Readback, Some(block)) = (tensor.class, moved.get(&old.block)) {
                entry.block = *block;
            }
        }
        (plan.blocks, plan.slots) = (blocks, slots);
        Ok(plan)
    }
}
