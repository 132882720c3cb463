//! A Vulkan device that is only a heap: for allocators that call the driver themselves.
//!
//! Its handles lead to a [`SimulatedDriver`]; the few entry points that allocators of memory need are there, the others
//! stop the program when they are called.

use std::ffi::{CStr, c_void};
use std::ptr::null;

use ash::vk::{self, Handle as _};
use kiln_program::Class;

use crate::allocators::{BlockId, Driver, SimulatedDriver};

/// Most bytes that the heap says it has: allocators multiply and add such sizes.
const LARGEST_HEAP: u64 = 1 << 44;

/// Instance, physical device and device over one simulated heap.
pub(super) struct SimulatedDevice {
    /// Boxed, because handles are its address.
    driver: Box<SimulatedDriver>,
    pub(super) instance: ash::Instance,
    pub(super) device: ash::Device,
}

impl SimulatedDevice {
    pub(super) fn new(driver: SimulatedDriver) -> Self {
        let driver = Box::new(driver);
        let address = std::ptr::from_ref::<SimulatedDriver>(&driver) as u64;
        // SAFETY: the entry points below have the types that their names stand for; all others are null, for which ash
        // puts functions that panic.
        let (instance, device) = unsafe {
            (
                ash::Instance::load_with(entry, vk::Instance::from_raw(address)),
                ash::Device::load_with(entry, vk::Device::from_raw(address)),
            )
        };
        Self {
            driver,
            instance,
            device,
        }
    }

    pub(super) fn physical(&self) -> vk::PhysicalDevice {
        vk::PhysicalDevice::from_raw(std::ptr::from_ref::<SimulatedDriver>(&self.driver) as u64)
    }
}

/// The block behind a memory handle.
pub(super) fn block(memory: vk::DeviceMemory) -> BlockId {
    BlockId(u32::try_from(memory.as_raw()).unwrap_or(u32::MAX))
}

fn entry(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkGetPhysicalDeviceMemoryProperties" => memory_properties as *const c_void,
        b"vkGetPhysicalDeviceProperties" => properties as *const c_void,
        b"vkAllocateMemory" => allocate as *const c_void,
        b"vkFreeMemory" => free as *const c_void,
        _ => null(),
    }
}

/// The driver whose address a handle is.
///
/// # Safety
/// The handle comes from a [`SimulatedDevice`] that is alive.
unsafe fn driver(handle: u64) -> SimulatedDriver {
    // SAFETY: see above.
    unsafe { &*(handle as *const SimulatedDriver) }.clone()
}

unsafe extern "system" fn memory_properties(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties,
) {
    // SAFETY: callers hand handles of a living device, as Vulkan asks of them.
    let driver = unsafe { driver(physical.as_raw()) };
    let mut found = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: 1,
        memory_heap_count: 1,
        ..Default::default()
    };
    found.memory_types[0] = vk::MemoryType {
        property_flags: vk::MemoryPropertyFlags::DEVICE_LOCAL,
        heap_index: 0,
    };
    found.memory_heaps[0] = vk::MemoryHeap {
        size: driver.heap_bytes().min(LARGEST_HEAP),
        flags: vk::MemoryHeapFlags::DEVICE_LOCAL,
    };
    // SAFETY: the caller hands a place for the answer.
    unsafe { properties.write(found) };
}

unsafe extern "system" fn properties(_: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    let limits = vk::PhysicalDeviceLimits {
        buffer_image_granularity: 1,
        non_coherent_atom_size: 64,
        max_memory_allocation_count: 4096,
        ..Default::default()
    };
    let found = vk::PhysicalDeviceProperties {
        api_version: vk::API_VERSION_1_2,
        limits,
        ..Default::default()
    };
    // SAFETY: the caller hands a place for the answer.
    unsafe { properties.write(found) };
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: callers hand handles of a living device and a valid description.
    let (mut driver, bytes) = unsafe { (driver(device.as_raw()), (*info).allocation_size) };
    match driver.take(bytes, Class::Persistent) {
        Ok(block) => {
            // SAFETY: the caller hands a place for the answer.
            unsafe { memory.write(vk::DeviceMemory::from_raw(block.0.into())) };
            vk::Result::SUCCESS
        }
        Err(_) => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
    }
}

unsafe extern "system" fn free(device: vk::Device, memory: vk::DeviceMemory, _: *const vk::AllocationCallbacks<'_>) {
    // SAFETY: callers hand handles of a living device.
    unsafe { driver(device.as_raw()) }.give(block(memory));
}
