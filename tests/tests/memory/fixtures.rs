//! Memory types and caps on devices that are not here, from tables of what their drivers say.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;

use kiln_gpu::memory::{Budget, BudgetLimit, GIB, MIB};
use kiln_gpu::vk::{BlockKind, Caps, DeviceKind, MemoryHeap, MemoryType, Overhead};
use serde_json::Value;

/// Types that were worked out by hand.
struct Chosen {
    device: u32,
    upload: u32,
    readback: u32,
}

struct Fixture {
    name: &'static str,
    caps: Caps,
    reported: Option<u64>,
    chosen: Chosen,
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/memory");
    let names = ["nvidia", "amd_bar_256", "amd_full_bar", "intel_uma", "dzn", "lavapipe"];
    assert_eq!(fs::read_dir(&folder).unwrap().count(), names.len());
    let read = |name| {
        let text = fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
        let table: Value = serde_json::from_str(&text).unwrap();
        assert!(table["source"].is_string(), "{name} does not say where it comes from");
        let mut caps = Caps::default();
        caps.kind = match table["kind"].as_str().unwrap() {
            "discrete" => DeviceKind::Discrete,
            "integrated" => DeviceKind::Integrated,
            "cpu" => DeviceKind::Cpu,
            other => unreachable!("{other}"),
        };
        caps.translates = table["translates"].as_bool().unwrap_or(false);
        caps.vendor_id = table["vendor_id"].as_u64().map_or(0, |id| u32::try_from(id).unwrap());
        caps.heaps = serde_json::from_value::<Vec<MemoryHeap>>(table["heaps"].clone()).unwrap();
        caps.types = serde_json::from_value::<Vec<MemoryType>>(table["types"].clone()).unwrap();
        let chosen = |kind: &str| u32::try_from(table["chosen"][kind].as_u64().unwrap()).unwrap();
        Fixture {
            name,
            caps,
            reported: table["reported_bytes"].as_u64(),
            chosen: Chosen {
                device: chosen("device"),
                upload: chosen("upload"),
                readback: chosen("readback"),
            },
        }
    };
    names.into_iter().map(read).collect()
}

#[test]
fn blocks_get_the_types_that_were_worked_out_by_hand() {
    for Fixture { name, caps, chosen, .. } in fixtures() {
        let of = |kind| caps.memory_type(kind, u32::MAX);
        assert_eq!(of(BlockKind::Device), Some(chosen.device), "{name}");
        assert_eq!(of(BlockKind::Upload), Some(chosen.upload), "{name}");
        assert_eq!(of(BlockKind::Readback), Some(chosen.readback), "{name}");
        // What budgets speak of is what blocks come from.
        let heap = caps.types[chosen.device as usize].heap;
        assert_eq!(
            caps.device_heap(),
            Some((heap, caps.heaps[heap as usize].bytes)),
            "{name}"
        );
    }
}

/// Video memory is the second heap, of a card whose vendor is its own.
#[test]
fn dzn_has_the_heaps_of_its_source() {
    let dzn = fixtures().into_iter().find(|f| f.name == "dzn").unwrap().caps;
    assert!(dzn.translates && dzn.vendor_id == 0x10de);
    assert_eq!(dzn.device_heap(), Some((1, 8 * GIB)));
    assert_eq!(Budget::of_caps(&dzn, None, None).overhead, Overhead::Dzn);
}

/// Whatever types a buffer allows: never one that lacks what the kind must have, and none only when there is none.
#[test]
fn required_flags_are_never_given_up() {
    for Fixture { name, caps, .. } in fixtures() {
        for allowed in 0..1u32 << caps.types.len() {
            for kind in [BlockKind::Device, BlockKind::Upload, BlockKind::Readback] {
                let fit = |t: &MemoryType| match kind {
                    _ if t.special => false,
                    BlockKind::Device => t.device_local,
                    BlockKind::Upload | BlockKind::Readback => t.host_visible && t.host_coherent,
                };
                let candidates = (0..).zip(&caps.types).filter(|(i, _)| allowed & (1 << i) != 0);
                let possible: Vec<u32> = candidates.filter(|(_, t)| fit(t)).map(|(i, _)| i).collect();
                let found = caps.memory_type(kind, allowed);
                assert_eq!(found.is_some(), !possible.is_empty(), "{name}, {kind:?}, {allowed:b}");
                assert!(
                    found.is_none_or(|i| possible.contains(&i)),
                    "{name}, {kind:?}, {allowed:b}"
                );
            }
        }
    }
}

/// The small window of a card that the host can map is no place for blocks while there is another.
#[test]
fn mapped_video_memory_is_the_last_resort_and_staging_stays_with_the_host() {
    for Fixture { name, caps, .. } in fixtures() {
        let of = |kind| &caps.types[caps.memory_type(kind, u32::MAX).unwrap() as usize];
        let plain = caps
            .types
            .iter()
            .any(|t| t.device_local && !t.host_visible && !t.special);
        assert_eq!(of(BlockKind::Device).host_visible, !plain, "{name}");
        let away = caps
            .types
            .iter()
            .any(|t| t.host_visible && !t.device_local && !t.special);
        assert_eq!(of(BlockKind::Upload).device_local, !away, "{name}");
        assert_eq!(of(BlockKind::Readback).device_local, !away, "{name}");
        assert_eq!(
            caps.shares_host_memory(),
            ["intel_uma", "lavapipe"].contains(&name),
            "{name}"
        );
    }
}

#[test]
fn caps_follow_from_heap_report_and_profile() {
    let cap = |name: &str, profile: Option<u64>| {
        let fixture = fixtures().into_iter().find(|f| f.name == name).unwrap();
        let budget = Budget::of_caps(&fixture.caps, fixture.reported, profile);
        (budget.cap_bytes, budget.limit)
    };
    assert_eq!(cap("nvidia", Some(23 * GIB)), (23 * GIB, BudgetLimit::Profile));
    assert_eq!(cap("nvidia", None), (146_232_175_493, BudgetLimit::Fraction));
    assert_eq!(cap("amd_bar_256", None), (15 * GIB - 256 * MIB, BudgetLimit::Reported));
    assert_eq!(
        cap("amd_full_bar", Some(15 * GIB)),
        (15 * GIB - 256 * MIB, BudgetLimit::Reported)
    );
    assert_eq!(cap("intel_uma", None), (8 * GIB - 256 * MIB, BudgetLimit::Reported));
    // Older builds do not say what is free.
    assert_eq!(cap("dzn", None), (8 * GIB - 8 * GIB / 5, BudgetLimit::Unreported));
    assert_eq!(cap("dzn", Some(6 * GIB)), (6 * GIB, BudgetLimit::Profile));
    assert_eq!(cap("lavapipe", Some(GIB)), (GIB, BudgetLimit::Profile));
}

#[test]
fn a_cap_is_never_above_any_of_its_limits_and_never_wraps() {
    let sizes = [0, 1, 255 * MIB, 257 * MIB, GIB, 8 * GIB, 80 * GIB, 1 << 52];
    for Fixture { name, mut caps, .. } in fixtures() {
        let (heap, _) = caps.device_heap().unwrap();
        for bytes in sizes {
            for other in caps.heaps.iter_mut().filter(|h| h.device_local) {
                other.bytes = 0;
            }
            caps.heaps[heap as usize].bytes = bytes;
            for reported in sizes.into_iter().map(Some).chain([None]) {
                for profile in sizes.into_iter().map(Some).chain([None]) {
                    let budget = Budget::of_caps(&caps, reported, profile);
                    let most = [Some(bytes), reported, profile].into_iter().flatten().min().unwrap();
                    assert!(budget.cap_bytes <= most, "{name}: {budget:?}");
                }
            }
        }
    }
}

/// Each larger profile plans with more, on every card that has it.
#[test]
fn shipped_profiles_rise_with_the_card() {
    let gib = |name: &str| {
        let inputs = kiln_config::Inputs {
            profile: Some(name.to_owned()),
            ..Default::default()
        };
        kiln_config::resolve(&inputs).unwrap().memory.cap_gib.unwrap()
    };
    let caps = ["8gb", "16gb", "24gb"].map(gib);
    assert!(caps.is_sorted_by(|a, b| a < b), "{caps:?}");
    for (cap, card) in caps.into_iter().zip([8.0, 16.0, 24.0]) {
        assert!(cap <= 0.97 * card, "{cap} on {card}");
    }
}
