//! The logical device and its one compute queue.

use std::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ash::vk;
use kiln_system::SharedGpuMemory;

use super::pipeline::PipelineCache;
use super::{BlockRounding, Caps, Instance, VkError};

/// How long a submission may take where nothing else is asked for: a twentieth of what Windows gives a device to answer.
const SUBMIT_LIMIT_MS: u32 = 100;

/// A logical device. Everything made from it keeps it alive.
pub struct Device {
    instance: Arc<Instance>,
    caps: Caps,
    raw: ash::Device,
    queue: vk::Queue,
    queue_family: u32,
    block_rounding: BlockRounding,
    pipelines: PipelineCache,
    /// What the system counts of it.
    shared_memory: Option<SharedGpuMemory>,
    allocations: AtomicU64,
    recordings: AtomicU64,
    /// Calls that may find no memory, and the one of them that fails so.
    attempts: AtomicU64,
    failing_attempt: AtomicU64,
    reserved_bytes: AtomicU64,
    peak_reserved_bytes: AtomicU64,
    /// Set by [`Device::lose`].
    lost: AtomicBool,
    marks_passes: AtomicBool,
    statistics_calls: Option<ash::khr::pipeline_executable_properties::Device>,
    keeps_statistics: AtomicBool,
    /// 0 = none.
    submit_limit_ms: AtomicU32,
}

/// The queue family of a device that can do what the portable tier needs.
fn supported(caps: &Caps) -> Result<u32, VkError> {
    let unsupported = |what: &str| VkError::Unsupported {
        device: caps.name.clone(),
        what: what.to_owned(),
    };
    if (caps.api.0, caps.api.1) < (1, 2) {
        return Err(unsupported("Vulkan 1.2"));
    }
    if !caps.timeline {
        return Err(unsupported("timeline semaphores"));
    }
    if caps.shared_bytes < 32 * 1024 {
        return Err(unsupported("32 KiB of shared memory"));
    }
    if caps.max_bindings < 16 {
        return Err(unsupported("16 storage buffers in a compute shader"));
    }
    caps.queue_family.ok_or_else(|| unsupported("a compute queue"))
}

/// The extensions that are asked for: those that the device has.
fn extensions(caps: &Caps) -> Vec<*const c_char> {
    let all = [
        (caps.memory_budget, ash::ext::memory_budget::NAME),
        (caps.memory_priority, ash::ext::memory_priority::NAME),
        (caps.pageable_memory, ash::ext::pageable_device_local_memory::NAME),
        (
            caps.overallocation_behavior,
            ash::amd::memory_overallocation_behavior::NAME,
        ),
        (caps.pins_subgroups, ash::ext::subgroup_size_control::NAME),
        (caps.pipeline_statistics, ash::khr::pipeline_executable_properties::NAME),
        (caps.float_atomics, ash::ext::shader_atomic_float::NAME),
    ];
    let there = all.into_iter().filter(|(is_there, _)| *is_there);
    there.map(|(_, name)| name.as_ptr()).collect()
}

/// A device with one queue of this family, and the features that `caps` has.
fn create(instance: &Instance, caps: &Caps, queue_family: u32) -> Result<ash::Device, VkError> {
    // A higher one goes before the desktop's own work on some drivers.
    let priorities = [0.5];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(queue_family)
        .queue_priorities(&priorities)];
    let extensions = extensions(caps);
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default().shader_buffer_float32_atomic_add(true);
    let mut priority = vk::PhysicalDeviceMemoryPriorityFeaturesEXT::default().memory_priority(true);
    let mut pageable =
        vk::PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT::default().pageable_device_local_memory(true);
    // A driver that gives more than there is pages in silence; one that refuses can be answered.
    let mut overallocation = vk::DeviceMemoryOverallocationCreateInfoAMD::default()
        .overallocation_behavior(vk::MemoryOverallocationBehaviorAMD::DISALLOWED);
    let mut executables =
        vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default().subgroup_size_control(true);
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut timeline);
    if caps.float_atomics {
        info = info.push_next(&mut atomics);
    }
    if caps.pipeline_statistics {
        info = info.push_next(&mut executables);
    }
    if caps.pins_subgroups {
        info = info.push_next(&mut sizes);
    }
    if caps.memory_priority {
        info = info.push_next(&mut priority);
    }
    if caps.pageable_memory {
        info = info.push_next(&mut pageable);
    }
    if caps.overallocation_behavior {
        info = info.push_next(&mut overallocation);
    }
    // SAFETY: the handle comes from this instance and `info` lives through the call.
    unsafe { instance.raw.create_device(caps.handle, &info, None) }.map_err(VkError::call("vkCreateDevice"))
}

impl Device {
    /// Opens physical device `caps` with the features its tier needs.
    ///
    /// # Errors
    /// [`VkError::Unsupported`] when the device is below the portable tier.
    pub fn open(instance: &Arc<Instance>, caps: Caps) -> Result<Arc<Self>, VkError> {
        let queue_family = supported(&caps)?;
        let raw = create(instance, &caps, queue_family)?;
        // SAFETY: family and index were requested above.
        let queue = unsafe { raw.get_device_queue(queue_family, 0) };
        let statistics_calls = caps
            .pipeline_statistics
            .then(|| ash::khr::pipeline_executable_properties::Device::new(&instance.raw, &raw));
        let shared_memory = caps.luid.and_then(SharedGpuMemory::of);
        let mut device = Self {
            shared_memory,
            statistics_calls,
            keeps_statistics: AtomicBool::new(false),
            instance: instance.clone(),
            caps,
            raw,
            queue,
            queue_family,
            block_rounding: BlockRounding::NONE,
            pipelines: PipelineCache::default(),
            allocations: AtomicU64::new(0),
            recordings: AtomicU64::new(0),
            attempts: AtomicU64::new(0),
            failing_attempt: AtomicU64::new(u64::MAX),
            reserved_bytes: AtomicU64::new(0),
            peak_reserved_bytes: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            marks_passes: AtomicBool::new(false),
            submit_limit_ms: AtomicU32::new(SUBMIT_LIMIT_MS),
        };
        device.block_rounding = BlockRounding::measure(&device.raw)?;
        Ok(Arc::new(device))
    }

    /// What the device can do.
    #[must_use]
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// The instance behind the device.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// How many bytes the driver wants for a block of a given size.
    #[must_use]
    pub fn block_rounding(&self) -> BlockRounding {
        self.block_rounding
    }

    /// Driver allocations made so far; constant once a run has started.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Command buffers recorded so far; steps of a run record none, unless they take so long that they are cut anew.
    #[must_use]
    pub fn recordings(&self) -> u64 {
        self.recordings.load(Ordering::Relaxed)
    }

    /// Calls so far for which a driver may have no memory left: those that make buffers, memory, pools, sets, pipelines.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Lets the attempt with this number, counted from 0, fail as if the driver had no memory left.
    pub fn fail_attempt(&self, number: u64) {
        self.failing_attempt.store(number, Ordering::Relaxed);
    }

    /// Counts a call that may find no memory.
    pub(super) fn attempt(&self, call: &'static str) -> Result<(), VkError> {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        if number == self.failing_attempt.load(Ordering::Relaxed) {
            return Err(VkError::call(call)(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
        Ok(())
    }

    /// From now on acts as if the driver had lost the device: whatever is submitted or waited for says so.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Release);
    }

    /// True after [`Device::lose`].
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Refuses to do `what` on a device that is lost.
    pub(super) fn check(&self, what: &str) -> Result<(), VkError> {
        match self.is_lost() {
            true => Err(VkError::Lost {
                during: what.to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Whether queues made from now on have a word in host memory that names the pass.
    pub fn mark_passes(&self, on: bool) {
        self.marks_passes.store(on, Ordering::Relaxed);
    }

    pub(super) fn marks_passes(&self) -> bool {
        self.marks_passes.load(Ordering::Relaxed)
    }

    /// Pipelines made from now on keep what [`Pipeline::statistics`](super::Pipeline::statistics) reports.
    pub fn keep_statistics(&self) {
        self.keeps_statistics.store(true, Ordering::Relaxed);
    }

    pub(super) fn keeps_statistics(&self) -> bool {
        self.caps.pipeline_statistics && self.keeps_statistics.load(Ordering::Relaxed)
    }

    pub(super) fn statistics_calls(&self) -> Option<&ash::khr::pipeline_executable_properties::Device> {
        self.statistics_calls.as_ref()
    }

    /// Calls go through `raw` from now on.
    #[cfg(test)]
    pub(super) fn replace(&mut self, raw: ash::Device) {
        self.raw = raw;
    }

    /// Programs compiled from now on are submitted in parts that take no longer than this, as far as they can be cut; 0 = in
    /// one. [`SUBMIT_LIMIT_MS`] until it is called.
    pub fn limit_submissions(&self, limit_ms: u32) {
        self.submit_limit_ms.store(limit_ms, Ordering::Relaxed);
    }

    pub(super) fn submit_limit_ms(&self) -> Option<f64> {
        let limit = self.submit_limit_ms.load(Ordering::Relaxed);
        (limit > 0).then(|| f64::from(limit))
    }

    /// Bytes of device memory taken from the driver and not given back.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes.load(Ordering::Relaxed)
    }

    /// Most that [`Device::reserved_bytes`] was since the last [`Device::restart_peak`]; kept when memory is taken, so that no
    /// sampling misses it.
    #[must_use]
    pub fn peak_reserved_bytes(&self) -> u64 {
        self.peak_reserved_bytes.load(Ordering::Relaxed)
    }

    /// Counts the peak from what is taken now.
    pub fn restart_peak(&self) {
        self.peak_reserved_bytes.store(self.reserved_bytes(), Ordering::Relaxed);
    }

    /// Budget and usage of heap `heap` in bytes, where `VK_EXT_memory_budget` is present.
    #[must_use]
    pub fn heap_budget(&self, heap: u32) -> Option<(u64, u64)> {
        if !self.caps.memory_budget {
            return None;
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: plain query.
        unsafe {
            self.instance
                .raw
                .get_physical_device_memory_properties2(self.caps.handle, &mut memory)
        };
        Some((
            *budget.heap_budget.get(heap as usize)?,
            *budget.heap_usage.get(heap as usize)?,
        ))
    }

    /// Bytes this process uses in heaps outside the device, where the driver says: staging, and what was paged out.
    #[must_use]
    pub fn host_heap_usage(&self) -> Option<u64> {
        let heaps = self
            .caps
            .heaps
            .iter()
            .enumerate()
            .filter(|(_, heap)| !heap.device_local);
        heaps
            .map(|(index, _)| self.heap_budget(u32::try_from(index).ok()?).map(|(_, usage)| usage))
            .sum()
    }

    /// Bytes of host memory that the device uses for this process, where the system counts them beside the driver.
    #[must_use]
    pub fn shared_usage(&self) -> Option<u64> {
        self.shared_memory.as_ref().and_then(SharedGpuMemory::bytes)
    }

    /// Blocks until the device is idle.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone.
    pub fn wait_idle(&self) -> Result<(), VkError> {
        // SAFETY: plain wait.
        unsafe { self.raw.device_wait_idle() }.map_err(VkError::call("vkDeviceWaitIdle"))
    }

    pub(super) fn raw(&self) -> &ash::Device {
        &self.raw
    }

    pub(super) fn pipelines(&self) -> &PipelineCache {
        &self.pipelines
    }

    pub(super) fn queue(&self) -> vk::Queue {
        self.queue
    }

    pub(super) fn queue_family(&self) -> u32 {
        self.queue_family
    }

    pub(super) fn count_allocation(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_recording(&self) {
        self.recordings.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that device memory was taken.
    pub(super) fn take_bytes(&self, bytes: u64) {
        let now = self.reserved_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_reserved_bytes.fetch_max(now, Ordering::Relaxed);
    }

    /// Notes that device memory was given back.
    pub(super) fn give_bytes(&self, bytes: u64) {
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: whatever uses objects of the device holds an `Arc` to it, so none is in use.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.pipelines.destroy(&self.raw, |_| true);
            self.raw.destroy_device(None);
        }
    }
}
