//! What a physical device can do, as plain data that can be printed, stored and faked in tests.

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
    pub(super) fn query(instance: &ash::Instance, handle: vk::PhysicalDevice, index: usize) -> Self {
        // SAFETY: plain queries on a live instance and a handle it returned.
        unsafe {
            let extensions = instance
                .enumerate_device_extension_properties(handle)
                .unwrap_or_default();
            let has = |name: &std::ffi::CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
            let mut limits3 = vk::PhysicalDeviceMaintenance3Properties::default();
            let mut ids = vk::PhysicalDeviceIDProperties::default();
            let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
            // Part of Vulkan 1.3; this engine asks for 1.2.
            let has_sizes = has(ash::ext::subgroup_size_control::NAME);
            let mut properties = vk::PhysicalDeviceProperties2::default()
                .push_next(&mut driver)
                .push_next(&mut subgroup)
                .push_next(&mut limits3)
                .push_next(&mut ids);
            if has_sizes {
                properties = properties.push_next(&mut sizes);
            }
            instance.get_physical_device_properties2(handle, &mut properties);
            let core = properties.properties;
            let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
            let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
            let has_atomics = has(ash::ext::shader_atomic_float::NAME);
            let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
            let has_executables = has(ash::khr::pipeline_executable_properties::NAME);
            let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut timeline);
            if has_executables {
                features = features.push_next(&mut executables);
            }
            let mut size_control = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
            if has_sizes {
                features = features.push_next(&mut size_control);
            }
            if has_atomics {
                features = features.push_next(&mut atomics);
            }
            instance.get_physical_device_features2(handle, &mut features);
            let memory = instance.get_physical_device_memory_properties(handle);
            let families = instance.get_physical_device_queue_family_properties(handle);
            let queue_family = families
                .iter()
                .position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE))
                .and_then(|i| u32::try_from(i).ok());
            let timestamps = queue_family
                .and_then(|i| families.get(i as usize))
                .is_some_and(|f| f.timestamp_valid_bits >= 32);
            let wanted = vk::SubgroupFeatureFlags::BASIC
                | vk::SubgroupFeatureFlags::VOTE
                | vk::SubgroupFeatureFlags::BALLOT
                | vk::SubgroupFeatureFlags::SHUFFLE;
            let limits = core.limits;
            let can_pin = size_control.subgroup_size_control == vk::TRUE
                && sizes
                    .required_subgroup_size_stages
                    .contains(vk::ShaderStageFlags::COMPUTE);
            let pinned = pinned_size(
                subgroup.subgroup_size,
                can_pin.then_some([sizes.min_subgroup_size, sizes.max_subgroup_size]),
            );
            Self {
                index,
                name: core
                    .device_name_as_c_str()
                    .map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned()),
                driver: format!(
                    "{} {}",
                    driver
                        .driver_name_as_c_str()
                        .map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned()),
                    driver
                        .driver_info_as_c_str()
                        .map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned())
                ),
                translates: driver.driver_id == vk::DriverId::MESA_DOZEN,
                api: (
                    vk::api_version_major(core.api_version),
                    vk::api_version_minor(core.api_version),
                    vk::api_version_patch(core.api_version),
                ),
                vendor_id: core.vendor_id,
                uuid: ids.device_uuid.iter().map(|b| format!("{b:02x}")).collect(),
                kind: match core.device_type {
                    vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
                    vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
                    vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
                    vk::PhysicalDeviceType::CPU => DeviceKind::Cpu,
                    _ => DeviceKind::Other,
                },
                subgroup_size: pinned.unwrap_or(subgroup.subgroup_size),
                pins_subgroups: pinned.is_some(),
                subgroup_ops: subgroup.supported_operations.contains(wanted)
                    && subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE),
                float_atomics: has_atomics && atomics.shader_buffer_float32_atomic_add == vk::TRUE,
                max_binding_bytes: u64::from(limits.max_storage_buffer_range),
                max_bindings: limits
                    .max_per_stage_descriptor_storage_buffers
                    .min(limits.max_descriptor_set_storage_buffers),
                binding_alignment: limits.min_storage_buffer_offset_alignment,
                shared_bytes: limits.max_compute_shared_memory_size,
                push_bytes: limits.max_push_constants_size,
                max_allocation_bytes: limits3.max_memory_allocation_size,
                timestamp_period_ns: if timestamps { limits.timestamp_period } else { 0.0 },
                heaps: memory
                    .memory_heaps_as_slice()
                    .iter()
                    .map(|h| MemoryHeap {
                        bytes: h.size,
                        device_local: h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
                    })
                    .collect(),
                types: memory
                    .memory_types_as_slice()
                    .iter()
                    .map(|t| MemoryType {
                        heap: t.heap_index,
                        device_local: t.property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL),
                        host_visible: t.property_flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE),
                        host_coherent: t.property_flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT),
                        host_cached: t.property_flags.contains(vk::MemoryPropertyFlags::HOST_CACHED),
                        special: t.property_flags.intersects(
                            vk::MemoryPropertyFlags::PROTECTED
                                | vk::MemoryPropertyFlags::LAZILY_ALLOCATED
                                | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD
                                | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD,
                        ),
                    })
                    .collect(),
                memory_budget: has(ash::ext::memory_budget::NAME),
                memory_priority: has(ash::ext::memory_priority::NAME),
                pageable_memory: has(ash::ext::memory_priority::NAME)
                    && has(ash::ext::pageable_device_local_memory::NAME),
                overallocation_behavior: has(ash::amd::memory_overallocation_behavior::NAME),
                pipeline_statistics: executables.pipeline_executable_info != 0,
                timeline: timeline.timeline_semaphore == vk::TRUE,
                handle,
                queue_family,
            }
        }
    }

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

/// The subgroup size that pipelines ask for on a device that takes `reported` by itself and can do a `range`: 32, which the
/// kernels are made for. AMD's cards from RDNA on take 64 and can do 32; Intel's choose by shader among 8, 16 and 32.
fn pinned_size(reported: u32, range: Option<[u32; 2]>) -> Option<u32> {
    let [least, most] = range?;
    let has_choice = least < most;
    let pinned = if (least..=most).contains(&32) { 32 } else { reported };
    has_choice.then_some(pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_lanes_are_asked_for_where_there_is_a_choice() {
        // NVIDIA, lavapipe, GCN; RDNA, Intel; a device that says nothing.
        for (reported, range, wanted) in [
            (32, Some([32, 32]), None),
            (8, Some([8, 8]), None),
            (64, Some([64, 64]), None),
            (64, Some([32, 64]), Some(32)),
            (32, Some([8, 32]), Some(32)),
            (16, Some([4, 16]), Some(16)),
            (64, None, None),
        ] {
            assert_eq!(pinned_size(reported, range), wanted, "{reported}, {range:?}");
        }
    }
}
