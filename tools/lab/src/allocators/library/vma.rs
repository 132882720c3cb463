//! The Vulkan Memory Allocator.

use ash::vk;
use vk_mem::{Alloc, Allocation, AllocationCreateInfo, AllocatorCreateInfo};

use super::device::{self, SimulatedDevice};
use super::{Entries, refused, requirements};
use crate::allocators::{Allocator, AllocatorKind, FreeSpace, Handle, Range, Refused, Request, SimulatedDriver};

/// VMA with its usual block sizes, over a simulated heap.
struct Vma {
    // Dropped before the device that it calls.
    allocator: vk_mem::Allocator,
    entries: Entries<Allocation>,
    driver: SimulatedDriver,
    _device: SimulatedDevice,
}

/// Opens the library; none when it refuses the device.
pub(super) fn open(driver: SimulatedDriver) -> Option<Box<dyn Allocator>> {
    let device = SimulatedDevice::new(driver.clone());
    let info = AllocatorCreateInfo::new(&device.instance, &device.device, device.physical());
    // SAFETY: instance and device live longer than the allocator, see the order of the fields.
    let allocator = unsafe { vk_mem::Allocator::new(info) }.ok()?;
    Some(Box::new(Vma {
        allocator,
        entries: Entries::default(),
        driver,
        _device: device,
    }))
}

impl Drop for Vma {
    fn drop(&mut self) {
        for mut allocation in self.entries.drain() {
            // SAFETY: the allocation is this allocator's own and nothing uses it.
            unsafe { self.allocator.free_memory(&mut allocation) };
        }
    }
}

impl Allocator for Vma {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::Vma
    }

    fn allocate(&mut self, request: &Request<'_>) -> Result<Handle, Refused> {
        let info = AllocationCreateInfo {
            required_flags: vk::MemoryPropertyFlags::DEVICE_LOCAL,
            ..Default::default()
        };
        // SAFETY: the requirements are of no resource, and the memory is bound to none.
        let allocation = unsafe { self.allocator.allocate_memory(&requirements(request), &info) };
        let allocation = allocation.map_err(|_| refused(request, &self.driver))?;
        Ok(self.entries.put(allocation))
    }

    fn free(&mut self, handle: Handle) {
        if let Some(mut allocation) = self.entries.take(handle) {
            // SAFETY: the allocation is this allocator's own and nothing uses it.
            unsafe { self.allocator.free_memory(&mut allocation) };
        }
    }

    fn range(&self, handle: Handle) -> Option<Range> {
        let info = self.allocator.get_allocation_info(self.entries.get(handle)?);
        Some(Range {
            block: device::block(info.device_memory),
            offset: info.offset,
            bytes: info.size,
        })
    }

    fn free_space(&self) -> FreeSpace {
        let Ok(all) = self.allocator.calculate_statistics() else {
            return FreeSpace::default();
        };
        FreeSpace {
            bytes: all.total.statistics.blockBytes - all.total.statistics.allocationBytes,
            largest: all.total.unusedRangeSizeMax,
        }
    }
}
