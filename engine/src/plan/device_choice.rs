//! Which of the devices a run uses.

use std::fmt::Write as _;

use kiln_config::DeviceChoice;
use kiln_gpu::vk::{Caps, DeviceKind};

/// Position of the device asked for, or of the best one: discrete before virtual, integrated, other and software, and a card's own driver
/// before one that translates.
///
/// A name is looked for as the whole name first, then as the uuid or its beginning, then as a part of the name; case
/// and the uuid's hyphens do not count. Where several match, those of drivers that translate do not count either.
///
/// # Errors
/// What is wrong with the choice, with the list of devices.
pub(super) fn choose(devices: &[Caps], asked: Option<&DeviceChoice>) -> Result<usize, String> {
    if devices.is_empty() {
        return Err("the loader lists no Vulkan device".to_owned());
    }
    match asked {
        None => {
            let ranked = devices.iter().enumerate();
            let best = ranked.min_by_key(|(at, caps)| (rank(caps.kind), caps.translates, *at));
            Ok(best.map_or(0, |(at, _)| at))
        }
        Some(DeviceChoice::Number(index)) => {
            let at = *index as usize;
            if at < devices.len() {
                return Ok(at);
            }
            Err(with_list(
                format!("`device.select` is {index}, which is not there"),
                devices,
            ))
        }
        Some(DeviceChoice::Named(name)) => {
            let found = named(devices, name);
            match found[..] {
                [at] => Ok(at),
                [] => Err(with_list(
                    format!("`device.select` is `{name}`, which no device matches"),
                    devices,
                )),
                _ => {
                    let what = format!("`device.select` is `{name}`, which {} devices match", found.len());
                    Err(with_list(
                        format!("{what}; a number or a uuid names one of them"),
                        devices,
                    ))
                }
            }
        }
    }
}

fn named(devices: &[Caps], name: &str) -> Vec<usize> {
    let name = name.trim().to_lowercase();
    let uuid = name.strip_prefix("gpu-").unwrap_or(&name).replace('-', "");
    let tests: [&dyn Fn(&Caps) -> bool; 3] = [
        &|caps| caps.name.to_lowercase() == name,
        &|caps| uuid.len() >= 4 && caps.uuid.to_lowercase().starts_with(&uuid),
        &|caps| caps.name.to_lowercase().contains(&name),
    ];
    let matching = |test: &dyn Fn(&Caps) -> bool| -> Vec<usize> {
        let all = devices.iter().enumerate().filter(|(_, caps)| test(caps));
        let (own, translating): (Vec<_>, Vec<_>) = all.partition(|(_, caps)| !caps.translates);
        let found = if own.is_empty() { translating } else { own };
        found.into_iter().map(|(at, _)| at).collect()
    };
    let mut found = tests.into_iter().map(matching);
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

fn with_list(mut what: String, devices: &[Caps]) -> String {
    what += "; the devices are:";
    for (at, caps) in devices.iter().enumerate() {
        // Writing to a text cannot fail.
        let _ = write!(what, "\n  {at}: {}, uuid {}", caps.name, caps.uuid);
    }
    what
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn device(name: &str, uuid: &str, kind: DeviceKind) -> Caps {
        let mut caps = Caps::default();
        (caps.name, caps.uuid, caps.kind) = (name.to_owned(), uuid.to_owned(), kind);
        caps
    }

    fn machine() -> Vec<Caps> {
        vec![
            device("llvmpipe (LLVM 15)", "00aa", DeviceKind::Cpu),
            device("Card 80", "12345678abcd", DeviceKind::Discrete),
            device("Card 80", "12340000abcd", DeviceKind::Discrete),
            device("Card 80 Super", "99990000abcd", DeviceKind::Discrete),
        ]
    }

    fn named(name: &str) -> Result<usize, String> {
        choose(&machine(), Some(&DeviceChoice::Named(name.to_owned())))
    }

    #[test]
    fn the_best_one_unless_told_otherwise() {
        assert_eq!(choose(&machine(), None), Ok(1));
        assert_eq!(choose(&machine()[..1], None), Ok(0));
        assert_eq!(choose(&machine(), Some(&DeviceChoice::Number(3))), Ok(3));
        assert_eq!(choose(&[], None), Err("the loader lists no Vulkan device".to_owned()));
    }

    /// WSL2 has two drivers for one card where its vendor's is there too.
    #[test]
    fn the_own_driver_of_a_card_goes_before_one_that_translates() {
        let mut machine = machine();
        let mut dzn = device("Microsoft Direct3D12 (Card 90)", "55550000abcd", DeviceKind::Discrete);
        dzn.translates = true;
        machine.insert(1, dzn);
        machine.push(device("Card 90", "77770000abcd", DeviceKind::Discrete));
        let named = |name: &str| choose(&machine, Some(&DeviceChoice::Named(name.to_owned())));
        assert_eq!(choose(&machine, None), Ok(2));
        assert_eq!(named("card 90"), Ok(5));
        assert_eq!(named("90"), Ok(5));
        assert_eq!(named("direct3d12"), Ok(1));
        assert_eq!(choose(&machine[..2], None), Ok(1), "before a CPU");
    }

    #[test]
    fn names_and_uuids_find_one_device() {
        assert_eq!(named("LLVM"), Ok(0));
        assert_eq!(named("super"), Ok(3));
        assert_eq!(named("12345678-abcd"), Ok(1));
        assert_eq!(named("GPU-12340000"), Ok(2));
        assert_eq!(named("00aa"), Ok(0));
    }

    #[test]
    fn doubtful_and_unknown_devices_are_listed() {
        let list = "the devices are:\n  0: llvmpipe (LLVM 15), uuid 00aa\n  1: Card 80, uuid 12345678abcd\n  \
                    2: Card 80, uuid 12340000abcd\n  3: Card 80 Super, uuid 99990000abcd";
        let text = named("card 80").unwrap_err();
        assert_eq!(
            text,
            format!(
                "`device.select` is `card 80`, which 2 devices match; a number or a uuid names one of them; {list}"
            )
        );
        let text = named("radeon").unwrap_err();
        assert_eq!(
            text,
            format!("`device.select` is `radeon`, which no device matches; {list}")
        );
        let text = choose(&machine(), Some(&DeviceChoice::Number(4))).unwrap_err();
        assert_eq!(text, format!("`device.select` is 4, which is not there; {list}"));
    }
}
