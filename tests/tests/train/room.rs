//! Room for tile intersections: what bounds it, and no step in bands while the profile has memory left.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use super::bytes::{CARD, FAST, SEGMENTED, scene};
use kiln::plan::{CapacitySource, Demand, DemandSource, PlanReport, RoomLimit, most_intersections, plan};
use kiln::run::interrupt::Interrupt;
use kiln_gpu::memory::{Budget, GIB, MIB, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_tests::runs::{self, Scratch};

/// 6000 splats so large that all of them are in every one of the 192 tiles: a million intersections and more in each view.
/// They are opaque, so that a pixel is done after a few.
const LARGE: &[(&str, &str)] = &[
    ("init", "{ kind: random_box, count: 6000, scale: 10, opacity: 0.99 }"),
    ("strategy.kind", "fixed"),
    ("memory.max_gaussians", "6000"),
    ("schedule.iterations", "4"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("train.deterministic", "true"),
    ("eval.lpips", "false"),
];

/// The same as a demand.
fn large() -> Demand {
    Demand {
        gaussians: 6000,
        visible_share: 1.0,
        mean_share: 1.0,
        intersections: 191.0,
        per_visible: 191.0,
        from: DemandSource::Counted {
            sample: 4096,
            views: 35,
        },
        bound: None,
        room: 0,
    }
}

fn planned(demand: &Demand, cap_bytes: u64, limits: PlanLimits, variants: &Variants) -> PlanReport {
    let profile = runs::profile(Path::new("unused"), &[LARGE]);
    let scene = scene(&profile, [256, 192]);
    let budget = Budget::of_profile(cap_bytes);
    plan(&profile, &scene, demand, budget, limits, variants, &profile.faults)
        .unwrap()
        .1
}

#[test]
fn room_follows_from_the_sample_and_ends_at_what_binds() {
    let first = 6000 * 191;
    let roomy = planned(&large(), 22 * GIB, CARD, &SEGMENTED);
    assert_eq!(
        roomy.capacities.i_cap,
        first / 2 * 3,
        "with head-room, and not more because there is more"
    );
    assert_eq!(roomy.capacities_from, CapacitySource::Generous);
    assert_eq!((roomy.short_of, roomy.shortage()), (None, None));
    // The sort's buffers and the sums of gradients are in it: other bytes, other kernels.
    let bytes = |variants| {
        let few = Demand {
            intersections: 1.0,
            ..large()
        };
        let [all, few] = [large(), few].map(|demand| planned(&demand, 22 * GIB, CARD, variants));
        let more = f64::from(all.capacities.i_cap - few.capacities.i_cap);
        (all.device_bytes - few.device_bytes) as f64 / more
    };
    let [fast, segmented] = [bytes(&FAST), bytes(&SEGMENTED)];
    assert!(
        (12.0..20.0).contains(&fast) && (50.0..70.0).contains(&segmented),
        "{fast} {segmented}"
    );
    // What is left of a shorter cap, all of it while it is enough for the first model.
    let least = planned(&large(), 64 * MIB, CARD, &SEGMENTED);
    let mut last = least.capacities.i_cap;
    for mib in (64..112).step_by(4) {
        let report = planned(&large(), mib * MIB, CARD, &SEGMENTED);
        let i_cap = report.capacities.i_cap;
        assert!(report.device_bytes <= mib * MIB && i_cap >= last, "{mib}: {i_cap}");
        let (source, short_of) = (report.capacities_from, report.short_of);
        match i_cap {
            i_cap if i_cap < first => {
                assert_eq!((source, short_of), (CapacitySource::Short, Some(RoomLimit::Budget)));
                let text = report.shortage().unwrap();
                let cap = format!("cap of {mib} MiB");
                assert!(
                    text.contains(&cap) && text.contains("a higher `memory.cap_gib`"),
                    "{text}"
                );
            }
            i_cap if i_cap < first / 2 * 3 => assert_eq!((source, short_of), (CapacitySource::Budget, None)),
            _ => assert_eq!((source, short_of), (CapacitySource::Generous, None)),
        }
        last = i_cap;
    }
    assert!(least.capacities.i_cap < first && last > first);
    // A device that binds less than that, with memory to spare.
    let small = PlanLimits {
        binding_bytes: 16 * MIB,
        ..CARD
    };
    let bound = planned(&large(), 22 * GIB, small, &SEGMENTED);
    assert_eq!(bound.capacities.i_cap, most_intersections(small, &SEGMENTED));
    assert_eq!(bound.short_of, Some(RoomLimit::Device));
    let text = bound.shortage().unwrap();
    assert!(
        text.contains("binds no larger lists, whatever the cap") && !text.contains("memory.cap_gib"),
        "{text}"
    );
}

#[test]
fn large_splats_go_in_bands_only_where_the_cap_is_short() {
    let scratch = Scratch::new("large-splats");
    let train = |name: &str, cap_gib: &str| {
        let root = scratch.join(name);
        let settings = [LARGE, &[("memory.cap_gib", cap_gib)]];
        runs::train(runs::profile(&root, &settings), None, &Interrupt::unattached()).unwrap();
        root
    };
    let said = |root: &PathBuf, kind: &str| -> Vec<String> {
        let events = runs::events(root, kind);
        events.iter().map(|row| row["detail"].to_string()).collect()
    };
    // As profile `24gb` has it.
    let roomy = train("roomy", "22");
    let rows = runs::rows(&roomy.join("metrics.jsonl"));
    let most = rows.iter().filter_map(|row| row["intersections"].as_u64()).max();
    assert!(most.is_some_and(|most| most > 1 << 20), "{most:?}");
    for kind in ["stall", "resume", "warning"] {
        assert_eq!(said(&roomy, kind), [""; 0], "{kind}");
    }
    let short = train("short", "0.0625");
    assert_eq!(said(&short, "stall").len(), 1, "later steps are not tried whole");
    let [warning] = &said(&short, "warning")[..] else {
        unreachable!("{:?}", said(&short, "warning"))
    };
    for part in ["cap of 64 MiB", "expect steps in bands", "a higher `memory.cap_gib`"] {
        assert!(warning.contains(part), "{warning}");
    }
    let model = |root: &Path| fs::read(root.join("point_cloud/iteration_4/point_cloud.ply")).unwrap();
    assert!(model(&roomy) == model(&short), "room changes no byte");
}
