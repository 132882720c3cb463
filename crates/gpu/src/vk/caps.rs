//! What a physical device can do, as plain data that can be printed, stored and faked in tests.

mod query;

use ash::vk;

/// Kind of physical device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A card with its own memory.
    Discrete,
    /// A GPU that shares the system's memory.
    Integrated,
    /// A GPU seen through virtualisation.
    Virtual,
    /// A software driver.
    Cpu,
    /// Anything else.
    #[default]
    Other,
}

/// Which kernel variants run on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// No float atomics, no subgroup operations.
    Portable,
    /// Subgroup operations, and float atomics where there are any.
    Fast,
}

/// One memory heap.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryHeap {
    /// Size in bytes.
    pub bytes: u64,
    /// True when the heap is the device's own.
    pub device_local: bool,
}

/// One memory type.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct MemoryType {
    /// Index of the heap it allocates from.
    pub heap: u32,
    /// Resides in device memory.
    pub device_local: bool,
    /// Can be mapped.
    pub host_visible: bool,
    /// Needs no flushes when mapped.
    pub host_coherent: bool,
    /// Cached on the host side; fast to read back.
    pub host_cached: bool,
    /// For uses that Kiln has none of (protected, lazily allocated, device-coherent): never chosen.
    pub special: bool,
}

/// Capabilities of one physical device; by default of one that can do nothing.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Caps {
    /// Position in the loader's list.
    pub index: usize,
    /// Marketing name.
    pub name: String,
    /// Driver name and version text.
    pub driver: String,
    /// The driver translates to another interface and is no card's own: Mesa's dzn, to Direct3D 12.
    pub translates: bool,
    /// Vulkan version, as (major, minor, patch).
    pub api: (u32, u32, u32),
    /// PCI vendor id.
    pub vendor_id: u32,
    /// Device UUID, hexadecimal.
    pub uuid: String,
    /// The system's identifier of the adapter until it restarts, by which Windows counts memory; none where the driver has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub luid: Option<u64>,
    /// Kind of device.
    pub kind: DeviceKind,
    /// Lanes of a subgroup.
    pub subgroup_size: u32,
    /// Pipelines ask for that size: the device can do others, and what it takes by itself is not 32 or not always the same.
    pub pins_subgroups: bool,
    /// Basic, vote, ballot and shuffle operations in compute shaders: those that kernels use.
    pub subgroup_ops: bool,
    /// Native float addition on storage buffers.
    pub float_atomics: bool,
    /// Largest storage-buffer binding, bytes.
    pub max_binding_bytes: u64,
    /// Storage buffers a compute stage may bind.
    pub max_bindings: u32,
    /// Alignment of a binding's offset, bytes.
    pub binding_alignment: u64,
    /// Shared memory of a workgroup, bytes.
    pub shared_bytes: u32,
    /// Push constants, bytes.
    pub push_bytes: u32,
    /// Largest single allocation, bytes.
    pub max_allocation_bytes: u64,
    /// Nanoseconds per timestamp tick; 0 when the queue has no timestamps.
    pub timestamp_period_ns: f32,
    /// Heaps.
    pub heaps: Vec<MemoryHeap>,
    /// Memory types in the driver's order of preference.
    pub types: Vec<MemoryType>,
    /// `VK_EXT_memory_budget` present.
    pub memory_budget: bool,
    /// `VK_EXT_memory_priority` present.
    pub memory_priority: bool,
    /// `VK_EXT_pageable_device_local_memory` present: what was paged out comes back when there is room again.
    pub pageable_memory: bool,
    /// `VK_AMD_memory_overallocation_behavior` present: the driver can be set to refuse more than there is.
    pub overallocation_behavior: bool,
    /// `VK_KHR_pipeline_executable_properties` present and on: the driver reports what its compiler made of a shader.
    pub pipeline_statistics: bool,
    /// Timeline semaphores (core 1.2).
    pub timeline: bool,
    #[serde(skip)]
    pub(super) handle: vk::PhysicalDevice,
    #[serde(skip)]
    pub(super) queue_family: Option<u32>,
}

impl Caps {
    /// The device as far as the portable tier uses it: no float atomics, bindings of 128 MiB, 32 KiB of shared memory and 128
    /// bytes of push constants, which every device has.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.float_atomics = false;
        self.max_binding_bytes = self.max_binding_bytes.min(128 << 20);
        self.shared_bytes = self.shared_bytes.min(32 << 10);
        self.push_bytes = self.push_bytes.min(128);
        self
    }

    /// The tier this device reaches without being forced.
    ///
    /// Subgroups of 64 and 128 lanes have not been seen to work by anyone here, so those devices run without subgroup
    /// operations.
    #[must_use]
    pub fn tier(&self) -> Tier {
        let known_subgroup = (4..=32).contains(&self.subgroup_size) && self.subgroup_size.is_power_of_two();
        if self.subgroup_ops && known_subgroup {
            Tier::Fast
        } else {
            Tier::Portable
        }
    }
}
