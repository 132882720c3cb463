//! What can go wrong between us and the driver.

use ash::vk;

use super::Hazard;

/// Trouble reported by the Vulkan layer.
#[derive(Debug, thiserror::Error)]
pub enum VkError {
    /// The Vulkan loader library is missing.
    #[error("no Vulkan loader found ({0}); {get}", get = loader())]
    Loader(String),
    /// No device satisfies the request.
    #[error("no usable Vulkan device: {0}")]
    NoDevice(String),
    /// The device lacks something every Kiln kernel needs.
    #[error("device `{device}` does not support {what}")]
    Unsupported {
        /// Device name as the driver reports it.
        device: String,
        /// The missing feature or limit.
        what: String,
    },
    /// A driver allocation failed.
    #[error("the driver has no memory left for {}`{what}` ({result})", amount(*bytes))]
    OutOfMemory {
        /// What the memory was for.
        what: String,
        /// Bytes asked for; 0 when only the driver knows.
        bytes: u64,
        /// The driver's answer.
        result: vk::Result,
    },
    /// The driver's compiler took no shader.
    #[error("the driver `{driver}` could not compile the shader `{shader}` ({result})")]
    Pipeline {
        /// Name of the shader, with its variant.
        shader: &'static str,
        /// Name and version of the driver.
        driver: String,
        /// The driver's answer.
        result: vk::Result,
    },
    /// The driver ended another process that opened the device.
    #[error("{0}")]
    DriverDied(Box<DriverDeath>),
    /// The device was lost.
    #[error("the Vulkan device was lost during {during}")]
    Lost {
        /// The call or program that saw it.
        during: String,
    },
    /// A recording does not keep two commands apart although one writes what the other touches.
    #[error("internal error: {0}; please report this")]
    Hazard(Box<Hazard>),
    /// A wait took longer than allowed.
    #[error("the device did not finish `{0}` within {1} s")]
    Timeout(String, u64),
    /// Any other failing call: a bug or a broken driver.
    #[error("Vulkan call {call} failed: {result}")]
    Call {
        /// Name of the Vulkan entry point.
        call: &'static str,
        /// The driver's answer.
        result: vk::Result,
    },
}

/// How a driver ended a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the driver `{driver}` dies when it opens `{device}`: {how}")]
pub struct DriverDeath {
    /// Device name as the driver reports it.
    pub device: String,
    /// Name and version of the driver.
    pub driver: String,
    /// Signal or exception.
    pub how: String,
}

/// Where a loader comes from.
const fn loader() -> &'static str {
    match cfg!(windows) {
        true => "the driver from the card's vendor brings it",
        false => "install the package `libvulkan1` (Debian, Ubuntu) or your GPU driver",
    }
}

fn amount(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!("the {:.1} MiB of ", bytes as f64 / f64::from(1 << 20)),
    }
}

impl VkError {
    /// Wraps the result of `call`; the two results that every caller handles apart become their own variants.
    pub fn call(call: &'static str) -> impl Fn(vk::Result) -> Self {
        move |result| match result {
            vk::Result::ERROR_DEVICE_LOST => Self::Lost {
                during: call.to_owned(),
            },
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => Self::OutOfMemory {
                what: call.to_owned(),
                bytes: 0,
                result,
            },
            _ => Self::Call { call, result },
        }
    }
}
