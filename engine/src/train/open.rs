//! Which device a run uses, and which kernel variants on it.

use std::sync::Arc;

use super::TrainError;
use crate::config::{self, Profile};
use crate::kernels::views::{Reduction, Variants};
use crate::vk::{Caps, Device, DeviceKind, Instance, Tier, VkError};

/// An opened device and what was decided about it.
pub struct OpenDevice {
    /// The device.
    pub device: Arc<Device>,
    /// Tier in use.
    pub tier: Tier,
}

/// Capabilities of every device the loader finds.
///
/// # Errors
/// [`VkError::Loader`] without a Vulkan loader.
pub fn list_devices() -> Result<Vec<Caps>, VkError> {
    Instance::new(false)?.devices()
}

/// Opens the device `profile.device` asks for: by number, or the best one (discrete before integrated before software).
///
/// # Errors
/// [`TrainError::NoDevice`] when there is none or the tier cannot be reached.
pub fn open_device(profile: &Profile) -> Result<OpenDevice, TrainError> {
    let instance = Arc::new(Instance::new(profile.debug.validation)?);
    let mut devices = instance.devices()?;
    let chosen = match profile.device.index {
        Some(index) => {
            let count = devices.len();
            devices.into_iter().nth(index as usize).ok_or_else(|| {
                TrainError::NoDevice(format!(
                    "`device.index` is {index} but the loader lists {count} devices"
                ))
            })?
        }
        None => {
            devices.sort_by_key(|caps| (rank(caps.kind), caps.index));
            devices
                .into_iter()
                .next()
                .ok_or_else(|| TrainError::NoDevice("the loader lists no Vulkan device".to_owned()))?
        }
    };
    let tier = match profile.device.tier {
        config::Tier::Auto => chosen.tier(),
        config::Tier::Portable => Tier::Portable,
        config::Tier::Fast if chosen.tier() == Tier::Fast => Tier::Fast,
        config::Tier::Fast => {
            return Err(TrainError::NoDevice(format!(
                "`device.tier` is fast but `{}` lacks float atomics or subgroup operations",
                chosen.name
            )));
        }
    };
    let device = Device::open(&instance, chosen)?;
    Ok(OpenDevice { device, tier })
}

fn rank(kind: DeviceKind) -> u32 {
    match kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Virtual => 1,
        DeviceKind::Integrated => 2,
        DeviceKind::Other => 3,
        DeviceKind::Cpu => 4,
    }
}

/// Kernel variants for a device: what the tier allows, what the profile asks for, and on software drivers the variants
/// that are quicker there.
#[must_use]
pub fn variants_for(caps: &Caps, tier: Tier, profile: &Profile) -> Variants {
    let cpu = caps.kind == DeviceKind::Cpu;
    let fast = tier == Tier::Fast;
    let reduction = match profile.debug.reduction {
        config::Reduction::Fold => Reduction::Segmented,
        config::Reduction::Atomic if fast => Reduction::Atomic,
        _ if fast && !cpu && !profile.train.deterministic => Reduction::Atomic,
        _ => Reduction::Segmented,
    };
    let subgroup = fast && profile.debug.subgroup != config::Subgroup::Off && caps.subgroup_size >= 16;
    Variants {
        reduction,
        sort_subgroup: if subgroup { caps.subgroup_size } else { 0 },
        columns: cpu || !fast,
        jitter: profile.mip.ray_jitter,
    }
}
