//! The checked-in SPIR-V is valid, current and complete.
#![expect(clippy::panic, reason = "tests stop at the first surprise")]

use std::process::Command;

use xtask::{kernels, manifest, root};

#[test]
fn sources_modules_and_manifest_agree() {
    let problems = manifest::problems(&root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    assert!(
        problems.is_empty(),
        "run `cargo xtask shaders`:\n  {}",
        problems.join("\n  ")
    );
}

#[test]
fn the_generated_kernels_are_what_the_shaders_declare() {
    let problems = kernels::problems(&root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    assert!(
        problems.is_empty(),
        "run `cargo xtask shaders`:\n  {}",
        problems.join("\n  ")
    );
}

#[test]
fn every_module_passes_the_validator() {
    let names = manifest::modules(&root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    assert!(!names.is_empty(), "shaders/spv holds no module");
    let mut invalid = Vec::new();
    for name in names {
        let path = manifest::folder(&root()).join(&name);
        let output = Command::new("spirv-val")
            .args(["--target-env", "vulkan1.2"])
            .arg(path)
            .output()
            .unwrap_or_else(|e| panic!("cannot start spirv-val: {e}; `apt-get install spirv-tools` brings it"));
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            invalid.push(format!("{name}: {}", String::from_utf8_lossy(&text).trim()));
        }
    }
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
}
