//! Sparse binding: the tensors of the model have addresses for the capacity and memory for the Gaussians there are.
//!
//! Pages are all alike, so nothing fragments and nothing is copied; what is not persistent lies as planned.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Allocator, AllocatorKind, BlockId, Driver, FreeSpace, Handle, Planned, Range, Refused, Request, Resized, Rows,
};
use kiln::memory::{MIB, Plan};
use kiln::program::{Class, TensorTable};

/// Bytes of the blocks that pages come from: small against any model, large against a driver call.
const POOL_BYTES: u64 = 16 * MIB;

/// A driver with sparse binding.
pub(crate) trait PageDriver: Driver {
    /// Bytes of a page; a power of two.
    fn page_bytes(&self) -> u64;

    /// Reserves addresses for `bytes`, without memory.
    ///
    /// # Errors
    /// [`Refused`] when the device has no such range left.
    fn reserve(&mut self, bytes: u64) -> Result<BlockId, Refused>;

    /// Gives an address range back.
    fn release(&mut self, space: BlockId);

    /// Binds pages of `space` to pages of blocks, or to nothing.
    ///
    /// # Errors
    /// [`Refused`] when a page is outside of the range or the driver cannot bind.
    fn bind(&mut self, space: BlockId, binds: &[(u64, Option<(BlockId, u64)>)]) -> Result<(), Refused>;
}

/// Address ranges and the pages under them.
struct Pages<D> {
    driver: D,
    free: BTreeSet<(BlockId, u64)>,
    /// Pages of each pool block that are in use.
    used: BTreeMap<BlockId, u64>,
    /// Page of a range -> page of a block.
    spaces: BTreeMap<BlockId, BTreeMap<u64, (BlockId, u64)>>,
}

enum Entry {
    Planned(Handle),
    Space(BlockId),
}

/// Pages for the model, a plan for the rest.
pub(crate) struct Sparse<D> {
    pages: Pages<D>,
    planned: Planned,
    entries: BTreeMap<Handle, Entry>,
    next: u32,
}

/// The pages in use of a tensor of `bytes`.
fn wanted(request: &Request<'_>, page_bytes: u64) -> BTreeSet<u64> {
    let rows = request.rows.unwrap_or(Rows {
        rows: 1,
        row_bytes: request.bytes,
        used_bytes: request.bytes,
    });
    let mut pages = BTreeSet::new();
    for row in 0..rows.rows {
        let start = row * rows.row_bytes;
        if rows.used_bytes > 0 {
            pages.extend(start / page_bytes..=(start + rows.used_bytes - 1) / page_bytes);
        }
    }
    pages
}

impl<D: PageDriver> Pages<D> {
    /// Over the blocks and ranges of `driver`.
    const fn new(driver: D) -> Self {
        Self {
            driver,
            free: BTreeSet::new(),
            used: BTreeMap::new(),
            spaces: BTreeMap::new(),
        }
    }

    /// Bytes of pages without use.
    fn free_bytes(&self) -> u64 {
        self.free.len() as u64 * self.driver.page_bytes()
    }

    /// Bytes of pages under a range.
    fn bound_bytes(&self, space: BlockId) -> u64 {
        self.spaces.get(&space).map_or(0, BTreeMap::len) as u64 * self.driver.page_bytes()
    }

    /// Reserves addresses for all of a tensor and binds what `request` wants.
    ///
    /// # Errors
    /// [`Refused`] when there is no room; nothing has changed then.
    fn open(&mut self, request: &Request<'_>) -> Result<BlockId, Refused> {
        let space = self.driver.reserve(request.desc.bytes)?;
        self.spaces.insert(space, BTreeMap::new());
        if let Err(refused) = self.fill(space, request) {
            self.close(space);
            return Err(refused);
        }
        Ok(space)
    }

    /// Gives a range and its pages back.
    fn close(&mut self, space: BlockId) {
        if let Some(pages) = self.spaces.remove(&space) {
            self.driver.release(space);
            self.give(pages.into_values());
        }
    }

    /// Takes `count` pages, from the driver where none is free.
    fn take(&mut self, count: usize) -> Result<Vec<(BlockId, u64)>, Refused> {
        while self.free.len() < count {
            let page = self.driver.page_bytes();
            // Near the cap a smaller block may still fit.
            let missing = (count - self.free.len()) as u64 * page;
            let (block, bytes) = match self.driver.take(POOL_BYTES, Class::Persistent) {
                Ok(block) => (block, POOL_BYTES),
                Err(_) if missing < POOL_BYTES => (self.driver.take(missing, Class::Persistent)?, missing),
                Err(refused) => return Err(refused),
            };
            self.used.insert(block, 0);
            self.free.extend((0..bytes / page).map(|index| (block, index)));
        }
        // Pages of the blocks taken first are used first, so that later blocks can empty.
        let taken: Vec<_> = self.free.iter().take(count).copied().collect();
        for page in &taken {
            self.free.remove(page);
            *self.used.entry(page.0).or_default() += 1;
        }
        Ok(taken)
    }

    fn give(&mut self, pages: impl IntoIterator<Item = (BlockId, u64)>) {
        for page in pages {
            self.free.insert(page);
            if let Some(used) = self.used.get_mut(&page.0) {
                *used -= 1;
            }
        }
        // Blocks without a page in use, those included that a request took in vain.
        let empty: Vec<BlockId> = self
            .used
            .iter()
            .filter(|(_, used)| **used == 0)
            .map(|(block, _)| *block)
            .collect();
        for block in empty {
            self.used.remove(&block);
            self.free.retain(|(of, _)| *of != block);
            self.driver.give(block);
        }
    }

    /// Binds what `request` wants under a range, and unbinds the rest.
    ///
    /// # Errors
    /// [`Refused`] when there is no room; what was bound stays so.
    fn fill(&mut self, space: BlockId, request: &Request<'_>) -> Result<(), Refused> {
        let wanted = wanted(request, self.driver.page_bytes());
        let bound = self.spaces.get(&space).cloned().unwrap_or_default();
        let missing: Vec<u64> = wanted.iter().copied().filter(|p| !bound.contains_key(p)).collect();
        let taken = match self.take(missing.len()) {
            Ok(taken) => taken,
            Err(refused) => {
                self.give(Vec::new());
                return Err(refused);
            }
        };
        let gone: Vec<(u64, (BlockId, u64))> = bound
            .iter()
            .filter(|(page, _)| !wanted.contains(page))
            .map(|(page, memory)| (*page, *memory))
            .collect();
        let mut pages = bound;
        let mut binds: Vec<(u64, Option<(BlockId, u64)>)> = gone.iter().map(|(page, _)| (*page, None)).collect();
        for (page, memory) in missing.into_iter().zip(&taken) {
            binds.push((page, Some(*memory)));
            pages.insert(page, *memory);
        }
        if !binds.is_empty()
            && let Err(refused) = self.driver.bind(space, &binds)
        {
            self.give(taken);
            return Err(refused);
        }
        for (page, _) in &gone {
            pages.remove(page);
        }
        self.spaces.insert(space, pages);
        self.give(gone.into_iter().map(|(_, memory)| memory));
        Ok(())
    }
}

impl<D: PageDriver> Sparse<D> {
    /// Takes the blocks of everything in `plan` that is not persistent.
    ///
    /// # Errors
    /// [`Refused`] when the driver has no room.
    pub(crate) fn commit(mut driver: D, table: &TensorTable, plan: &Plan) -> Result<Self, Refused> {
        let planned = Planned::commit(&mut driver, table, plan, |class| class != Class::Persistent)?;
        Ok(Self {
            pages: Pages::new(driver),
            planned,
            entries: BTreeMap::new(),
            next: 0,
        })
    }

    fn name(&mut self, entry: Entry) -> Handle {
        let handle = Handle(self.next);
        self.next = self.next.wrapping_add(1);
        self.entries.insert(handle, entry);
        handle
    }
}

impl<D: PageDriver> Allocator for Sparse<D> {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::Sparse
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        if request.desc.class != Class::Persistent {
            let planned = self.planned.allocate(request)?;
            return Ok(self.name(Entry::Planned(planned)));
        }
        let space = self.pages.open(request)?;
        Ok(self.name(Entry::Space(space)))
    }

    fn free(&mut self, handle: Handle) {
        if let Some(Entry::Space(space)) = self.entries.remove(&handle) {
            self.pages.close(space);
        }
    }

    /// The whole address range for what is paged, with the bytes of its pages.
    fn range(&self, handle: Handle) -> Option<Range> {
        match self.entries.get(&handle)? {
            Entry::Planned(planned) => self.planned.range(*planned),
            Entry::Space(space) => Some(Range {
                block: *space,
                offset: 0,
                bytes: self.pages.bound_bytes(*space),
            }),
        }
    }

    fn resize(&mut self, handle: Handle, request: &Request<'_>) -> Result<Resized, Refused> {
        match self.entries.get(&handle) {
            Some(Entry::Space(space)) => self.pages.fill(*space, request)?,
            Some(Entry::Planned(planned)) => {
                self.planned.resize(*planned, request)?;
            }
            None => {}
        }
        Ok(Resized {
            handle,
            copied_bytes: 0,
        })
    }

    fn free_space(&self) -> FreeSpace {
        let planned = self.planned.free_space();
        let pages = self.pages.free_bytes();
        FreeSpace {
            bytes: planned.bytes + pages,
            // Any page serves any range.
            largest: planned.largest.max(pages),
        }
    }
}
