//! A driver like one on top of Direct3D 12, simulated in front of the machine's own: fills that keep a copy in the host are measured,
//! and on demand its compiler refuses shaders and its timeline reads all ones, as that of a lost device does.
//!
//! Behaviour belongs to the thread that calls, so that tests side by side do not meet.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::{Arc, OnceLock};

use ash::vk;

use super::{Device, Instance, Validation, VkError};

/// What the driver behind offers for the calls that are looked at. These are the driver's own functions: they are there for as
/// long as an instance holds the driver loaded, hence one that is kept.
struct Real {
    _instance: Arc<Instance>,
    fill: vk::PFN_vkCmdFillBuffer,
    pipelines: vk::PFN_vkCreateComputePipelines,
    counter: vk::PFN_vkGetSemaphoreCounterValue,
}

static REAL: OnceLock<Real> = OnceLock::new();

thread_local! {
    static LARGEST_FILL: Cell<u64> = const { Cell::new(0) };
    static REFUSES_SHADERS: Cell<bool> = const { Cell::new(false) };
    static IS_LOST: Cell<bool> = const { Cell::new(false) };
}

/// Largest `vkCmdFillBuffer` that this thread recorded on simulated devices, bytes.
pub(crate) fn largest_fill() -> u64 {
    LARGEST_FILL.get()
}

/// From now on the compiler refuses every shader of this thread, as dzn does what it cannot translate, or takes them again.
pub(crate) fn refuse_shaders(refuses: bool) {
    REFUSES_SHADERS.set(refuses);
}

/// From now on timelines read all ones on this thread, or what they are at.
pub(crate) fn lose(is_lost: bool) {
    IS_LOST.set(is_lost);
}

/// The machine's first device behind such a driver.
///
/// # Errors
/// Those of [`Device::open`].
pub(crate) fn device() -> Result<Arc<Device>, VkError> {
    let instance = Arc::new(Instance::new(Validation::Off)?);
    let caps = instance.devices()?.remove(0);
    let mut device = Device::open(&instance, caps)?;
    let get = instance.raw.fp_v1_0().get_device_proc_addr;
    let handle = device.raw().handle();
    // SAFETY: the device lives, and names end with a zero.
    let find = |name: &CStr| unsafe { get(handle, name.as_ptr()) };
    if let (Some(fill), Some(pipelines), Some(counter)) = (
        find(c"vkCmdFillBuffer"),
        find(c"vkCreateComputePipelines"),
        find(c"vkGetSemaphoreCounterValue"),
    ) {
        // SAFETY: the driver gives functions of the types that Vulkan has for these names, and stays loaded.
        REAL.get_or_init(|| unsafe {
            Real {
                _instance: instance.clone(),
                fill: std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkCmdFillBuffer>(fill),
                pipelines: std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkCreateComputePipelines>(
                    pipelines,
                ),
                counter: std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkGetSemaphoreCounterValue>(
                    counter,
                ),
            }
        });
    }
    let load = |name: &CStr| -> *const c_void {
        match name.to_bytes() {
            b"vkCmdFillBuffer" => fill_buffer as *const c_void,
            b"vkCreateComputePipelines" => create_pipelines as *const c_void,
            b"vkGetSemaphoreCounterValue" => counter_value as *const c_void,
            _ => find(name).map_or(std::ptr::null(), |found| found as *const c_void),
        }
    };
    // SAFETY: every name leads to a function of its type for this device.
    let raw = unsafe { ash::Device::load_with(load, handle) };
    if let Some(device) = Arc::get_mut(&mut device) {
        device.replace(raw);
    }
    Ok(device)
}

unsafe extern "system" fn fill_buffer(
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    bytes: vk::DeviceSize,
    value: u32,
) {
    LARGEST_FILL.set(LARGEST_FILL.get().max(bytes));
    if let Some(real) = REAL.get() {
        // SAFETY: the caller's promises are those of the call behind.
        unsafe { (real.fill)(commands, buffer, offset, bytes, value) }
    }
}

unsafe extern "system" fn create_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    match REAL.get().filter(|_| !REFUSES_SHADERS.get()) {
        // SAFETY: the caller's promises are those of the call behind.
        Some(real) => unsafe { (real.pipelines)(device, cache, count, infos, allocator, pipelines) },
        None => {
            for index in 0..count as usize {
                // SAFETY: the caller has room for `count` handles; those of what failed are null.
                unsafe { pipelines.add(index).write(vk::Pipeline::null()) };
            }
            vk::Result::ERROR_OUT_OF_HOST_MEMORY
        }
    }
}

unsafe extern "system" fn counter_value(device: vk::Device, semaphore: vk::Semaphore, value: *mut u64) -> vk::Result {
    match REAL.get().filter(|_| !IS_LOST.get()) {
        // SAFETY: the caller's promises are those of the call behind.
        Some(real) => unsafe { (real.counter)(device, semaphore, value) },
        None => {
            // SAFETY: the caller has room for a value.
            unsafe { value.write(u64::MAX) };
            vk::Result::SUCCESS
        }
    }
}
