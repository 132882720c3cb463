//! What plugins declare is what the plan allocates.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::kernels::views::{Reduction, Variants};
use kiln::memory::{BlockRounding, Budget, GIB, PlanLimits};
use kiln::plugins::NeedClass;
use kiln::scene::SceneIndex;
use kiln::train::{plan, scene_options};
use kiln_tests::runs;

#[test]
fn declared_needs_are_the_bytes_of_the_plan() {
    let ways: [&[(&str, &str)]; 4] = [
        &[("strategy.kind", "adc")],
        &[("strategy.kind", "adc_abs"), ("model.sh_degree", "1")],
        &[("strategy.kind", "fixed"), ("model.sh_degree", "0")],
        &[("debug.chunk", "1024")],
    ];
    for way in ways {
        let common = [("memory.max_gaussians", "5000"), ("dataset.resolution", "80")];
        let profile = runs::profile(Path::new("unused"), &[&common, way]);
        let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
        let limits = PlanLimits {
            block_bytes: GIB,
            binding_bytes: GIB,
            rounding: BlockRounding::NONE,
        };
        let variants = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 0,
            columns: true,
            jitter: false,
        };
        let budget = Budget::new(GIB, None, Some(GIB), 1.0);
        let (plan, report) = plan(&profile, &scene, 3500, budget, limits, &variants).unwrap();
        let bytes = |parts: &[&str]| -> u64 {
            let tensors = plan.table.tensors().iter();
            let named = tensors.filter(|t| parts.iter().any(|part| t.name.starts_with(part)));
            named.map(|t| t.bytes).sum()
        };
        let needs = profile.needs();
        let n_cap = u64::from(report.capacities.n_cap);
        let allocated = bytes(&[
            "model/statistics[",
            "model/geometry_m[",
            "model/geometry_v[",
            "model/sh_m[",
            "model/sh_v[",
        ]);
        assert_eq!(allocated, n_cap * needs.bytes(NeedClass::PerGaussian), "{way:?}");
        let pixels = u64::from(report.capacities.max_pixels);
        assert_eq!(
            bytes(&["step/ssim_maps"]),
            pixels * needs.bytes(NeedClass::PerPixel),
            "{way:?}"
        );
    }
}
