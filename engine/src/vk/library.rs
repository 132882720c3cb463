//! Allocators of other projects behind the same trait as ours.
//!
//! They call the driver themselves, so they run on a [`SimulatedDevice`]: for replays, and for runs, whose blocks are then
//! committed where the library put them.

use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};

use ash::vk;

use super::simulated::{self, SimulatedDevice};
use crate::memory::backend::{Backend, BackendKind, FreeSpace, Handle, Range, Refused, Request, SimulatedDriver};
use crate::program::ALIGNMENT;

/// Opens the allocator `kind` of another project over a simulated heap; none when it is not one of those, or not built in.
#[must_use]
pub fn open_library(kind: BackendKind, driver: &SimulatedDriver) -> Option<Box<dyn Backend>> {
    match kind {
        BackendKind::GpuAllocator => GpuAllocator::new(driver.clone()).map(|backend| Box::new(backend) as _),
        #[cfg(feature = "vma")]
        BackendKind::Vma => super::vma::Vma::new(driver.clone()).map(|backend| Box::new(backend) as _),
        _ => None,
    }
}

/// What a request asks of Vulkan memory.
pub(super) fn requirements(request: &Request<'_>) -> vk::MemoryRequirements {
    vk::MemoryRequirements {
        size: request.bytes.max(1).next_multiple_of(ALIGNMENT),
        alignment: ALIGNMENT,
        memory_type_bits: 1,
    }
}

/// The answer to a request that a library refuses.
pub(super) fn refused(request: &Request<'_>, driver: &SimulatedDriver) -> Refused {
    let heap_bytes = driver.heap_bytes();
    Refused::Heap {
        bytes: request.bytes,
        free_bytes: heap_bytes.saturating_sub(driver.stats().reserved_bytes),
        heap_bytes,
    }
}

/// Entries with numbers that are given out again.
pub(super) struct Entries<T> {
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
    pub(super) fn put(&mut self, value: T) -> Handle {
        if let Some(at) = self.vacant.pop()
            && let Some(entry) = self.list.get_mut(at as usize)
        {
            *entry = Some(value);
            return Handle(at);
        }
        self.list.push(Some(value));
        Handle(u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn take(&mut self, handle: Handle) -> Option<T> {
        let value = self.list.get_mut(handle.0 as usize).and_then(Option::take)?;
        self.vacant.push(handle.0);
        Some(value)
    }

    pub(super) fn get(&self, handle: Handle) -> Option<&T> {
        self.list.get(handle.0 as usize)?.as_ref()
    }

    /// Takes all values out.
    #[cfg_attr(
        not(feature = "vma"),
        expect(dead_code, reason = "one of the allocators frees by itself")
    )]
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.list).into_iter().flatten()
    }
}

/// The crate gpu-allocator with its usual block sizes.
struct GpuAllocator {
    // Dropped before the device that it calls.
    allocator: Allocator,
    entries: Entries<Allocation>,
    driver: SimulatedDriver,
    _device: SimulatedDevice,
}

impl GpuAllocator {
    fn new(driver: SimulatedDriver) -> Option<Self> {
        let device = SimulatedDevice::new(driver.clone());
        let mut debug_settings = gpu_allocator::AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false;
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: device.instance.clone(),
            device: device.device.clone(),
            physical_device: device.physical(),
            debug_settings,
            buffer_device_address: false,
            allocation_sizes: gpu_allocator::AllocationSizes::default(),
        });
        Some(Self {
            allocator: allocator.ok()?,
            entries: Entries::default(),
            driver,
            _device: device,
        })
    }
}

impl Backend for GpuAllocator {
    fn kind(&self) -> BackendKind {
        BackendKind::GpuAllocator
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        let allocation = self.allocator.allocate(&AllocationCreateDesc {
            name: &request.desc.name,
            requirements: requirements(request),
            location: MemoryLocation::GpuOnly,
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = allocation.map_err(|_| refused(request, &self.driver))?;
        Ok(self.entries.put(allocation))
    }

    fn free(&mut self, handle: Handle) {
        if let Some(allocation) = self.entries.take(handle) {
            // The allocation is this allocator's own, which is all that it checks.
            let _ = self.allocator.free(allocation);
        }
    }

    fn range(&self, handle: Handle) -> Option<Range> {
        let allocation = self.entries.get(handle)?;
        Some(Range {
            // SAFETY: the handle is only looked at.
            block: simulated::block(unsafe { allocation.memory() }),
            offset: allocation.offset(),
            bytes: allocation.size(),
        })
    }

    fn free_space(&self) -> FreeSpace {
        let report = self.allocator.generate_report();
        let mut largest = 0;
        for block in &report.blocks {
            let inside = report.allocations.get(block.allocations.clone()).unwrap_or_default();
            let mut ranges: Vec<(u64, u64)> = inside.iter().map(|a| (a.offset, a.offset + a.size)).collect();
            ranges.sort_unstable();
            let mut end = 0;
            for (from, to) in ranges {
                largest = largest.max(from.saturating_sub(end));
                end = end.max(to);
            }
            largest = largest.max(block.size.saturating_sub(end));
        }
        FreeSpace {
            bytes: report.total_capacity_bytes - report.total_allocated_bytes,
            largest,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::memory::{BlockRounding, GIB, MIB};
    use crate::program::{Class, Tag, TensorDesc};

    fn libraries() -> impl Iterator<Item = BackendKind> {
        let mut kinds = vec![BackendKind::GpuAllocator];
        if cfg!(feature = "vma") {
            kinds.push(BackendKind::Vma);
        }
        kinds.into_iter()
    }

    fn ask(backend: &mut dyn Backend, bytes: u64) -> Result<Handle, Refused> {
        let desc = TensorDesc {
            name: "tensor".to_owned(),
            class: Class::Persistent,
            tag: Tag::Other,
            bytes,
        };
        backend.allocate(&Request::whole(0, &desc))
    }

    #[test]
    fn libraries_place_ranges_apart_in_blocks_of_the_simulated_heap() {
        for kind in libraries() {
            let driver = SimulatedDriver::new(4 * GIB, u64::MAX, BlockRounding::NONE);
            let mut backend = open_library(kind, &driver).unwrap();
            assert_eq!(backend.kind(), kind);
            let sizes = [100, 3 * MIB, 700 * MIB, 17, 90 * MIB, 90 * MIB, 1 << 20];
            let handles: Vec<Handle> = sizes
                .iter()
                .map(|bytes| ask(backend.as_mut(), *bytes).unwrap())
                .collect();
            backend.free(handles[4]);
            let mut ranges: Vec<Range> = handles.iter().filter_map(|h| backend.range(*h)).collect();
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
            let free = backend.free_space();
            assert_eq!(free.bytes + used, driver.stats().reserved_bytes);
            assert!(free.largest <= free.bytes && free.largest > 0);
            assert!(matches!(ask(backend.as_mut(), 4 * GIB), Err(Refused::Heap { .. })));
            drop(backend);
            assert_eq!(driver.stats().reserved_bytes, 0, "{} keeps memory", kind.name());
        }
    }

    #[test]
    fn what_is_no_library_is_none() {
        let driver = SimulatedDriver::new(GIB, u64::MAX, BlockRounding::NONE);
        assert!(open_library(BackendKind::Planned, &driver).is_none());
        assert_eq!(open_library(BackendKind::Vma, &driver).is_some(), cfg!(feature = "vma"));
    }
}
