//! Every kernel has a program that records it. That kernels are what their shaders declare is `shaders.rs`' to check.

use std::collections::BTreeSet;

use kiln_program::Command;
use kiln_tests::programs;
use xtask::glsl::FIRST_OF_DEVICE;

/// Writes out of bounds for `vulkan_checks`; no program of the engine has it.
const OF_TESTS: [&str; 1] = ["fill"];

#[test]
fn every_kernel_is_recorded_by_some_program() {
    let lists = programs::all();
    let programs = lists.iter().flat_map(|(_, programs)| programs);
    let commands = programs.flat_map(|p| &p.commands);
    let made: BTreeSet<&str> = commands
        .filter_map(|command| match command {
            Command::Dispatch(pass) => Some(pass.shader.name),
            _ => None,
        })
        .collect();
    let unused: Vec<_> = kiln_kernels::ALL
        .iter()
        .map(|shader| shader.name)
        .filter(|name| !made.contains(name) && !OF_TESTS.contains(name))
        .collect();
    assert!(
        unused.is_empty(),
        "nothing records {unused:?}: delete them, or add the program that does"
    );
}

#[test]
fn specialisation_constants_of_devices_are_not_those_of_passes() {
    assert_eq!(FIRST_OF_DEVICE, kiln_gpu::vk::LOCKSTEP as usize);
}
