//! Stands in for the driver's NVML library: compiled by the test as a shared library of its own and loaded like the
//! real one. One card; some figures are missing, as on real cards.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

const UUID: &CStr = c"GPU-00112233-4455-6677-8899-aabbccddeeff";
const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;

static OPEN: AtomicI32 = AtomicI32::new(0);
static CARD: u8 = 0;

fn card() -> *const c_void {
    (&raw const CARD).cast()
}

/// Writes when the library is open and the card is the one that was handed out.
unsafe fn answer<T>(device: *const c_void, to: *mut T, value: T) -> c_int {
    if OPEN.load(Ordering::SeqCst) != 1 || device != card() {
        return 1;
    }
    unsafe { to.write(value) };
    SUCCESS
}

#[repr(C)]
pub struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[repr(C)]
pub struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    OPEN.fetch_add(1, Ordering::SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    OPEN.fetch_sub(1, Ordering::SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, to: *mut *const c_void) -> c_int {
    if unsafe { CStr::from_ptr(uuid) } != UUID {
        return NOT_FOUND;
    }
    unsafe { to.write(card()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(to: *mut c_uint) -> c_int {
    let count = std::env::var("FAKE_NVML_CARDS").ok().and_then(|n| n.parse().ok());
    unsafe { to.write(count.unwrap_or(1)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut *const c_void) -> c_int {
    if index != 0 {
        return NOT_FOUND;
    }
    unsafe { to.write(card()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(device: *const c_void, to: *mut Utilization) -> c_int {
    unsafe { answer(device, to, Utilization { gpu: 98, memory: 41 }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(device: *const c_void, to: *mut Memory) -> c_int {
    let memory = Memory {
        total: 8 << 30,
        free: 2 << 30,
        used: 6 << 30,
    };
    unsafe { answer(device, to, memory) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(device: *const c_void, which: c_uint, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, if which == 0 { 63 } else { 999 }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(device: *const c_void, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 287_500) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: *const c_void, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 320_000) }
}

/// A card without a fan.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetFanSpeed(_: *const c_void, _: *mut c_uint) -> c_int {
    NOT_SUPPORTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(device: *const c_void, which: c_uint, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 1000 + which) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPerformanceState(device: *const c_void, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 2) }
}

/// The name before drivers of 2023; the newer one is missing here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: *const c_void,
    to: *mut c_ulonglong,
) -> c_int {
    unsafe { answer(device, to, 0x44) }
}
