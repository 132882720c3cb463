//! The portable tier: what every device with Vulkan 1.2 can do is enough to train as well as anywhere.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::thread;

use kiln_tests::child;
use kiln_tests::runs::{self, QUICK, Scratch, json, rows};
use xtask::spirv::reflect;

/// A reset so early that its opacities come back before the end, and points all around. Without them the tiers end up to 0.11 dB
/// apart, depending on seed and shader compiler; with them 0.003 to 0.012 (seeds 0 to 2).
const CALM: &[(&str, &str)] = &[
    ("strategy.reset", "{ every: 6, until: 10, opacity: 0.08 }"),
    // After a reset as early as this one it would take the background.
    ("strategy.prune.world", "100"),
    ("init.background", "auto"),
];

/// Trains in a process of its own, with subgroups of 16 lanes and sums in a fixed order as far as the driver decides, and
/// gives the PSNR over the test views.
fn psnr(root: &Path, settings: &[(&str, &str)]) -> f64 {
    let mut command = runs::train_command(root, &[QUICK, CALM, settings]);
    child::set_vectors(&mut command, "512");
    command.env("LP_NUM_THREADS", "1");
    let (code, errors) = runs::outcome(&mut command);
    assert_eq!(code, Some(0), "{errors}");
    runs::assert_eventful(root, 0, 100, 5);
    let rows = rows(&root.join("metrics.jsonl"));
    let last = rows
        .iter()
        .rfind(|r| r["type"] == "eval" && r["set"] == "test")
        .unwrap();
    assert_eq!(last["it"], 100);
    last["psnr_image"].as_f64().unwrap()
}

/// The default of a card with float atomics and subgroup operations, against the forced portable tier.
#[test]
fn the_portable_tier_trains_to_the_same_psnr() {
    let scratch = Scratch::new("portable");
    let (fast_root, portable_root) = (scratch.join("fast"), scratch.join("portable"));
    let (fast, portable) = thread::scope(|scope| {
        let fast = scope.spawn(|| psnr(&fast_root, &[("fault.reduction", "atomic")]));
        let portable = psnr(&portable_root, &[("fault.portable", "true")]);
        (fast.join().unwrap(), portable)
    });
    assert!((fast - portable).abs() <= 0.1, "fast {fast} dB, portable {portable} dB");

    // They are what they say they are.
    let (fast, portable) = (json(&fast_root.join("env.json")), json(&portable_root.join("env.json")));
    assert_eq!((&fast["tier"], &portable["tier"]), (&"fast".into(), &"portable".into()));
    assert_eq!(fast["kernels"]["reduction"], "atomic");
    assert_eq!(fast["kernels"]["sort_subgroup"], "16");
    assert_eq!(fast["device"]["float_atomics"], true);
    assert_eq!(portable["kernels"]["reduction"], "segmented");
    assert_eq!(portable["kernels"]["sort_subgroup"], "0");
    let device = &portable["device"];
    assert_eq!(device["float_atomics"], false);
    for (limit, most) in [
        ("max_binding_bytes", 128 << 20),
        ("shared_bytes", 32 << 10),
        ("push_bytes", 128),
    ] {
        assert!(device[limit].as_u64().unwrap() <= most, "{limit}: {}", device[limit]);
    }
}

/// Numbers of the SPIR-V specification.
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const CAPABILITY_SHADER: u32 = 1;

/// What a module asks a device for.
fn capabilities(spirv: &[u8]) -> Vec<u32> {
    let words: Vec<u32> = spirv
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect();
    let (mut at, mut found) = (5, Vec::new());
    while let Some(word) = words.get(at) {
        match word & 0xffff {
            OP_FUNCTION => break,
            OP_CAPABILITY => found.push(words[at + 1]),
            _ => {}
        }
        at += (word >> 16) as usize;
    }
    found
}

/// No 64-bit integers, no float atomics, no subgroup operations, no small types: kernels of the portable tier want a shader
/// device and nothing else, and at most 128 bytes of push constants. What the names of the others say is all they add.
#[test]
fn portable_kernels_ask_for_nothing_optional() {
    let fast = [".subgroup", ".atomic", ".compare_exchange", "_lanes"];
    let (mut portable, mut others) = (0, 0);
    for shader in kiln_kernels::ALL {
        let asked = capabilities(shader.spirv);
        if shader.name == "rasterize"
            || shader.name == "rasterize.surface"
            || fast.iter().any(|variant| shader.name.contains(variant))
        {
            others += 1;
        } else {
            assert_eq!(asked, [CAPABILITY_SHADER], "{}", shader.name);
            portable += 1;
        }
        let push = reflect(shader.spirv)
            .push
            .last()
            .map_or(0, |(offset, size)| offset + size);
        assert!(push <= 128, "{} takes {push} bytes of push constants", shader.name);
    }
    assert!(
        portable > 40 && others > 2,
        "{portable} portable kernels, {others} others"
    );
}
