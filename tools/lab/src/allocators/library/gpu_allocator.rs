//! The crate gpu-allocator.

use ::gpu_allocator::MemoryLocation;
use ::gpu_allocator::vulkan::{self, Allocation, AllocationCreateDesc, AllocationScheme, AllocatorCreateDesc};

use super::device::{self, SimulatedDevice};
use super::{Entries, refused, requirements};
use crate::allocators::{Allocator, AllocatorKind, FreeSpace, Handle, Range, Refused, Request, SimulatedDriver};

/// The crate gpu-allocator with its usual block sizes.
struct GpuAllocator {
    // Dropped before the device that it calls.
    allocator: vulkan::Allocator,
    entries: Entries<Allocation>,
    driver: SimulatedDriver,
    _device: SimulatedDevice,
}

/// Opens the library; none when it refuses the device.
pub(super) fn open(driver: SimulatedDriver) -> Option<Box<dyn Allocator>> {
    let device = SimulatedDevice::new(driver.clone());
    let mut debug_settings = ::gpu_allocator::AllocatorDebugSettings::default();
    debug_settings.log_leaks_on_shutdown = false;
    let allocator = vulkan::Allocator::new(&AllocatorCreateDesc {
        instance: device.instance.clone(),
        device: device.device.clone(),
        physical_device: device.physical(),
        debug_settings,
        buffer_device_address: false,
        allocation_sizes: ::gpu_allocator::AllocationSizes::default(),
    });
    Some(Box::new(GpuAllocator {
        allocator: allocator.ok()?,
        entries: Entries::default(),
        driver,
        _device: device,
    }))
}

impl Allocator for GpuAllocator {
    fn kind(&self) -> AllocatorKind {
        AllocatorKind::GpuAllocator
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
            block: device::block(unsafe { allocation.memory() }),
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
