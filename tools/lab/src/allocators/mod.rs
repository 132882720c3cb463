//! Allocators behind one trait: the plan that Kiln trains with, and those it is compared with.
//!
//! An [`Allocator`] hands out ranges of driver blocks, a [`Driver`] gives it the blocks. Both know bytes and classes and
//! nothing of a device: every allocator runs over the same [`SimulatedDriver`].
//!
//! | kind | what it does |
//! |---|---|
//! | [`planned`](Planned) | everything placed before anything is taken; nothing happens later |
//! | [`tlsf`](Tlsf) | two-level segregated fit over blocks, with compaction by [`Fragmentation`] mode |
//! | `gpu_allocator`, `vma` | the [libraries](open_library) of those names |

mod library;
mod modes;
mod planned;
mod simulated;
mod tlsf;

pub(crate) use library::open_library;
pub(crate) use modes::{Fragmentation, Policy};
pub(crate) use planned::Planned;
pub(crate) use simulated::{DriverStats, SimulatedDriver};
pub(crate) use tlsf::Tlsf;

use kiln_program::{Class, TensorDesc};

/// Which allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AllocatorKind {
    /// Plan, then commit.
    Planned,
    /// Two-level segregated fit.
    Tlsf,
    /// The crate `gpu-allocator`.
    GpuAllocator,
    /// The Vulkan Memory Allocator, through the crate `vk-mem`.
    Vma,
}

impl AllocatorKind {
    /// All of them, the default first.
    pub(crate) const ALL: [Self; 4] = [Self::Planned, Self::Tlsf, Self::GpuAllocator, Self::Vma];

    /// The word in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Tlsf => "tlsf",
            Self::GpuAllocator => "gpu_allocator",
            Self::Vma => "vma",
        }
    }
}

/// What an allocator is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Position of the tensor in its table.
    pub(crate) tensor: usize,
    /// Its description; `bytes` is what it takes at capacity.
    pub(crate) desc: &'a TensorDesc,
    /// Bytes wanted now.
    pub(crate) bytes: u64,
}

impl<'a> Request<'a> {
    /// All bytes of a tensor.
    pub(crate) fn whole(tensor: usize, desc: &'a TensorDesc) -> Self {
        Self {
            tensor,
            desc,
            bytes: desc.bytes,
        }
    }
}

/// Names an allocation; compaction moves it without changing its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Handle(pub u32);

/// Number of a driver block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockId(pub u32);

/// Where an allocation lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The driver block.
    pub(crate) block: BlockId,
    /// First byte in it.
    pub(crate) offset: u64,
    /// Length in bytes, rounding included.
    pub(crate) bytes: u64,
}

/// What an allocator holds without using it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    /// Bytes reserved and not handed out.
    pub(crate) bytes: u64,
    /// The largest piece of them in one range.
    pub(crate) largest: u64,
}

impl FreeSpace {
    /// External fragmentation, 0 to 1: the share of the free bytes that the largest request could not use.
    pub(crate) fn fragmentation(&self) -> f64 {
        match self.bytes {
            0 => 0.0,
            bytes => 1.0 - self.largest as f64 / bytes as f64,
        }
    }
}

/// Why an allocator has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The driver, or the cap above it, refuses.
    #[error("no room for {bytes} bytes: {free_bytes} of {heap_bytes} are free")]
    Heap {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes nobody has taken.
        free_bytes: u64,
        /// Bytes there are.
        heap_bytes: u64,
    },
    /// The request is larger than the plan or the library foresees.
    #[error("{bytes} bytes were requested where at most {limit_bytes} are possible")]
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
}

/// What resizing an allocation took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resized {
    /// Its name from now on.
    pub(crate) handle: Handle,
    /// Bytes copied from the old place to the new one.
    pub(crate) copied_bytes: u64,
}

/// Gives blocks of device memory.
pub(crate) trait Driver {
    /// Takes a block of at least `bytes`.
    ///
    /// # Errors
    /// [`Refused::Heap`] when there is no room.
    fn take(&mut self, bytes: u64, class: Class) -> Result<BlockId, Refused>;

    /// Gives a block back.
    fn give(&mut self, block: BlockId);

    /// Bytes of the largest block.
    fn largest_block(&self) -> u64;
}

/// Hands out ranges of driver blocks.
pub(crate) trait Allocator {
    /// Which one.
    fn kind(&self) -> AllocatorKind;

    /// Finds room.
    ///
    /// # Errors
    /// [`Refused`] when there is none; nothing has changed then.
    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused>;

    /// Takes an allocation back. Handles that are not allocated are ignored.
    fn free(&mut self, handle: Handle);

    /// Where an allocation lies; none when it has no range of its own.
    fn range(&self, handle: Handle) -> Option<Range>;

    /// Gives an allocation another size and keeps what it holds. Most allocators have one way: a new place, a copy, and
    /// the old place back.
    ///
    /// # Errors
    /// [`Refused`] when there is no room; the allocation is as it was.
    fn resize(&mut self, handle: Handle, request: &Request<'_>) -> Result<Resized, Refused> {
        let old = self.range(handle).map_or(0, |range| range.bytes);
        let new = self.allocate(request)?;
        self.free(handle);
        Ok(Resized {
            handle: new,
            copied_bytes: old.min(request.bytes),
        })
    }

    /// What is reserved and not handed out.
    fn free_space(&self) -> FreeSpace;

    /// What the allocator does between steps, see [`Policy`]; returns the bytes it moved.
    fn tend(&mut self, _iteration: u32, _topology_changed: bool) -> u64 {
        0
    }
}
