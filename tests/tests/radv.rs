//! Every pipeline compiles for AMD cards: on the devices that Mesa's driver for them makes up where there is none.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::kernels::views::Reduction;
use kiln::program::Command;
use kiln::vk::PipelineCache;
use kiln_tests::child::{role, run};
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::programs;

/// Generations: GCN 5, RDNA 2, RDNA 3.
const FAMILIES: [&str; 3] = ["vega10", "navi21", "gfx1100"];
/// Where distributions put the driver's manifest.
const MANIFEST: &str = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
const ROLE: &str = "compile";

fn compile_all() {
    let device = open();
    assert!(device.caps().name.contains("Null hardware"), "{}", device.caps().name);
    // Such a device has no memory, so nothing is allocated or recorded: only the compiler works.
    let pipelines = PipelineCache::default();
    let lists = programs::all();
    // No driver has to bear what its device does not offer.
    let offered = |reduction: Reduction| reduction != Reduction::Atomic || device.caps().float_atomics;
    let passes = lists
        .iter()
        .filter(|(reduction, _)| offered(*reduction))
        .flat_map(|(_, programs)| programs)
        .flat_map(|program| &program.commands);
    let mut count = 0;
    for command in passes {
        if let Command::Dispatch(pass) = command {
            let push = u32::try_from(pass.push.len()).unwrap();
            pipelines.get(&device, pass.shader, &pass.spec, push).unwrap();
            count += 1;
        }
    }
    assert_valid(&device);
    assert!(count > 1000, "{count} passes");
    println!("every pass compiles for {}", device.caps().name);
    // Mesa 22.3 crashes when it takes such a device down.
    std::mem::forget((pipelines, device));
}

#[test]
fn every_pipeline_compiles_for_amd_cards() {
    if role().as_deref() == Some(ROLE) {
        return compile_all();
    }
    assert!(
        Path::new(MANIFEST).exists(),
        "{MANIFEST} is not there: install mesa-vulkan-drivers"
    );
    for family in FAMILIES {
        let driver = [
            ("RADV_FORCE_FAMILY", family),
            ("VK_ICD_FILENAMES", MANIFEST),
            ("VK_DRIVER_FILES", MANIFEST),
        ];
        let said = run(module_path!(), "every_pipeline_compiles_for_amd_cards", ROLE, &driver);
        assert!(said.contains("every pass compiles for Null hardware"), "{said}");
    }
}
