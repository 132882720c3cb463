//! Runs whose loss looks at surfaces from some iteration on.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::read_ply;
use kiln::plan::{Job, TrainPlan};
use kiln::run::interrupt::Interrupt;
use kiln::step::Terms;
use kiln_kernels::views::{Reduction, Threads};
use kiln_program::Class;
use kiln_tests::gpu;
use kiln_tests::runs::{self, QUICK, Scratch, profile, train_scene};

use super::losses::{pauses_change_nothing, planned, solids, train_eventful};

const LATE: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.1, from: 45 }]";
const WITHOUT: &str = "[{ kind: l1 }, { kind: dssim }]";
const FLAT: (&str, &str) = ("regularizers", "[{ kind: flat, weight: 10 }]");

/// Mean disagreement in the rows of `metrics.jsonl`, by iteration.
fn normals(run: &Path) -> Vec<(u64, Option<f64>)> {
    let rows = runs::rows(&run.join("metrics.jsonl"));
    let steps = rows.iter().filter(|row| row["type"] == "train");
    steps
        .map(|row| (row["it"].as_u64().unwrap(), row["normals"].as_f64()))
        .collect()
}

/// Mean of the smallest standard deviations over that of the middle ones.
fn flatness(ply: &Path) -> f64 {
    let (model, _) = read_ply(ply).unwrap();
    let sums = model.log_scales.iter().fold([0.0; 2], |[least, middle], scales| {
        let mut scales = scales.map(|s| f64::from(s).exp());
        scales.sort_by(f64::total_cmp);
        [least + scales[0], middle + scales[1]]
    });
    sums[0] / sums[1]
}

/// What a heavy weight does within 150 steps: normals agree better with the depth than under a weight that is next to nothing, and
/// `flat` makes discs; what the photos say of the model stays.
#[test]
fn normals_agree_and_gaussians_are_flat() {
    let scratch = Scratch::new("surface");
    solids(&scratch.join("scene"));
    let run = |name: &str, losses: &str, regularizers: &str| {
        let own = [
            ("dataset.resolution", "-1"),
            ("dataset.masks", "\"off\""),
            ("train.deterministic", "true"),
            ("schedule.iterations", "150"),
            ("schedule.test", "[150]"),
            ("losses", losses),
            ("regularizers", regularizers),
        ];
        let profile = profile(&scratch.join(name), &[QUICK, &own]);
        train_scene(profile, scratch.join("scene"), None, &Interrupt::unattached()).unwrap();
        let ply = scratch.join(&format!("{name}/point_cloud/iteration_150/point_cloud_raw.ply"));
        (normals(&scratch.join(name)), flatness(&ply))
    };
    let of =
        |weight: &str| format!("[{{ kind: l1 }}, {{ kind: dssim }}, {{ kind: normals, weight: {weight}, from: 30 }}]");
    let (loose, round) = run("loose", &of("1e-9"), "[]");
    let (tight, _) = run("tight", &of("0.3"), "[]");
    let (_, flat) = run("flat", &of("1e-9"), "[{ kind: flat, weight: 100 }]");
    let last = |rows: &[(u64, Option<f64>)]| {
        let late = rows.iter().filter(|(it, _)| *it > 100).map(|(_, mean)| mean.unwrap());
        let late: Vec<f64> = late.collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    assert!(
        last(&tight) < 0.8 * last(&loose),
        "{} against {}",
        last(&tight),
        last(&loose)
    );
    assert!(flat < 0.7 * round, "{flat} against {round}");
}

/// Steps before the first that looks at surfaces are those of a run that never does, and rows have the term from then on.
#[test]
fn nothing_changes_before_its_iteration() {
    let scratch = Scratch::new("surface-late");
    for (name, losses) in [("with", LATE), ("without", WITHOUT)] {
        let own = [("losses", losses), ("schedule.save", "[44, 60]")];
        train_eventful(&scratch.join(name), &own, None);
    }
    let [with, without] = ["with", "without"].map(|name| scratch.join(name));
    assert!(runs::raw_model(&with, 44) == runs::raw_model(&without, 44));
    assert!(runs::raw_model(&with, 60) != runs::raw_model(&without, 60));
    for (it, mean) in normals(&with) {
        assert_eq!(mean.is_some(), it >= 45, "{it}");
        assert!(mean.is_none_or(|mean| mean > 0.0 && mean < 1.0), "{it}: {mean:?}");
    }
    assert!(normals(&without).iter().all(|(_, mean)| mean.is_none()));
}

/// A run that goes on from a checkpoint before or behind that iteration ends with the bytes of one that never paused.
#[test]
fn a_pause_changes_nothing() {
    let scratch = Scratch::new("surface-pause");
    let own = [("losses", LATE), FLAT, ("schedule.checkpoint", "[36, 54]")];
    train_eventful(&scratch.join("whole"), &own, None);
    pauses_change_nothing(&scratch, &own);
}

/// The tensors of such steps, and nothing for runs without them.
#[test]
fn memory_is_as_listed() {
    let scratch = Scratch::new("surface-bytes");
    solids(&scratch.join("scene"));
    for reduction in [Reduction::Segmented, Reduction::Atomic] {
        assert_eq!(
            gpu::variants(reduction).threads == Threads::Pixels,
            reduction == Reduction::Atomic
        );
        let [with, without] =
            [LATE, WITHOUT].map(|losses| planned(&scratch, &[("losses", losses)], 128 << 20, reduction).unwrap());
        let of = |plan: &TrainPlan| -> Vec<(String, u64)> {
            let tensors = plan.table.tensors().iter();
            let surface = tensors.filter(|t| t.name.starts_with("surface/"));
            surface
                .inspect(|t| assert_eq!(t.class, Class::Arena, "{}", t.name))
                .map(|t| (t.name.clone(), t.bytes))
                .collect()
        };
        assert_eq!(of(&without), []);
        let c = with.tensors.capacities;
        let (v, px, i) = (u64::from(c.v_cap), u64::from(c.max_pixels), u64::from(c.i_cap));
        let partials = if reduction == Reduction::Segmented { i } else { 1 };
        let wanted = [
            ("surface/splat_plane", 16 * v),
            ("surface/plane", 16 * px),
            ("surface/depth", 8 * px),
            ("surface/map", 16 * px),
            ("surface/gradient", 16 * px),
            ("surface/normal_gradient", 16 * px),
            ("surface/gradient_d", 16 * v),
            ("surface/partial_d", 16 * partials),
            ("surface/steepest", 16),
        ];
        assert_eq!(of(&with), wanted.map(|(name, bytes)| (name.to_owned(), bytes)));
        assert!(with.jobs.get(Job::Step(Terms::Surface, 0)).is_some());
        assert!(without.jobs.get(Job::Step(Terms::Surface, 0)).is_none());
    }
}

#[test]
fn images_beyond_a_binding_are_refused() {
    let scratch = Scratch::new("surface-large");
    solids(&scratch.join("scene"));
    let error = planned(&scratch, &[("losses", LATE)], 16 * 64 * 48 - 1, Reduction::Segmented)
        .map(|_| ())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the loss `normals` takes images of at most 3071 pixels"),
        "{error}"
    );
}
