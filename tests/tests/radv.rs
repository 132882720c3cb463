//! Every pipeline compiles for AMD cards: on the devices that Mesa's driver for them makes up where there is none.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::memory::Gpu;
use kiln::program::Program;
use kiln::vk::RecordOptions;
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
    let mut count = 0;
    for (table, programs) in programs::all() {
        let all: Vec<&Program> = programs.iter().collect();
        let gpu = Gpu::new(&device, table, &all, 1 << 30).unwrap();
        for program in all {
            gpu.compile(program, RecordOptions::default()).unwrap();
            count += program.commands.len();
        }
    }
    assert_valid(&device);
    println!("{} commands compiled for {}", count, device.caps().name);
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
        assert!(said.contains("commands compiled for"), "{said}");
    }
}
