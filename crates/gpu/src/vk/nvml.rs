//! Telemetry of NVIDIA cards through NVML, the library that their driver brings along.
//!
//! The library is looked for at run time: without it, on other cards, and for figures that a card does not have, values
//! are absent and nothing is said. It lies in this layer because calling a library that was found at run time is unsafe.
//! Names, types and constants are those of NVML's reference manual.

use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use libloading::{Library, Symbol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Caps;

/// PCI vendor id of NVIDIA.
const VENDOR: u32 = 0x10de;
/// Names of the library, the driver's first.
#[cfg(not(windows))]
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];
#[cfg(windows)]
const LIBRARIES: [&str; 1] = ["nvml.dll"];

const SUCCESS: c_int = 0;
const TEMPERATURE_GPU: c_uint = 0;
const CLOCK_GRAPHICS: c_uint = 0;
const CLOCK_SM: c_uint = 1;
const CLOCK_MEMORY: c_uint = 2;

type Handle = *mut c_void;

#[repr(C)]
#[derive(Default)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[repr(C)]
#[derive(Default)]
struct MemoryInfo {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// What a card says of itself at one moment; what it does not say is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuSample {
    /// Share of the last sample period in which a kernel ran, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_percent: Option<u32>,
    /// Device memory in use by all processes, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_percent: Option<f32>,
    /// Share of the last sample period in which device memory was read or written, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bus_percent: Option<u32>,
    /// Temperature of the chip, degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<u32>,
    /// Power drawn, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<f32>,
    /// Power the card may draw, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f32>,
    /// Fan speed, percent of the fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_percent: Option<u32>,
    /// Graphics clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_graphics_mhz: Option<u32>,
    /// Clock of the multiprocessors, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_sm_mhz: Option<u32>,
    /// Memory clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_memory_mhz: Option<u32>,
    /// Performance state, 0 (fastest) to 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pstate: Option<u32>,
    /// Why clocks are lower than they could be; empty when nothing lowers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Vec<Throttle>>,
}

/// A reason for low clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Throttle {
    /// Nothing runs.
    Idle,
    /// Someone set the application clocks.
    ApplicationClocks,
    /// The power limit is reached.
    SwPowerCap,
    /// Heat or an external power signal: the hardware halves the clocks.
    HwSlowdown,
    /// Another card of the same group holds this one back.
    SyncBoost,
    /// The driver lowers clocks because of heat.
    SwThermal,
    /// The hardware lowers clocks because of heat.
    HwThermal,
    /// The power supply asks for less.
    HwPowerBrake,
    /// A display needs these clocks.
    DisplayClock,
}

impl Throttle {
    /// All reasons with their bits.
    const BITS: [(u64, Self); 9] = [
        (0x1, Self::Idle),
        (0x2, Self::ApplicationClocks),
        (0x4, Self::SwPowerCap),
        (0x8, Self::HwSlowdown),
        (0x10, Self::SyncBoost),
        (0x20, Self::SwThermal),
        (0x40, Self::HwThermal),
        (0x80, Self::HwPowerBrake),
        (0x100, Self::DisplayClock),
    ];

    fn of(bits: u64) -> Vec<Self> {
        let set = |(bit, reason): (u64, Self)| (bits & bit != 0).then_some(reason);
        Self::BITS.into_iter().filter_map(set).collect()
    }
}

/// The library with one card of it.
pub struct Nvml {
    library: Library,
    card: Handle,
}

// SAFETY: NVML may be called from any thread (its manual, "Thread safety"), and the handle is a plain name for a card.
unsafe impl Send for Nvml {}

impl Nvml {
    /// True when NVML may know this device; asking costs nothing.
    #[must_use]
    pub const fn is_for(caps: &Caps) -> bool {
        caps.vendor_id == VENDOR
    }

    /// The card behind a Vulkan device; none for other vendors and where the library or the card is not found.
    #[must_use]
    pub fn of(caps: &Caps) -> Option<Self> {
        if !Self::is_for(caps) {
            return None;
        }
        LIBRARIES
            .iter()
            .find_map(|name| Self::load(OsStr::new(name), &caps.uuid))
    }

    /// The card with a UUID (32 hexadecimal digits), or the only one there is, from the library at `path`.
    #[must_use]
    pub fn load(path: &OsStr, uuid: &str) -> Option<Self> {
        // SAFETY: loading the driver's library runs its initialisers, which are trusted like any system library.
        let library = unsafe { Library::new(path) }.ok()?;
        // SAFETY: `nvmlReturn_t nvmlInit_v2(void)`.
        let init: Symbol<'_, unsafe extern "C" fn() -> c_int> = unsafe { library.get(b"nvmlInit_v2\0") }.ok()?;
        // SAFETY: it takes nothing.
        if unsafe { init() } != SUCCESS {
            return None;
        }
        let mut nvml = Self {
            library,
            card: std::ptr::null_mut(),
        };
        // From here on dropping shuts the library down.
        nvml.card = nvml.by_uuid(uuid).or_else(|| nvml.only())?;
        Some(nvml)
    }

    fn by_uuid(&self, uuid: &str) -> Option<Handle> {
        let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
        let part = |from: usize, to: usize| digits.get(from..to);
        let name = format!(
            "GPU-{}-{}-{}-{}-{}",
            part(0, 8)?,
            part(8, 12)?,
            part(12, 16)?,
            part(16, 20)?,
            part(20, 32)?
        );
        let name = CString::new(name).ok()?;
        type ByUuid = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
        let mut card = std::ptr::null_mut();
        // SAFETY: `nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *, nvmlDevice_t *)`; both outlive the call.
        let status = unsafe {
            let call: Symbol<'_, ByUuid> = self.library.get(b"nvmlDeviceGetHandleByUUID\0").ok()?;
            call(name.as_ptr(), &raw mut card)
        };
        (status == SUCCESS).then_some(card)
    }

    /// Partitions of a card have UUIDs of their own; where there is one card, it is the one.
    fn only(&self) -> Option<Handle> {
        type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
        type ByIndex = unsafe extern "C" fn(c_uint, *mut Handle) -> c_int;
        let mut count = 0;
        let mut card = std::ptr::null_mut();
        // SAFETY: `nvmlDeviceGetCount_v2(unsigned int *)` and `nvmlDeviceGetHandleByIndex_v2(unsigned int,
        // nvmlDevice_t *)`; the targets outlive the calls.
        let status = unsafe {
            let call: Symbol<'_, Count> = self.library.get(b"nvmlDeviceGetCount_v2\0").ok()?;
            if call(&raw mut count) != SUCCESS || count != 1 {
                return None;
            }
            let call: Symbol<'_, ByIndex> = self.library.get(b"nvmlDeviceGetHandleByIndex_v2\0").ok()?;
            call(0, &raw mut card)
        };
        (status == SUCCESS).then_some(card)
    }

    /// Asks the card; takes up to some milliseconds.
    #[must_use]
    pub fn sample(&self) -> GpuSample {
        let watts = |milliwatts: c_uint| milliwatts as f32 / 1000.0;
        let busy: Option<Utilization> = self.ask(b"nvmlDeviceGetUtilizationRates\0");
        let memory: Option<MemoryInfo> = self.ask(b"nvmlDeviceGetMemoryInfo\0");
        let throttle: Option<c_ulonglong> = self
            .ask(b"nvmlDeviceGetCurrentClocksEventReasons\0")
            .or_else(|| self.ask(b"nvmlDeviceGetCurrentClocksThrottleReasons\0"));
        let clock = |kind| self.ask_of(b"nvmlDeviceGetClockInfo\0", kind);
        GpuSample {
            compute_percent: busy.as_ref().map(|u| u.gpu),
            memory_percent: memory
                .filter(|m| m.total > 0)
                .map(|m| (100.0 * m.used as f64 / m.total as f64) as f32),
            memory_bus_percent: busy.map(|u| u.memory),
            temperature_celsius: self.ask_of(b"nvmlDeviceGetTemperature\0", TEMPERATURE_GPU),
            power_watts: self.ask(b"nvmlDeviceGetPowerUsage\0").map(watts),
            power_limit_watts: self.ask(b"nvmlDeviceGetEnforcedPowerLimit\0").map(watts),
            fan_percent: self.ask(b"nvmlDeviceGetFanSpeed\0"),
            clock_graphics_mhz: clock(CLOCK_GRAPHICS),
            clock_sm_mhz: clock(CLOCK_SM),
            clock_memory_mhz: clock(CLOCK_MEMORY),
            pstate: self
                .ask::<c_uint>(b"nvmlDeviceGetPerformanceState\0")
                .filter(|p| *p < 16),
            throttle: throttle.map(Throttle::of),
        }
    }

    /// Calls `nvmlReturn_t NAME(nvmlDevice_t, T *)`, whose name ends with a zero.
    fn ask<T: Default>(&self, name: &[u8]) -> Option<T> {
        let mut value = T::default();
        // SAFETY: every function asked with this `T` has this shape, and `value` outlives the call.
        let status = unsafe {
            let call: Symbol<'_, unsafe extern "C" fn(Handle, *mut T) -> c_int> = self.library.get(name).ok()?;
            call(self.card, &raw mut value)
        };
        (status == SUCCESS).then_some(value)
    }

    /// Calls `nvmlReturn_t NAME(nvmlDevice_t, unsigned int, unsigned int *)`.
    fn ask_of(&self, name: &[u8], which: c_uint) -> Option<c_uint> {
        let mut value = 0;
        // SAFETY: as above; enumerations of NVML are passed as `unsigned int`.
        let status = unsafe {
            let call: Symbol<'_, unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int> =
                self.library.get(name).ok()?;
            call(self.card, which, &raw mut value)
        };
        (status == SUCCESS).then_some(value)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: `nvmlReturn_t nvmlShutdown(void)` undoes the one `nvmlInit_v2`.
        unsafe {
            if let Ok(shutdown) = self.library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlShutdown\0") {
                shutdown();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn reasons_are_named() {
        assert_eq!(Throttle::of(0), []);
        assert_eq!(Throttle::of(0x4 | 0x40), [Throttle::SwPowerCap, Throttle::HwThermal]);
        assert_eq!(Throttle::of(u64::MAX).len(), 9);
    }

    #[test]
    fn what_is_absent_has_no_key() {
        let sample = GpuSample {
            power_watts: Some(300.5),
            throttle: Some(vec![Throttle::SwPowerCap]),
            ..GpuSample::default()
        };
        let text = serde_json::to_string(&sample).unwrap();
        assert_eq!(text, r#"{"power_watts":300.5,"throttle":["sw_power_cap"]}"#);
        assert_eq!(serde_json::from_str::<GpuSample>(&text).unwrap(), sample);
    }

    #[test]
    fn no_library_is_no_card() {
        assert!(Nvml::load(OsStr::new("libthere-is-none.so"), "00").is_none());
    }
}
