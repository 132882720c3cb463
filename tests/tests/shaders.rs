//! The checked-in SPIR-V is valid, current and complete.
#![expect(clippy::panic, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
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

/// Most modules of one source, and of all. A module is compiled into the program, changes with every block that it reads, and is kept in
/// the history for good: a commit that needs more raises these and says why.
const MOST_OF_A_SOURCE: usize = 12;
const MOST: usize = 180;

#[test]
fn there_are_no_more_modules_than_agreed() {
    let names = manifest::modules(&root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    let mut of_source = BTreeMap::<&str, usize>::new();
    for name in &names {
        *of_source.entry(name.split('.').next().unwrap_or(name)).or_default() += 1;
    }
    let large: Vec<_> = of_source.iter().filter(|(_, n)| **n > MOST_OF_A_SOURCE).collect();
    assert!(
        large.is_empty(),
        "more than {MOST_OF_A_SOURCE} modules of a source: {large:?}"
    );
    assert!(names.len() <= MOST, "{} modules, agreed are {MOST}", names.len());
}
