//! Every pipeline compiles for AMD cards, and none spills registers: on the devices that Mesa's driver for them makes up where there is none.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln_gpu::vk::Tier;
use kiln_kernels::views::Reduction;
use kiln_program::Command;
use kiln_tests::child::{role, run};
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::programs;

/// Generations: GCN 5, RDNA 2, RDNA 3; with the path that their cards get.
const FAMILIES: [(&str, Tier); 3] = [
    ("vega10", Tier::Portable),
    ("navi21", Tier::Fast),
    ("gfx1100", Tier::Fast),
];
/// Where distributions put the driver's manifest.
const MANIFEST: &str = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
const ROLE: &str = "compile";
/// The one kernel that spills, eleven registers on RDNA 3: models stored compactly, seen through a lens.
const SPILLS: (&str, &[u32]) = ("update.compact", &[1]);

fn compile_all() {
    let device = open();
    assert!(device.caps().name.contains("Null hardware"), "{}", device.caps().name);
    device.keep_statistics();
    // Such a device has no memory, so nothing is allocated or recorded: only the compiler works.
    let lists = programs::all();
    // No driver has to bear what its device does not offer.
    let offered = |reduction: Reduction| reduction != Reduction::Atomic || device.caps().float_atomics;
    let passes = lists
        .iter()
        .filter(|(reduction, _)| offered(*reduction))
        .flat_map(|(reduction, programs)| programs.iter().map(move |program| (*reduction, program)))
        .flat_map(|(reduction, program)| program.commands.iter().map(move |command| (reduction, command)));
    // What runs on such a card unless a run must repeat to the byte.
    let is_usual =
        |reduction: Reduction| (reduction == Reduction::Segmented) == (device.caps().tier() == Tier::Portable);
    let mut count = 0;
    for (reduction, command) in passes {
        if let Command::Dispatch(pass) = command {
            let push = u32::try_from(pass.push.len()).unwrap();
            let pipeline = device.pipeline(pass.shader, &pass.spec, push).unwrap();
            let told = pipeline.statistics(&device).unwrap();
            let spilled = told.iter().find(|s| s.name == "Spilled VGPRs").unwrap();
            // Kernels of eight lanes a tile are for CPU drivers alone.
            if is_usual(reduction) && !pass.shader.name.contains("_lanes") {
                let known = if (pass.shader.name, &pass.spec[..]) == SPILLS {
                    "11"
                } else {
                    "0"
                };
                let few = ["0", known].contains(&spilled.value.as_str());
                assert!(few, "{} {:?}: {told:?}", pass.shader.name, pass.spec);
            }
            count += 1;
        }
    }
    assert_valid(&device);
    assert!(count > 1000, "{count} passes");
    // Cards that can do 32 lanes are asked for them; GCN can do 64 alone.
    let tier = device.caps().tier();
    println!("every pass compiles for {}, {tier:?}", device.caps().name);
    // Mesa 22.3 crashes when it takes such a device down.
    std::mem::forget(device);
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
    for (family, tier) in FAMILIES {
        let driver = [
            ("RADV_FORCE_FAMILY", family),
            ("VK_ICD_FILENAMES", MANIFEST),
            ("VK_DRIVER_FILES", MANIFEST),
        ];
        let said = run(module_path!(), "every_pipeline_compiles_for_amd_cards", ROLE, &driver);
        assert!(said.contains("every pass compiles for Null hardware"), "{said}");
        assert!(said.contains(&format!("{tier:?}")), "{said}");
    }
}
