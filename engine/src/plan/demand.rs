//! How much of a model its cameras see, counted before memory is planned.
//!
//! The visible share and the tile intersections depend on the scene's cameras far more than on training, so the first
//! model shows what a plan must expect. A sample of it is projected into the training views with the CPU twin of the
//! projection; sums are integers and each view is counted by one thread, so the figures do not depend on how many
//! threads there are.

use std::thread;

use serde::Serialize;

use crate::step::Capacities;
use kiln_config::{ModelKind, Profile};
use kiln_gaussians::Gaussians;
use kiln_gaussians::bound::Binding;
use kiln_scene::{SceneIndex, evenly};
use kiln_twins::filter_3d;
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::project::{Filter2d, Settings, project};

/// Most Gaussians of the sample: the standard error of a share is then below 0.8 %.
const SAMPLE: usize = 4096;
/// Most views: together with [`SAMPLE`], two million projections.
const VIEWS: usize = 512;

/// What a run needs room for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Gaussians at the start.
    pub gaussians: u32,
    /// Share of the Gaussians that the view that sees most of them sees, 0 to 1.
    pub visible_share: f64,
    /// Share that a view sees, mean over all views.
    pub mean_share: f64,
    /// Tile intersections in the view that has most of them, per Gaussian of the model.
    pub intersections: f64,
    /// Tile intersections per visible Gaussian, mean over all views.
    pub per_visible: f64,
    /// Where the figures come from.
    pub from: DemandSource,
    /// The mesh that the Gaussians are bound to.
    pub bound: Option<Binding>,
    /// Tile intersections that there is room for where memory is not short, whatever the rest says; 0 = by the policy.
    #[serde(skip)]
    pub room: u32,
}

/// Origin of a [`Demand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DemandSource {
    /// The first model was projected into training views.
    Counted {
        /// Gaussians of the sample.
        sample: u32,
        /// Views.
        views: u32,
    },
    /// The capacities that the run had before.
    Checkpoint,
    /// The first model is not there yet.
    Assumed,
}

/// Visible Gaussians of the sample and their tile intersections in one view.
#[derive(Clone, Copy, Default)]
struct Count {
    visible: u64,
    intersections: u64,
}

impl Demand {
    /// Counts for `model`, the first one of a run and bound to nothing, over the training views of `scene`.
    #[must_use]
    pub fn count(profile: &Profile, scene: &SceneIndex, model: &Gaussians) -> Self {
        let sample = sample(model);
        let near_z = profile.near_z(scene);
        let views: Vec<View<f32>> = evenly(scene.train.len(), VIEWS)
            .filter_map(|index| scene.train.get(index))
            .map(|view| View::new(&view.camera).beyond(near_z))
            .collect();
        let filters = if profile.has_filter_3d() {
            let means: Vec<_> = sample.iter().map(|g| g.mean).collect();
            filter_3d::filter_3d(&means, &views)
        } else {
            vec![0.0; sample.len()]
        };
        let settings = Settings {
            filter_2d: match profile.model.kind {
                ModelKind::Classic | ModelKind::Triangles => Filter2d::Classic,
                ModelKind::Mip => Filter2d::Mip {
                    kernel_size: profile.mip.kernel_size.into(),
                },
            },
            sh_degree: 0,
            tight_tiles: true,
            dropout: None,
            plane_depths: false,
        };
        let count = |view: &View<f32>| {
            let mut count = Count::default();
            for (gaussian, filter) in sample.iter().zip(&filters) {
                if let Some(visible) = project(0, gaussian, *filter, view, &settings) {
                    count.visible += 1;
                    count.intersections += u64::from(visible.n_tiles);
                }
            }
            count
        };
        let counts = in_parallel(&views, &count);
        let of = sample.len().max(1) as f64;
        let most = |f: fn(&Count) -> u64| counts.iter().map(f).max().unwrap_or(0) as f64;
        let sum = |f: fn(&Count) -> u64| counts.iter().map(f).sum::<u64>() as f64;
        let units = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            gaussians: units(model.len()),
            visible_share: most(|c| c.visible) / of,
            mean_share: sum(|c| c.visible) / (of * views.len().max(1) as f64),
            intersections: most(|c| c.intersections) / of,
            per_visible: sum(|c| c.intersections) / sum(|c| c.visible).max(1.0),
            from: DemandSource::Counted {
                sample: units(sample.len()),
                views: units(views.len()),
            },
            bound: None,
            room: 0,
        }
    }

    /// For Gaussians on the triangles of a mesh that is to come: a view sees all of them, each in four tiles.
    #[must_use]
    pub const fn of_binding(binding: Binding) -> Self {
        Self {
            gaussians: binding.gaussians(),
            visible_share: 1.0,
            mean_share: 1.0,
            intersections: 4.0,
            per_visible: 4.0,
            from: DemandSource::Assumed,
            bound: Some(binding),
            room: 0,
        }
    }

    /// For a run that goes on with `gaussians` Gaussians: what it had room for, so that it gets the same plan again
    /// where the budget is the same.
    #[must_use]
    pub fn of_checkpoint(capacities: &Capacities, gaussians: u32) -> Self {
        let n = f64::from(capacities.n_cap.max(1));
        Self {
            gaussians,
            visible_share: f64::from(capacities.v_cap) / n,
            mean_share: f64::from(capacities.v_cap) / n,
            intersections: f64::from(capacities.i_cap) / n,
            per_visible: f64::from(capacities.i_cap) / f64::from(capacities.v_cap.max(1)),
            from: DemandSource::Checkpoint,
            bound: capacities.bound,
            room: capacities.i_cap,
        }
    }
}

/// Gaussians from all over the model: its order is that of the scene's points.
fn sample(model: &Gaussians) -> Vec<Gaussian<f32>> {
    let mut part = Gaussians::default();
    for i in evenly(model.len(), SAMPLE) {
        // Colour above degree 0 changes nothing that is counted.
        part.means.extend(model.means.get(i));
        part.quats.extend(model.quats.get(i));
        part.log_scales.extend(model.log_scales.get(i));
        part.logit_opacities.extend(model.logit_opacities.get(i));
        part.sh0.extend(model.sh0.get(i));
    }
    Gaussian::from_model(&part)
}

/// The counts of all views, in their order.
fn in_parallel(views: &[View<f32>], count: &(impl Fn(&View<f32>) -> Count + Sync)) -> Vec<Count> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = views.len().div_ceil(threads).max(1);
    let mut counts = vec![Count::default(); views.len()];
    thread::scope(|scope| {
        for (views, counts) in views.chunks(part).zip(counts.chunks_mut(part)) {
            scope.spawn(move || {
                for (view, result) in views.iter().zip(counts) {
                    *result = count(view);
                }
            });
        }
    });
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_asks_for_what_it_had() {
        let had = Capacities::new(1 << 20, 400_000, 1_500_000, 3, [(64, 64)]);
        let demand = Demand::of_checkpoint(&had, 900_000);
        let n = f64::from(had.n_cap);
        assert!((demand.visible_share * n - 400_000.0).abs() < 1e-6);
        assert!((demand.intersections * n - 1_500_000.0).abs() < 1e-6);
        assert!((demand.per_visible - 3.75).abs() < 1e-12);
    }
}
