//! Which device a run uses, and which kernel variants on it.

use std::sync::Arc;

use super::{Faults, PlanError, device_choice};
use kiln_config::Profile;
use kiln_gpu::memory::Layout;
use kiln_gpu::vk::{Caps, Device, DeviceKind, Instance, Tier, Validation, VkError, trial};
use kiln_kernels::SURFACE_BINDINGS;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};

/// An opened device and what was decided about it.
pub struct OpenDevice {
    /// The device.
    pub device: Arc<Device>,
    /// Tier in use.
    pub tier: Tier,
    /// What is made to go wrong on it.
    pub faults: Faults,
}

/// How the tensors of a run lie in memory: packed, unless `profile` looks for passes that leave theirs.
#[must_use]
pub fn layout_of(profile: &Profile) -> Layout {
    if profile.diagnose().guard_bands {
        Layout::Guarded
    } else if profile.diagnose().validation == kiln_config::Validation::Gpu {
        Layout::Apart
    } else {
        Layout::Packed
    }
}

/// Capabilities of every device the loader finds.
///
/// # Errors
/// [`VkError::Loader`] without a Vulkan loader.
pub fn list_devices() -> Result<Vec<Caps>, VkError> {
    Instance::new(Validation::Off)?.devices()
}

/// Opens the device `profile.device` asks for: by number, name or uuid, or the best one (discrete before integrated
/// before software), with `faults` for whatever runs on it.
///
/// # Errors
/// [`PlanError::NoDevice`] when there is none.
pub fn open_device(profile: &Profile, faults: Faults) -> Result<OpenDevice, PlanError> {
    let instance = Arc::new(Instance::new(match profile.diagnose().validation {
        kiln_config::Validation::Off => Validation::Off,
        kiln_config::Validation::Core => Validation::Core,
        kiln_config::Validation::Sync => Validation::Synchronization,
        kiln_config::Validation::Gpu => Validation::GpuAssisted,
    })?);
    let mut devices = instance.devices()?;
    let at = device_choice::choose(&devices, profile.device.select.as_ref()).map_err(PlanError::NoDevice)?;
    let chosen = devices.swap_remove(at);
    if chosen.translates || faults.dying_driver {
        trial::survives(&chosen, faults.dying_driver)?;
    }
    let tier = if faults.portable { Tier::Portable } else { chosen.tier() };
    let chosen = match tier {
        Tier::Portable => chosen.portable(),
        Tier::Fast => chosen,
    };
    let device = Device::open(&instance, chosen)?;
    Ok(OpenDevice::on(device, tier, profile, faults))
}

impl OpenDevice {
    /// `device`, which runs at `tier`, made ready for a run of `profile`. Its peak of memory is counted from here.
    #[must_use]
    pub fn on(device: Arc<Device>, tier: Tier, profile: &Profile, faults: Faults) -> Self {
        let cpu = device.caps().kind == DeviceKind::Cpu;
        device.mark_passes(cpu || profile.care.marks_passes);
        device.limit_submissions(profile.care.submit_ms);
        device.restart_peak();
        if let Some(number) = faults.fail_allocation {
            device.fail_attempt(device.attempts() + number);
        }
        Self { device, tier, faults }
    }
}

/// Kernel variants for a device: what the tier allows, what profile and faults ask for, and on software drivers the
/// variants that are quicker there. What comes out is not proven yet, see [`super::Pinned`].
///
/// # Errors
/// [`PlanError::NoDevice`] when the fault `reduction` asks for what the device or `train.deterministic` excludes, and when
/// a loss of planes wants more of the device than it has.
pub fn variants_for(caps: &Caps, tier: Tier, profile: &Profile, faults: &Faults) -> Result<Variants, PlanError> {
    if let Some(loss) = profile.loss_of_surfaces() {
        enough_buffers(caps, &format!("`losses` has `{}`", loss.kind()))?;
    }
    if profile.density().is_some() {
        enough_buffers(caps, "`regularizers` has `density`")?;
    }
    let cpu = caps.kind == DeviceKind::Cpu;
    let fast = tier == Tier::Fast;
    let reduction = match faults.reduction {
        // On software drivers too: the segmented kernel is the one that is made for their short subgroups.
        None if !fast || cpu || profile.train.deterministic => Reduction::Segmented,
        None if caps.float_atomics => Reduction::Atomic,
        None => Reduction::CompareExchange,
        Some(Reduction::Segmented) => Reduction::Segmented,
        Some(asked) if profile.train.deterministic => {
            return Err(PlanError::NoDevice(format!(
                "the fault `reduction` is {} but `train.deterministic` is on, which leaves segmented",
                asked.name()
            )));
        }
        Some(Reduction::Atomic) if fast && caps.float_atomics => Reduction::Atomic,
        Some(Reduction::CompareExchange) if fast => Reduction::CompareExchange,
        Some(asked) => return Err(impossible(asked, caps, fast)),
    };
    Ok(Variants {
        reduction,
        ..rendering_variants(caps, tier, faults)
    })
}

/// The same for rendering: how gradients are summed does not matter there.
pub(super) fn rendering_variants(caps: &Caps, tier: Tier, faults: &Faults) -> Variants {
    let fast = tier == Tier::Fast;
    let subgroup = fast && !faults.no_subgroups && caps.subgroup_size >= 16;
    Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: if subgroup { caps.subgroup_size } else { 0 },
        threads: match (caps.kind == DeviceKind::Cpu, fast) {
            (true, true) if caps.subgroup_size == 8 => Threads::Lanes,
            (false, true) => Threads::Pixels,
            _ => Threads::Columns,
        },
        // Of the drivers known, Mesa's for CPUs alone.
        loops: if caps.kind == DeviceKind::Cpu {
            Loops::Cut
        } else {
            Loops::Long
        },
    }
}

/// Holds the device against the steps that train planes.
fn enough_buffers(caps: &Caps, term: &str) -> Result<(), PlanError> {
    if caps.max_bindings >= SURFACE_BINDINGS {
        return Ok(());
    }
    Err(PlanError::NoDevice(format!(
        "{term}, whose passes bind {SURFACE_BINDINGS} storage buffers, and `{}` takes {} \
         (maxPerStageDescriptorStorageBuffers): take it out, with another recipe than `surface` for instance, or choose \
         another device with `device.select`",
        caps.name, caps.max_bindings
    )))
}

fn impossible(asked: Reduction, caps: &Caps, fast: bool) -> PlanError {
    let (lacks, possible) = if fast {
        ("float atomics", "segmented, compare_exchange")
    } else if caps.tier() == Tier::Fast {
        ("subgroup operations on the portable tier", "segmented")
    } else {
        ("subgroup operations for subgroups of 4 to 32 lanes", "segmented")
    };
    PlanError::NoDevice(format!(
        "the fault `reduction` is {} but `{}` has no {lacks}; it can do: {possible}",
        asked.name(),
        caps.name
    ))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, resolve};

    fn device(kind: DeviceKind, subgroup_size: u32, subgroup_ops: bool, float_atomics: bool) -> Caps {
        let mut caps = Caps::default();
        caps.name = "Some card".to_owned();
        (caps.kind, caps.subgroup_size) = (kind, subgroup_size);
        (caps.subgroup_ops, caps.float_atomics) = (subgroup_ops, float_atomics);
        caps
    }

    fn settings() -> Profile {
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            ..Inputs::default()
        };
        resolve(&inputs).unwrap()
    }

    fn asking(reduction: Option<Reduction>) -> Faults {
        Faults {
            reduction,
            ..Faults::default()
        }
    }

    /// Every kind of card: what it runs by default.
    #[test]
    fn subgroups_and_float_atomics_decide() {
        let (profile, none) = (settings(), Faults::default());
        let mut deterministic = profile.clone();
        deterministic.train.deterministic = true;
        for size in [1, 2, 4, 8, 16, 24, 32, 64, 128] {
            for (ops, atomics) in [(true, true), (true, false), (false, true), (false, false)] {
                let what = format!("{size} lanes, operations: {ops}, float atomics: {atomics}");
                let caps = device(DeviceKind::Discrete, size, ops, atomics);
                let of = |tier, profile: &Profile| variants_for(&caps, tier, profile, &none).unwrap();
                let found = of(caps.tier(), &profile);
                let fast = ops && [4, 8, 16, 32].contains(&size);
                assert_eq!(caps.tier() == Tier::Fast, fast, "{what}");
                let wanted = match (fast, atomics) {
                    (true, true) => Reduction::Atomic,
                    (true, false) => Reduction::CompareExchange,
                    (false, _) => Reduction::Segmented,
                };
                assert_eq!(found.reduction, wanted, "{what}");
                assert_eq!(found.sort_subgroup, if fast && size >= 16 { size } else { 0 }, "{what}");
                assert_eq!(found.threads == Threads::Pixels, fast, "{what}");
                assert_eq!(
                    of(caps.tier(), &deterministic).reduction,
                    Reduction::Segmented,
                    "{what}"
                );
                let portable = of(Tier::Portable, &profile);
                assert_eq!((portable.reduction, portable.sort_subgroup), (Reduction::Segmented, 0));
            }
        }
    }

    #[test]
    fn software_drivers_fold_unless_told_otherwise() {
        let caps = device(DeviceKind::Cpu, 8, true, true);
        for (asked, wanted) in [
            (None, Reduction::Segmented),
            (Some(Reduction::Segmented), Reduction::Segmented),
            (Some(Reduction::Atomic), Reduction::Atomic),
            (Some(Reduction::CompareExchange), Reduction::CompareExchange),
        ] {
            let found = variants_for(&caps, Tier::Fast, &settings(), &asking(asked)).unwrap();
            assert_eq!((found.reduction, found.threads), (wanted, Threads::Lanes));
        }
    }

    #[test]
    fn planes_are_trained_where_a_pass_binds_enough_buffers() {
        let mut caps = device(DeviceKind::Discrete, 32, true, true);
        for (buffers, enough) in [(16, false), (18, false), (19, true), (1 << 20, true)] {
            caps.max_bindings = buffers;
            let found = enough_buffers(&caps, "`losses` has `normals`");
            assert_eq!(found.is_ok(), enough, "{buffers}");
            let text = found.err().map(|error| error.to_string()).unwrap_or_default();
            let takes = format!("takes {buffers}");
            let named = ["`losses`", "`normals`", "`Some card`", &takes, "`device.select`"];
            assert!(enough || named.iter().all(|name| text.contains(name)), "{text}");
        }
    }

    #[test]
    fn what_a_device_cannot_do_is_refused_by_name() {
        let refused = |caps: &Caps, tier, asked| {
            let error = variants_for(caps, tier, &settings(), &asking(Some(asked))).unwrap_err();
            assert!(matches!(error, PlanError::NoDevice(_)));
            error.to_string()
        };
        let (atomic, exchange) = (Reduction::Atomic, Reduction::CompareExchange);
        let without = device(DeviceKind::Discrete, 32, true, false);
        assert_eq!(
            refused(&without, Tier::Fast, atomic),
            "the fault `reduction` is atomic but `Some card` has no float atomics; it can do: segmented, \
             compare_exchange"
        );
        assert!(variants_for(&without, Tier::Fast, &settings(), &asking(Some(exchange))).is_ok());
        let wide = device(DeviceKind::Discrete, 64, true, true);
        for asked in [atomic, exchange] {
            let text = refused(&wide, wide.tier(), asked);
            assert!(
                text.contains("subgroups of 4 to 32 lanes") && text.ends_with("can do: segmented"),
                "{text}"
            );
            let text = refused(&device(DeviceKind::Discrete, 32, true, true), Tier::Portable, asked);
            assert!(
                text.contains("on the portable tier") && text.ends_with("can do: segmented"),
                "{text}"
            );
        }
    }
}
