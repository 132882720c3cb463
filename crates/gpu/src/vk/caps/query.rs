//! The queries behind [`Caps`]: what a driver reports of a device.

use std::ffi::{CStr, FromBytesUntilNulError};
use std::ptr::null_mut;

use ash::vk;

use super::{Caps, DeviceKind, MemoryHeap, MemoryType};

/// Operations in subgroups that kernels use.
const SUBGROUP_OPS: vk::SubgroupFeatureFlags = vk::SubgroupFeatureFlags::from_raw(
    vk::SubgroupFeatureFlags::BASIC.as_raw()
        | vk::SubgroupFeatureFlags::VOTE.as_raw()
        | vk::SubgroupFeatureFlags::BALLOT.as_raw()
        | vk::SubgroupFeatureFlags::SHUFFLE.as_raw(),
);

impl Caps {
    /// Capabilities of `handle`, a device of `instance` and number `index` of its list.
    pub(in crate::vk) fn query(instance: &ash::Instance, handle: vk::PhysicalDevice, index: usize) -> Self {
        let extensions = Extensions::of(instance, handle);
        let properties = Properties::of(instance, handle, &extensions);
        let features = Features::of(instance, handle, &extensions);
        let queue = ComputeQueue::of(instance, handle);
        // SAFETY: a plain query on a live instance and a handle it returned.
        let memory = unsafe { instance.get_physical_device_memory_properties(handle) };
        let (core, limits) = (&properties.core, &properties.core.limits);
        let pinned = properties.pinned_subgroups(features.subgroup_sizes);
        Self {
            index,
            name: text(core.device_name_as_c_str()),
            driver: properties.driver_line(),
            translates: properties.driver.driver_id == vk::DriverId::MESA_DOZEN,
            api: (
                vk::api_version_major(core.api_version),
                vk::api_version_minor(core.api_version),
                vk::api_version_patch(core.api_version),
            ),
            vendor_id: core.vendor_id,
            uuid: properties.uuid.iter().map(|b| format!("{b:02x}")).collect(),
            luid: properties.luid,
            kind: DeviceKind::of(core.device_type),
            subgroup_size: pinned.unwrap_or(properties.subgroup.subgroup_size),
            pins_subgroups: pinned.is_some(),
            subgroup_ops: properties.has_subgroup_ops(),
            float_atomics: features.float_atomics,
            max_binding_bytes: u64::from(limits.max_storage_buffer_range),
            max_bindings: limits
                .max_per_stage_descriptor_storage_buffers
                .min(limits.max_descriptor_set_storage_buffers),
            binding_alignment: limits.min_storage_buffer_offset_alignment,
            shared_bytes: limits.max_compute_shared_memory_size,
            push_bytes: limits.max_push_constants_size,
            max_allocation_bytes: properties.max_allocation_bytes,
            timestamp_period_ns: if queue.has_timestamps {
                limits.timestamp_period
            } else {
                0.0
            },
            heaps: memory.memory_heaps_as_slice().iter().map(MemoryHeap::of).collect(),
            types: memory.memory_types_as_slice().iter().map(MemoryType::of).collect(),
            memory_budget: extensions.has(ash::ext::memory_budget::NAME),
            memory_priority: extensions.has(ash::ext::memory_priority::NAME),
            pageable_memory: extensions.has(ash::ext::memory_priority::NAME)
                && extensions.has(ash::ext::pageable_device_local_memory::NAME),
            overallocation_behavior: extensions.has(ash::amd::memory_overallocation_behavior::NAME),
            pipeline_statistics: features.executables,
            timeline: features.timeline,
            handle,
            queue_family: queue.family,
        }
    }
}

/// Extensions that a device has.
struct Extensions(Vec<vk::ExtensionProperties>);

impl Extensions {
    fn of(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Self {
        // SAFETY: a plain query on a live instance and a handle it returned.
        Self(unsafe { instance.enumerate_device_extension_properties(handle) }.unwrap_or_default())
    }

    fn has(&self, name: &CStr) -> bool {
        self.0.iter().any(|e| e.extension_name_as_c_str() == Ok(name))
    }

    /// Part of Vulkan 1.3; this engine asks for 1.2.
    fn has_subgroup_sizes(&self) -> bool {
        self.has(ash::ext::subgroup_size_control::NAME)
    }
}

/// What a device is, and its limits.
struct Properties {
    core: vk::PhysicalDeviceProperties,
    driver: vk::PhysicalDeviceDriverProperties<'static>,
    subgroup: vk::PhysicalDeviceSubgroupProperties<'static>,
    sizes: vk::PhysicalDeviceSubgroupSizeControlProperties<'static>,
    uuid: [u8; vk::UUID_SIZE],
    luid: Option<u64>,
    max_allocation_bytes: u64,
}

impl Properties {
    fn of(instance: &ash::Instance, handle: vk::PhysicalDevice, extensions: &Extensions) -> Self {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut limits3 = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut ids = vk::PhysicalDeviceIDProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut all = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut driver)
            .push_next(&mut subgroup)
            .push_next(&mut limits3)
            .push_next(&mut ids);
        if extensions.has_subgroup_sizes() {
            all = all.push_next(&mut sizes);
        }
        // SAFETY: a plain query on a live instance and a handle it returned; what `all` points to lives through the call.
        unsafe { instance.get_physical_device_properties2(handle, &mut all) };
        let core = all.properties;
        // The structures that they point to are not kept with them.
        (driver.p_next, subgroup.p_next, sizes.p_next) = (null_mut(), null_mut(), null_mut());
        Self {
            core,
            driver,
            subgroup,
            sizes,
            uuid: ids.device_uuid,
            // The system's structure: low half, high half.
            luid: (ids.device_luid_valid == vk::TRUE).then(|| u64::from_le_bytes(ids.device_luid)),
            max_allocation_bytes: limits3.max_memory_allocation_size,
        }
    }

    /// Driver name and version text.
    fn driver_line(&self) -> String {
        let [name, version] = [self.driver.driver_name_as_c_str(), self.driver.driver_info_as_c_str()].map(text);
        format!("{name} {version}")
    }

    fn has_subgroup_ops(&self) -> bool {
        self.subgroup.supported_operations.contains(SUBGROUP_OPS)
            && self.subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE)
    }

    /// The subgroup size that pipelines ask for, where the device `has_control` over it.
    fn pinned_subgroups(&self, has_control: bool) -> Option<u32> {
        let stages = self.sizes.required_subgroup_size_stages;
        let can_pin = has_control && stages.contains(vk::ShaderStageFlags::COMPUTE);
        let range = [self.sizes.min_subgroup_size, self.sizes.max_subgroup_size];
        pinned_size(self.subgroup.subgroup_size, can_pin.then_some(range))
    }
}

/// Optional features that a device has.
struct Features {
    timeline: bool,
    float_atomics: bool,
    executables: bool,
    subgroup_sizes: bool,
}

impl Features {
    fn of(instance: &ash::Instance, handle: vk::PhysicalDevice, extensions: &Extensions) -> Self {
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
        let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
        let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut timeline);
        if extensions.has(ash::khr::pipeline_executable_properties::NAME) {
            all = all.push_next(&mut executables);
        }
        if extensions.has_subgroup_sizes() {
            all = all.push_next(&mut sizes);
        }
        if extensions.has(ash::ext::shader_atomic_float::NAME) {
            all = all.push_next(&mut atomics);
        }
        // SAFETY: a plain query on a live instance and a handle it returned; what `all` points to lives through the call.
        unsafe { instance.get_physical_device_features2(handle, &mut all) };
        Self {
            timeline: timeline.timeline_semaphore == vk::TRUE,
            float_atomics: atomics.shader_buffer_float32_atomic_add == vk::TRUE,
            executables: executables.pipeline_executable_info != 0,
            subgroup_sizes: sizes.subgroup_size_control == vk::TRUE,
        }
    }
}

/// The first queue family that computes.
struct ComputeQueue {
    family: Option<u32>,
    /// It counts at least 32 bits of time.
    has_timestamps: bool,
}

impl ComputeQueue {
    fn of(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Self {
        // SAFETY: a plain query on a live instance and a handle it returned.
        let families = unsafe { instance.get_physical_device_queue_family_properties(handle) };
        let mut numbered = (0_u32..).zip(&families);
        let found = numbered.find(|(_, family)| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
        Self {
            family: found.map(|(number, _)| number),
            has_timestamps: found.is_some_and(|(_, family)| family.timestamp_valid_bits >= 32),
        }
    }
}

impl DeviceKind {
    fn of(kind: vk::PhysicalDeviceType) -> Self {
        match kind {
            vk::PhysicalDeviceType::DISCRETE_GPU => Self::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => Self::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => Self::Virtual,
            vk::PhysicalDeviceType::CPU => Self::Cpu,
            _ => Self::Other,
        }
    }
}

impl MemoryHeap {
    fn of(heap: &vk::MemoryHeap) -> Self {
        Self {
            bytes: heap.size,
            device_local: heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
        }
    }
}

impl MemoryType {
    fn of(kind: &vk::MemoryType) -> Self {
        let flags = kind.property_flags;
        Self {
            heap: kind.heap_index,
            device_local: flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL),
            host_visible: flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE),
            host_coherent: flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT),
            host_cached: flags.contains(vk::MemoryPropertyFlags::HOST_CACHED),
            special: flags.intersects(
                vk::MemoryPropertyFlags::PROTECTED
                    | vk::MemoryPropertyFlags::LAZILY_ALLOCATED
                    | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD
                    | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD,
            ),
        }
    }
}

/// A driver's text; empty where it has no end.
fn text(found: Result<&CStr, FromBytesUntilNulError>) -> String {
    found.map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
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
