//! Telemetry through a stand-in for the driver's library, which is loaded at run time like the real one.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_gpu::vk::{GpuSample, Nvml, Throttle};
use kiln_tests::child;
use kiln_tests::runs::Scratch;

const UUID: &str = "00112233445566778899aabbccddeeff";

fn library(scratch: &Scratch) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/nvml.rs");
    let path = scratch.join(&format!(
        "{}nvml{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "--crate-name",
            "nvml",
            "-o",
        ])
        .arg(&path)
        .arg(source)
        .status()
        .expect("rustc starts");
    assert!(status.success(), "the stand-in does not compile");
    path
}

fn expected() -> GpuSample {
    GpuSample {
        compute_percent: Some(98),
        memory_percent: Some(75.0),
        memory_bus_percent: Some(41),
        temperature_celsius: Some(63),
        power_watts: Some(287.5),
        power_limit_watts: Some(320.0),
        fan_percent: None,
        clock_graphics_mhz: Some(1000),
        clock_sm_mhz: Some(1001),
        clock_memory_mhz: Some(1002),
        pstate: Some(2),
        throttle: Some(vec![Throttle::SwPowerCap, Throttle::HwThermal]),
    }
}

#[test]
fn a_card_says_what_it_can() {
    let scratch = Scratch::new("nvml");
    let library = library(&scratch);
    let card = Nvml::load(library.as_os_str(), UUID).expect("the card by its UUID");
    assert_eq!(card.sample(), expected());
    // A second one while the first is open would find the library opened twice, and then nothing answers.
    drop(card);
    let other = "ff".repeat(16);
    let only = Nvml::load(library.as_os_str(), &other).expect("the only card there is");
    assert_eq!(only.sample(), expected());
    assert!(Nvml::load(scratch.join("absent.so").as_os_str(), UUID).is_none());
}

#[test]
fn among_several_cards_an_unknown_one_is_nobody() {
    let scratch = Scratch::new("nvml-several");
    match child::role() {
        None => {
            let library = library(&scratch).display().to_string();
            let name = "among_several_cards_an_unknown_one_is_nobody";
            child::run(module_path!(), name, &library, &[("FAKE_NVML_CARDS", "2")]);
        }
        Some(library) => {
            assert!(Nvml::load(library.as_ref(), &"ff".repeat(16)).is_none());
            let card = Nvml::load(library.as_ref(), UUID).expect("the card by its UUID");
            assert_eq!(card.sample().compute_percent, Some(98));
        }
    }
}
