//! A plan, allocated.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backend::{BackendChoice, BlockId, Pages, Request, Rows};
use super::{Gpu, MemoryError, Plan, PlannedBlock, Slot};
use crate::program::{Class, TensorId, TensorTable, View};
use crate::vk::{Block, BlockKind, Device, DevicePages, Place, Resolver, Window};

/// A block of the plan.
enum Held {
    Block(Block),
    Pages(BlockId),
}

/// Brings what a tensor held into its new block; the old one is none for a tensor that was not there.
pub(super) type CopyTensor<'a> = &'a mut dyn FnMut(&str, Option<&Block>, &Block) -> Result<(), MemoryError>;

/// Every block of a run. Nothing can be added after [`Memory::commit`].
pub struct Memory {
    table: TensorTable,
    plan: Plan,
    blocks: Vec<Held>,
    /// What is paged, where anything is.
    pages: Option<Pages<DevicePages>>,
    /// Bytes in use of the tensors that are.
    filled_bytes: BTreeMap<usize, u64>,
    /// Bytes of the tensors that have a place on the device.
    allocated_bytes: u64,
    peak_allocated_bytes: u64,
    backend: BackendChoice,
}

impl Memory {
    /// Allocates all blocks of `plan`, which `backend` made.
    ///
    /// # Errors
    /// [`MemoryError::OverBudget`] above `cap_bytes`, naming the largest tensors; [`MemoryError::Vulkan`] when the
    /// driver refuses a block (everything taken so far is freed); [`MemoryError::NotAsPlanned`] when a block takes other
    /// bytes than the plan says.
    pub fn commit(
        device: &Arc<Device>,
        table: TensorTable,
        plan: Plan,
        cap_bytes: u64,
        backend: BackendChoice,
    ) -> Result<Self, MemoryError> {
        let needed_bytes = plan.device_bytes();
        if needed_bytes > cap_bytes {
            return Err(MemoryError::OverBudget {
                needed_bytes,
                cap_bytes,
                largest: largest(&table),
            });
        }
        let mut blocks = Vec::with_capacity(plan.blocks.len());
        let mut pages = None;
        for (index, block) in plan.blocks.iter().enumerate() {
            if block.paged {
                let pages = match &mut pages {
                    Some(pages) => pages,
                    None => {
                        let driver = DevicePages::new(device, Gpu::limits(device).largest_block(), cap_bytes);
                        pages.insert(Pages::new(
                            driver.map_err(|error| backend.unavailable(error.to_string()))?,
                        ))
                    }
                };
                let tensors = table.tensors().iter().zip(&plan.slots).enumerate();
                for (tensor, (desc, _)) in tensors.filter(|(_, (_, slot))| slot.block == index) {
                    // Memory comes with the model.
                    let request = Request {
                        bytes: 0,
                        ..Request::whole(tensor, desc)
                    };
                    blocks.push(Held::Pages(pages.open(&request)?));
                }
            } else {
                blocks.push(Held::Block(take_block(device, index, block)?));
            }
        }
        Ok(Self::of(table, plan, blocks, pages, backend))
    }

    /// Memory whose blocks are there.
    fn of(
        table: TensorTable,
        plan: Plan,
        blocks: Vec<Held>,
        pages: Option<Pages<DevicePages>>,
        backend: BackendChoice,
    ) -> Self {
        let mut memory = Self {
            table,
            plan,
            blocks,
            pages,
            filled_bytes: BTreeMap::new(),
            allocated_bytes: 0,
            peak_allocated_bytes: 0,
            backend,
        };
        // What is paged has bytes as it is filled.
        let paged = memory.is_paged();
        let own = |class| match class {
            Class::Persistent => !paged,
            Class::Images | Class::Small => true,
            _ => false,
        };
        let tensors = memory.table.tensors().iter().filter(|t| own(t.class)).map(|t| t.bytes);
        // Arena tensors share bytes; together they have what the arena has.
        let allocated = tensors.sum::<u64>() + memory.plan.arena_bytes();
        memory.take(allocated);
        memory
    }

    /// Takes the place of this memory with another plan of an allocator that has a block for each tensor. Blocks of tensors
    /// whose size stays are kept with what they hold; the others are taken anew, one after the other: `copy` is handed the
    /// name of the tensor, the old block if there was one, and the new one, and the old block is given back after that.
    ///
    /// # Errors
    /// [`MemoryError::OverBudget`] above `cap_bytes`, [`MemoryError::Vulkan`] when the driver refuses; what this memory
    /// held is lost then.
    pub(super) fn grow(
        &mut self,
        device: &Arc<Device>,
        (table, plan): (TensorTable, Plan),
        cap_bytes: u64,
        copy: CopyTensor<'_>,
    ) -> Result<(), MemoryError> {
        let names = |table: &TensorTable, plan: &Plan| -> Vec<String> {
            let mut names: Vec<String> = plan.blocks.iter().map(|block| format!("{:?}", block.class)).collect();
            for (tensor, slot) in table.tensors().iter().zip(&plan.slots) {
                if let (false, Some(name)) = (is_host(tensor.class), names.get_mut(slot.block)) {
                    name.clone_from(&tensor.name);
                }
            }
            names
        };
        let old_names = names(&self.table, &self.plan);
        let own = |(name, held)| match held {
            Held::Block(block) => Some((name, block)),
            Held::Pages(_) => None,
        };
        let mut old: BTreeMap<String, Block> = old_names
            .into_iter()
            .zip(self.blocks.drain(..))
            .filter_map(own)
            .collect();
        let mut blocks = Vec::with_capacity(plan.blocks.len());
        for (index, (name, planned)) in names(&table, &plan).iter().zip(&plan.blocks).enumerate() {
            let before = old.remove(name);
            let block = match before {
                Some(block) if block.bytes() == planned.bytes => block,
                before => {
                    let needed_bytes = device.reserved_bytes() + planned.request_bytes;
                    if !is_host(planned.class) && needed_bytes > cap_bytes {
                        return Err(MemoryError::OverBudget {
                            needed_bytes,
                            cap_bytes,
                            largest: largest(&table),
                        });
                    }
                    let block = take_block(device, index, planned)?;
                    copy(name, before.as_ref(), &block)?;
                    block
                }
            };
            blocks.push(Held::Block(block));
        }
        let peak = self.peak_allocated_bytes;
        *self = Self::of(table, plan, blocks, None, self.backend);
        self.peak_allocated_bytes = self.peak_allocated_bytes.max(peak);
        Ok(())
    }

    /// True when memory comes page by page.
    #[must_use]
    pub fn is_paged(&self) -> bool {
        self.pages.is_some()
    }

    /// Gives the tensor of `view` memory for what `rows` says is in use, and takes back the rest. Nothing is in flight.
    ///
    /// # Errors
    /// [`MemoryError::Refused`] when there is no room; nothing has changed then.
    pub fn fill(&mut self, view: &View, rows: Rows) -> Result<(), MemoryError> {
        let slot = self.plan.slots.get(view.tensor.index());
        let held = slot.and_then(|slot| self.blocks.get(slot.block));
        let desc = self.table.get(view.tensor);
        if let (Some(Held::Pages(space)), Some(desc), Some(pages)) = (held, desc, &mut self.pages) {
            let request = Request {
                tensor: view.tensor.index(),
                desc,
                bytes: rows.rows * rows.used_bytes,
                rows: Some(rows),
            };
            pages.fill(*space, &request)?;
            let before = self.filled_bytes.insert(request.tensor, request.bytes);
            let bytes = request.bytes;
            self.allocated_bytes -= before.unwrap_or(0);
            self.take(bytes);
        }
        Ok(())
    }

    /// The allocator.
    #[must_use]
    pub fn backend(&self) -> BackendChoice {
        self.backend
    }

    /// Counts bytes that tensors take.
    fn take(&mut self, bytes: u64) {
        self.allocated_bytes += bytes;
        self.peak_allocated_bytes = self.peak_allocated_bytes.max(self.allocated_bytes);
    }

    /// Bytes that tensors have on the device now; the arena, whose tensors share bytes, counts once.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
    }

    /// Most that [`Memory::allocated_bytes`] ever was, kept where tensors get their bytes.
    #[must_use]
    pub fn peak_allocated_bytes(&self) -> u64 {
        self.peak_allocated_bytes
    }

    /// Bytes the driver was asked for in device-local blocks.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        let taken = self
            .plan
            .blocks
            .iter()
            .zip(&self.blocks)
            .filter(|(p, _)| !is_host(p.class));
        let bytes = taken.map(|(_, held)| match (held, &self.pages) {
            (Held::Block(block), _) => block.allocated_bytes(),
            (Held::Pages(space), Some(pages)) => pages.bound_bytes(*space),
            (Held::Pages(_), None) => 0,
        });
        bytes.sum::<u64>() + self.pages.as_ref().map_or(0, Pages::free_bytes)
    }

    /// The tensors.
    #[must_use]
    pub fn table(&self) -> &TensorTable {
        &self.table
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All bytes of block `index` of the plan, whatever lies in it: for work on memory itself. None for what comes page by
    /// page.
    #[must_use]
    pub fn block_view(&self, index: usize) -> Option<View> {
        let Held::Block(block) = self.blocks.get(index)? else {
            return None;
        };
        // Names behind the last tensor are those of blocks.
        Some(View {
            tensor: TensorId::at(self.plan.slots.len() + index),
            offset: 0,
            bytes: block.bytes(),
        })
    }

    /// Host bytes of an upload tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host_mut(&mut self, view: &View) -> Result<&mut [u8], MemoryError> {
        let place = self.checked(view)?;
        let error = out_of_range(&self.table, view);
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        match self.blocks.get_mut(place.block) {
            Some(Held::Block(block)) => block.mapped_mut(place.offset, len).ok_or(error),
            _ => Err(error),
        }
    }

    /// Lends host bytes of an upload tensor's view to a thread that writes them; until the window is dropped, nobody else
    /// reaches them. Once the memory has grown, it may be of a block that no program reads any more.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped, outside its tensor or lent already.
    pub fn lend(&mut self, view: &View) -> Result<Window, MemoryError> {
        let place = self.checked(view)?;
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let window = match self.blocks.get_mut(place.block) {
            Some(Held::Block(block)) => block.lend(place.offset, len),
            _ => None,
        };
        window.ok_or_else(|| out_of_range(&self.table, view))
    }

    /// Host bytes of a readback tensor's view.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when the view is not mapped or outside its tensor.
    pub fn host(&self, view: &View) -> Result<&[u8], MemoryError> {
        let place = self.checked(view)?;
        let len = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let bytes = match self.blocks.get(place.block) {
            Some(Held::Block(block)) => block.mapped(place.offset, len),
            _ => None,
        };
        bytes.ok_or_else(|| out_of_range(&self.table, view))
    }

    fn checked(&self, view: &View) -> Result<Place, MemoryError> {
        match self.table.get(view.tensor) {
            Some(t) if view.offset.checked_add(view.bytes).is_some_and(|end| end <= t.bytes) => Ok(self.place(view)),
            _ => Err(out_of_range(&self.table, view)),
        }
    }
}

impl Resolver for Memory {
    fn name(&self, view: &View) -> String {
        let tensor = self.table.get(view.tensor).map(|t| t.name.clone());
        tensor.unwrap_or_else(|| format!("block {}", view.tensor.index().saturating_sub(self.plan.slots.len())))
    }

    fn place(&self, view: &View) -> Place {
        let slots = &self.plan.slots;
        let whole = || Slot {
            block: view.tensor.index().saturating_sub(slots.len()),
            offset: 0,
        };
        let slot = slots.get(view.tensor.index()).copied().unwrap_or_else(whole);
        Place {
            block: slot.block,
            offset: slot.offset + view.offset,
            bytes: view.bytes,
        }
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::expect_used,
        reason = "block indices come from the same plan that made the blocks, and ranges from the pages beside them"
    )]
    fn block(&self, index: usize) -> &Block {
        match &self.blocks[index] {
            Held::Block(block) => block,
            Held::Pages(space) => {
                let pages = self.pages.as_ref();
                pages
                    .and_then(|pages| pages.driver().space(*space))
                    .expect("a range of these pages")
            }
        }
    }
}

fn is_host(class: Class) -> bool {
    matches!(class, Class::Upload | Class::Readback)
}

fn take_block(device: &Arc<Device>, index: usize, block: &PlannedBlock) -> Result<Block, MemoryError> {
    let kind = match block.class {
        Class::Upload => BlockKind::Upload,
        Class::Readback => BlockKind::Readback,
        _ => BlockKind::Device,
    };
    let name = format!("block {index} ({:?})", block.class);
    let made = Block::with_priority(device, kind, block.class.priority(), block.bytes, &name)?;
    if made.allocated_bytes() != block.request_bytes {
        return Err(MemoryError::NotAsPlanned {
            block: name,
            planned_bytes: block.request_bytes,
            requested_bytes: made.allocated_bytes(),
        });
    }
    Ok(made)
}

fn out_of_range(table: &TensorTable, view: &View) -> MemoryError {
    MemoryError::OutOfRange {
        tensor: table
            .get(view.tensor)
            .map_or_else(|| "?".to_owned(), |t| t.name.clone()),
        offset: view.offset,
        bytes: view.bytes,
    }
}

fn largest(table: &TensorTable) -> String {
    let mut list: Vec<_> = table.tensors().iter().collect();
    list.sort_by_key(|t| (std::cmp::Reverse(t.bytes), t.name.clone()));
    list.iter()
        .take(5)
        .map(|t| format!("{} {} MiB", t.name, t.bytes >> 20))
        .collect::<Vec<_>>()
        .join(", ")
}
