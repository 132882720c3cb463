//! Slot rules, selection and sampling of densification.

use super::*;
use kiln_scene::math::logit;

const EVENT: Event = Event {
    seed: 3,
    iteration: 600,
    extent: 1.0,
    capacity: 1000,
};

/// A Gaussian whose first SH value is its source.
fn tagged(tag: f64, scale: f64, opacity: f64) -> Gaussian<f64> {
    let mut g = Gaussian::ZERO;
    g.mean = [tag, 0.0, 0.0];
    g.quat = [2.0, 0.0, 0.0, 0.0];
    g.log_scale = [scale.ln(); 3];
    g.logit_opacity = logit(opacity);
    g.sh[0][0] = tag;
    g
}

fn seen(gradient: f64, abs: f64) -> Statistics<f64> {
    Statistics {
        gradient_sum: 4.0 * gradient,
        abs_sum: 4.0 * abs,
        count: 4,
    }
}

fn used(n: usize) -> Vec<Moments<f64>> {
    let mut moment = Moments::ZERO;
    moment.first.mean[0] = 1.0;
    vec![moment; n]
}

fn tags(gaussians: &[Gaussian<f64>]) -> Vec<f64> {
    gaussians.iter().map(|g| g.sh[0][0]).collect()
}

#[test]
fn quantile_interpolates() {
    let values = [4.0, 1.0, 3.0, 2.0];
    assert_eq!(quantile(&values, 0.0), 1.0);
    assert_eq!(quantile(&values, 1.0), 4.0);
    assert!((quantile(&values, 0.5) - 2.5).abs() < 1e-12);
    assert!((quantile(&values, 0.9) - 3.7).abs() < 1e-12);
    assert_eq!(quantile::<f64>(&[], 0.5), 0.0);
}

#[test]
fn abs_statistic_selects_as_large_a_share_again() {
    // One in four passes by gradient, so Q is the 0.75 quantile of (1, 2, 3, 8) = 4.25.
    let gaussians = [0, 1, 2, 3].map(|i| tagged(f64::from(i), 0.005, 0.5));
    let statistics = [seen(3e-4, 1.0), seen(1e-5, 2.0), seen(1e-5, 3.0), seen(1e-5, 8.0)];
    let decisions = decide(&gaussians, &statistics, &Options::default(), 1.0);
    let kinds: Vec<Decision> = decisions.iter().map(|d| d.0).collect();
    assert_eq!(
        kinds,
        [Decision::Clone, Decision::Keep, Decision::Keep, Decision::Clone]
    );
    assert!((decisions[0].1 - 1.5).abs() < 1e-12 && (decisions[3].1 - 8.0 / 4.25).abs() < 1e-12);

    let plain = Options {
        use_abs: false,
        ..Options::default()
    };
    let kinds: Vec<Decision> = decide(&gaussians, &statistics, &plain, 1.0)
        .iter()
        .map(|d| d.0)
        .collect();
    assert_eq!(kinds, [Decision::Clone, Decision::Keep, Decision::Keep, Decision::Keep]);
}

#[test]
fn births_take_the_parents_slot_and_the_end_in_id_order() {
    // Split, keep, clone, split.
    let mut gaussians = vec![
        tagged(0.0, 0.05, 0.5),
        tagged(1.0, 0.05, 0.5),
        tagged(2.0, 0.009, 0.5),
        tagged(3.0, 0.02, 0.5),
    ];
    let before = gaussians.clone();
    let mut moments = used(4);
    let mut statistics = vec![seen(1e-3, 0.0), seen(1e-5, 0.0), seen(1e-3, 0.0), seen(1e-3, 0.0)];
    let options = Options {
        use_abs: false,
        ..Options::default()
    };
    let report = densify(&mut gaussians, &mut moments, &mut statistics, &options, &EVENT);
    assert_eq!(
        report,
        Report {
            cloned: 1,
            split: 2,
            capped: 0,
            pruned: 0
        }
    );
    assert_eq!(tags(&gaussians), [0.0, 1.0, 2.0, 3.0, 0.0, 2.0, 3.0]);
    assert_eq!(gaussians[1..3], before[1..3]);
    assert_eq!(gaussians[5], before[2]);
    for child in [0, 3, 4, 6] {
        let parent = before[gaussians[child].sh[0][0] as usize];
        assert!((gaussians[child].log_scale[0].exp() * 1.6 - parent.log_scale[0].exp()).abs() < 1e-12);
        assert_eq!(
            (gaussians[child].quat, gaussians[child].logit_opacity),
            (parent.quat, parent.logit_opacity)
        );
        assert_ne!(gaussians[child].mean, parent.mean);
    }
    assert_ne!(gaussians[0].mean, gaussians[4].mean);
    let kept: Vec<bool> = moments.iter().map(|m| *m != Moments::ZERO).collect();
    assert_eq!(kept, [false, true, true, false, false, false, false]);
    assert_eq!(statistics, vec![Statistics::default(); 7]);
}

#[test]
fn holes_are_filled_from_the_live_tail() {
    let dead = [false, true, true, false, true, false, false, true];
    // Four live: holes 1 and 2, live tail 5 and 6.
    assert_eq!(compaction(&dead), (4, vec![(5, 1), (6, 2)]));
    assert_eq!(compaction(&[true, true]), (0, vec![]));
    assert_eq!(compaction(&[false, false]), (2, vec![]));
    assert_eq!(compaction(&[]), (0, vec![]));

    let opacities = dead.map(|d| if d { 0.004 } else { 0.5 });
    let mut gaussians: Vec<Gaussian<f64>> = (0..8)
        .map(|i| tagged(f64::from(i as u32), 0.005, opacities[i]))
        .collect();
    let (mut moments, mut statistics) = (used(8), vec![seen(0.0, 0.0); 8]);
    let options = Options {
        use_abs: false,
        ..Options::default()
    };
    let report = densify(&mut gaussians, &mut moments, &mut statistics, &options, &EVENT);
    assert_eq!(report.pruned, 4);
    assert_eq!(tags(&gaussians), [0.0, 5.0, 6.0, 3.0]);
    assert_eq!((moments.len(), statistics.len()), (4, 4));
}

#[test]
fn pruning_sees_the_children() {
    // Large enough to die, yet its children are not; a faint parent's copy dies with it.
    let mut gaussians = vec![tagged(0.0, 0.15, 0.5), tagged(1.0, 0.2, 0.5), tagged(2.0, 0.005, 0.001)];
    let (mut moments, mut statistics) = (used(3), vec![seen(1e-3, 0.0), seen(0.0, 0.0), seen(1e-3, 0.0)]);
    let options = Options {
        use_abs: false,
        prune_extent: Some(0.1),
        ..Options::default()
    };
    let report = densify(&mut gaussians, &mut moments, &mut statistics, &options, &EVENT);
    assert_eq!(
        report,
        Report {
            cloned: 1,
            split: 1,
            capped: 0,
            pruned: 3
        }
    );
    assert_eq!(tags(&gaussians), [0.0, 0.0]);
}

#[test]
fn capacity_keeps_the_highest_scores_then_the_lowest_ids() {
    let mut decisions = vec![
        (Decision::Clone, 1.5),
        (Decision::Keep, 9.0),
        (Decision::Split, 3.0),
        (Decision::Clone, 1.5),
        (Decision::Split, 2.0),
    ];
    assert_eq!(ration(&mut decisions, 3), 1);
    let kinds: Vec<Decision> = decisions.iter().map(|d| d.0).collect();
    assert_eq!(
        kinds,
        [
            Decision::Clone,
            Decision::Keep,
            Decision::Split,
            Decision::Keep,
            Decision::Split
        ]
    );

    let mut gaussians = vec![tagged(0.0, 0.005, 0.5); 6];
    let (mut moments, mut statistics) = (used(6), vec![seen(1e-3, 0.0); 6]);
    let event = Event { capacity: 8, ..EVENT };
    let report = densify(
        &mut gaussians,
        &mut moments,
        &mut statistics,
        &Options::default(),
        &event,
    );
    assert_eq!((report.cloned, report.capped, gaussians.len()), (2, 4, 8));
}

#[test]
fn samples_follow_the_parents_shape() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let mut parent = tagged(0.0, 1.0, 0.5);
    // A quarter turn about z, stored unnormalised: local x points along world y.
    parent.quat = [3.0 * half, 0.0, 0.0, 3.0 * half];
    parent.log_scale = [2.0_f64.ln(), 0.1_f64.ln(), 0.5_f64.ln()];
    parent.mean = [1.0, 2.0, 3.0];
    let n = 20_000;
    let mut moments = [[0.0; 2]; 3];
    for id in 0..n {
        for child in 0..2 {
            let mean = split_child(&parent, id, child, &Options::default(), &EVENT).mean;
            for i in 0..3 {
                let d = mean[i] - parent.mean[i];
                moments[i][0] += d / f64::from(2 * n);
                moments[i][1] += d * d / f64::from(2 * n);
            }
        }
    }
    for (moment, sigma) in moments.iter().zip([0.1, 2.0, 0.5]) {
        assert!(moment[0].abs() < 0.02 * sigma);
        assert!((moment[1].sqrt() / sigma - 1.0).abs() < 0.02);
    }
}

#[test]
fn an_empty_model_is_left_empty() {
    let (mut gaussians, mut moments, mut statistics) = (Vec::<Gaussian<f32>>::new(), vec![], vec![]);
    let report = densify(
        &mut gaussians,
        &mut moments,
        &mut statistics,
        &Options::default(),
        &EVENT,
    );
    assert_eq!((report, gaussians.len()), (Report::default(), 0));
}
