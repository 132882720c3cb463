//! Allocators of other projects behind the same trait as ours.
//!
//! They call the driver themselves, so they run on a [`SimulatedDevice`](device::SimulatedDevice).
#![expect(
    unsafe_code,
    reason = "the libraries call Vulkan's entry points, which the simulated device has to be"
)]

mod device;
mod gpu_allocator;
#[cfg(feature = "vma")]
mod vma;

use ash::vk;
use kiln_program::ALIGNMENT;

use super::{Allocator, AllocatorKind, Handle, Refused, Request, SimulatedDriver};

/// Opens the allocator `kind` of another project over a simulated heap; none when it is not one of those, or not built in.
pub(crate) fn open_library(kind: AllocatorKind, driver: &SimulatedDriver) -> Option<Box<dyn Allocator>> {
    match kind {
        AllocatorKind::GpuAllocator => gpu_allocator::open(driver.clone()),
        #[cfg(feature = "vma")]
        AllocatorKind::Vma => vma::open(driver.clone()),
        _ => None,
    }
}

/// What a request asks of Vulkan memory.
fn requirements(request: &Request<'_>) -> vk::MemoryRequirements {
    vk::MemoryRequirements {
        size: request.bytes.max(1).next_multiple_of(ALIGNMENT),
        alignment: ALIGNMENT,
        memory_type_bits: 1,
    }
}

/// The answer to a request that a library refuses.
fn refused(request: &Request<'_>, driver: &SimulatedDriver) -> Refused {
    let heap_bytes = driver.heap_bytes();
    Refused::Heap {
        bytes: request.bytes,
        free_bytes: heap_bytes.saturating_sub(driver.stats().reserved_bytes),
        heap_bytes,
    }
}

/// Entries with numbers that are given out again.
struct Entries<T> {
    list: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

impl<T> Entries<T> {
    fn put(&mut self, value: T) -> Handle {
        if let Some(at) = self.vacant.pop()
            && let Some(entry) = self.list.get_mut(at as usize)
        {
            *entry = Some(value);
            return Handle(at);
        }
        self.list.push(Some(value));
        Handle(u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX))
    }

    fn take(&mut self, handle: Handle) -> Option<T> {
        let value = self.list.get_mut(handle.0 as usize).and_then(Option::take)?;
        self.vacant.push(handle.0);
        Some(value)
    }

    fn get(&self, handle: Handle) -> Option<&T> {
        self.list.get(handle.0 as usize)?.as_ref()
    }

    /// Takes all values out.
    #[cfg_attr(
        not(feature = "vma"),
        expect(dead_code, reason = "one of the allocators frees by itself")
    )]
    fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.list).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::allocators::Range;
    use kiln_gpu::memory::{BlockRounding, GIB, MIB};
    use kiln_program::{Class, Tag, TensorDesc};

    fn libraries() -> impl Iterator<Item = AllocatorKind> {
        let mut kinds = vec![AllocatorKind::GpuAllocator];
        if cfg!(feature = "vma") {
            kinds.push(AllocatorKind::Vma);
        }
        kinds.into_iter()
    }

    fn ask(allocator: &mut dyn Allocator, bytes: u64) -> Result<Handle, Refused> {
        let desc = TensorDesc {
            name: "tensor".to_owned(),
            class: Class::Persistent,
            tag: Tag::Other,
            bytes,
            shape: None,
        };
        allocator.allocate(&Request::whole(0, &desc))
    }

    #[test]
    fn libraries_place_ranges_apart_in_blocks_of_the_simulated_heap() {
        for kind in libraries() {
            let driver = SimulatedDriver::new(4 * GIB, u64::MAX, BlockRounding::NONE);
            let mut allocator = open_library(kind, &driver).unwrap();
            assert_eq!(allocator.kind(), kind);
            let sizes = [100, 3 * MIB, 700 * MIB, 17, 90 * MIB, 90 * MIB, 1 << 20];
            let handles: Vec<Handle> = sizes
                .iter()
                .map(|bytes| ask(allocator.as_mut(), *bytes).unwrap())
                .collect();
            allocator.free(handles[4]);
            let mut ranges: Vec<Range> = handles.iter().filter_map(|h| allocator.range(*h)).collect();
            assert_eq!(ranges.len(), sizes.len() - 1);
            ranges.sort_by_key(|r| (r.block, r.offset));
            for pair in ranges.windows(2) {
                assert!(pair[0].block != pair[1].block || pair[0].offset + pair[0].bytes <= pair[1].offset);
            }
            for range in &ranges {
                let (_, bytes, _) = *driver.blocks().iter().find(|(id, ..)| *id == range.block).unwrap();
                assert!(
                    range.offset % ALIGNMENT == 0 && range.offset + range.bytes <= bytes,
                    "{range:?}"
                );
            }
            let used: u64 = ranges.iter().map(|r| r.bytes).sum();
            let free = allocator.free_space();
            assert_eq!(free.bytes + used, driver.stats().reserved_bytes);
            assert!(free.largest <= free.bytes && free.largest > 0);
            assert!(matches!(ask(allocator.as_mut(), 4 * GIB), Err(Refused::Heap { .. })));
            drop(allocator);
            assert_eq!(driver.stats().reserved_bytes, 0, "{} keeps memory", kind.name());
        }
    }

    #[test]
    fn what_is_no_library_is_none() {
        let driver = SimulatedDriver::new(GIB, u64::MAX, BlockRounding::NONE);
        assert!(open_library(AllocatorKind::Planned, &driver).is_none());
        assert_eq!(
            open_library(AllocatorKind::Vma, &driver).is_some(),
            cfg!(feature = "vma")
        );
    }
}
