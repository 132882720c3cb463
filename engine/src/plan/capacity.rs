//! The policy of capacities: how many visible records and tile intersections a plan has room for.
//!
//! A step that finds too little room is done again in bands of tiles: slower, never wrong. So capacities are a matter of
//! speed, and memory that is not short is spent on them:
//!
//! | level | visible records | intersections |
//! |---|---|---|
//! | [`GENEROUS`] | one a Gaussian | what trained models were seen to want, and what the sample of the first model does; see [`room`] |
//! | down to [`COUNTED_I`] | one a Gaussian | fewer and fewer, down to the counted |
//! | down to [`COUNTED`] | fewer and fewer, down to the counted | the counted |
//! | down to [`LEAST`] | the counted | fewer and fewer, down to one a record |
//!
//! *Counted* is what the training views showed of the first model ([`Demand`]), times the capacity in Gaussians, times
//! [`HEAD_ROOM`]. That is on the safe side: densification replaces Gaussians by smaller ones, so that intersections per
//! Gaussian fall while the model grows. (Bonsai of Mip-NeRF 360 with 947 k Gaussians: 23 to 30 % visible, 2.5 to 2.6
//! intersections a visible Gaussian.)
//!
//! The sample shows well how much of a model a view sees, which is a matter of cameras: all of it in a scene of few photos, a third in
//! one that is walked around. It shows how large splats are at the start, and not how large they will be. So a run whose steps want more
//! while its budget has free bytes is planned again with more room ([`Demand::room`]).
//!
//! Capacities are lowered only where the wanted number of Gaussians does not fit otherwise, and the number of Gaussians
//! only where not even the counted capacities fit.

use serde::{Deserialize, Serialize};

use super::demand::{Demand, DemandSource};
use super::room::{self, HEAD_ROOM, RECORD_BYTES, RoomLimit, times};
use super::{Faults, losses};
use crate::step::Capacities;
use kiln_config::plugins::{DeferredSh, Optimizer};
use kiln_config::{MostGaussians, Profile};
use kiln_gaussians::bound::CHUNK_UNIT;
use kiln_gaussians::layout::{Storage, chunk_within};
use kiln_gpu::memory::PlanLimits;
use kiln_kernels::views::{Reduction, Variants};
use kiln_scene::SceneIndex;

/// Least counted visible records: small numbers say little, and cost little.
const COUNTED_LEAST: u32 = 1 << 16;

/// Level with the most room.
pub(super) const GENEROUS: u32 = 48;
/// Level with the counted intersections and a record for every Gaussian.
const COUNTED_I: u32 = 32;
/// Level with the counted capacities.
pub(super) const COUNTED: u32 = 16;
/// Level with the least room.
pub(super) const LEAST: u32 = 0;

/// Where the capacities of a plan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacitySource {
    /// Memory is not short.
    Generous,
    /// As many as the budget holds, at least the counted.
    Budget,
    /// Counted over the training views, with head-room.
    Counted,
    /// Less than counted: steps will run in bands.
    Short,
    /// Forced by the faults `v_cap` or `i_cap`.
    Forced,
}

impl CapacitySource {
    /// For people.
    #[must_use]
    pub const fn describe(self, triangles: bool) -> &'static str {
        match self {
            Self::Generous if triangles => {
                "memory is not short: a record for every triangle, up to three intersections each"
            }
            Self::Generous => "memory is not short: a record for every Gaussian, at least six intersections each",
            Self::Budget => "what the budget holds, at least as counted over the training views",
            Self::Counted => "as counted over the training views, with head-room",
            Self::Short => "less than counted over the training views: expect steps in bands",
            Self::Forced => "forced by the faults v_cap or i_cap",
        }
    }
}

/// Where capacities come from, and what keeps them below what was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) source: CapacitySource,
    /// None where there is room for the first model in every view that was sampled.
    pub(super) short_of: Option<RoomLimit>,
}

/// Capacities for `n` Gaussians at `level`, and where they come from.
pub(super) fn capacities(
    profile: &Profile,
    scene: &SceneIndex,
    demand: &Demand,
    (n, level): (u32, u32),
    limits: PlanLimits,
    variants: &Variants,
    faults: &Faults,
) -> (Capacities, Origin) {
    let bound = |bytes: u64| u32::try_from(limits.largest_tensor() / bytes).unwrap_or(u32::MAX);
    let tiles = Capacities::new(n, n, n, 0, pixel_sizes(scene)).max_tiles;
    let (v_cap, i_cap) = sizes(demand, n, level, tiles);
    let v_cap = faults.v_cap.unwrap_or(v_cap).min(bound(RECORD_BYTES));
    let most = room::most_intersections(limits, variants);
    let first = room::of_first_model(demand);
    let source = match level {
        _ if faults.forces_capacities() => CapacitySource::Forced,
        GENEROUS.. => CapacitySource::Generous,
        _ if i_cap < first => CapacitySource::Short,
        COUNTED => CapacitySource::Counted,
        LEAST..COUNTED => CapacitySource::Short,
        _ => CapacitySource::Budget,
    };
    let short_of = match source {
        CapacitySource::Short => Some(RoomLimit::Budget),
        CapacitySource::Forced => None,
        _ => (most < first).then_some(RoomLimit::Device),
    };
    let i_cap = match (faults.i_cap, faults.v_cap) {
        (Some(i_cap), _) => i_cap,
        // A forced number of records says nothing about the room for intersections.
        (None, Some(_)) => sizes(demand, v_cap, GENEROUS, tiles).1,
        (None, None) => match faults.first_i_cap {
            Some(first) if demand.from != DemandSource::Checkpoint => i_cap.min(first),
            _ => i_cap,
        },
    };
    let mut c = Capacities::new(n, v_cap, i_cap.min(most), profile.model.sh_degree, pixel_sizes(scene));
    c.binding_bytes = limits.binding_bytes;
    c.masked = scene.masked;
    c.losses = losses::losses(profile);
    if profile.learns_photo_colors() {
        c.photo_cameras = scene.takers().1;
    }
    c.density = losses::density(profile, scene.extent);
    c.storage = profile.memory.storage;
    c.deferred_steps = deferred_steps(profile, variants);
    c.cameras = u32::try_from(scene.train.len()).unwrap_or(u32::MAX);
    c.lens = scene.views().any(|(_, view)| view.camera.lens.is_some());
    if profile.train.refine_poses.is_some() {
        // Those held out are moved to their photos before they are measured.
        c.poses = u32::try_from(scene.views().count()).unwrap_or(u32::MAX);
    }
    c.chunk = match faults.chunk {
        Some(chunk) => chunk.next_multiple_of(256),
        None => chunk_within(limits.largest_tensor()),
    };
    if demand.bound.is_some() {
        // Chunks of whole triangles.
        c.chunk = (c.chunk / CHUNK_UNIT).max(1) * CHUNK_UNIT;
        c.bound = demand.bound;
    }
    (c, Origin { source, short_of })
}

/// Steps that a run with `profile` has room for in its table; 0 when nothing is deferred.
fn deferred_steps(profile: &Profile, variants: &Variants) -> u32 {
    let Optimizer::AdamFused(adam) = &profile.optimizer;
    let on = match adam.deferred_sh {
        // Projection and update of steps that look at surfaces, and those of bound Gaussians, know no colours that wait. Moments
        // in fewer bits are too coarse for it: one rounding would stand for all the steps that are made up for.
        DeferredSh::Auto
            if profile.memory.storage != Storage::Exact
                || profile.density().is_some()
                || losses::losses(profile).need(|needs| needs.surface.is_some())
                || profile.adam_restart().is_some()
                || profile.is_bound() =>
        {
            false
        }
        DeferredSh::Auto => variants.reduction != Reduction::Segmented && !profile.train.deterministic,
        DeferredSh::On => true,
        DeferredSh::Off => false,
    };
    if on { profile.schedule.iterations } else { 0 }
}

/// Width and height of every view, pixels.
pub(super) fn pixel_sizes(scene: &SceneIndex) -> impl Iterator<Item = (u32, u32)> {
    let views = scene.views();
    views.map(|(_, view)| (view.camera.width_px, view.camera.height_px))
}

/// Visible records and intersections for `n` Gaussians at `level` on views of at most `tiles` tiles. Neither falls when
/// level or `n` rises.
fn sizes(demand: &Demand, n: u32, level: u32, tiles: u32) -> (u32, u32) {
    let level = level.min(GENEROUS);
    let generous_i = room::generous(demand, n, tiles);
    // Bounded by the policy: a budget that is short has as many Gaussians as without large splats.
    let most_counted = room::of_policy(demand, n, tiles);
    let counted_v = times(n, HEAD_ROOM * demand.visible_share).max(COUNTED_LEAST).min(n);
    let counted_i = times(n, HEAD_ROOM * demand.intersections).clamp(counted_v, most_counted);
    let between = |low: u32, high: u32, from: u32| {
        let (low, high) = (u64::from(low), u64::from(high.max(low)));
        let share = u64::from(level.saturating_sub(from).min(16));
        u32::try_from(low + (high - low) * share / 16).unwrap_or(u32::MAX)
    };
    if level >= COUNTED_I {
        (n, between(counted_i.max(n), generous_i, COUNTED_I))
    } else if level >= COUNTED {
        let v_cap = between(counted_v, n, COUNTED);
        (v_cap, counted_i.max(v_cap))
    } else {
        (counted_v, between(counted_v, counted_i, LEAST))
    }
}

/// Most Gaussians that settings allow whatever memory there is, and the key that says so.
pub(super) fn ceiling(profile: &Profile, scene: &SceneIndex) -> (&'static str, u32) {
    const KEY: &str = "memory.max_gaussians";
    if let Some(most) = profile.most_points() {
        return ("mesh_splatting.max_points / 3", most);
    }
    let bound = match profile.memory.max_gaussians {
        MostGaussians::Set(most) => return (KEY, most),
        MostGaussians::UpTo(bound) => bound,
    };
    let train = &profile.train;
    let pixels: u64 = scene.train.iter().map(|view| view.pixels()).sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion that saturates, of what is not negative"
    )]
    let by_pixels = (f64::from(train.gaussians_per_root_pixel) * (pixels as f64).sqrt()) as u32;
    if train.gaussians_per_root_pixel > 0.0 && by_pixels < bound {
        ("train.gaussians_per_root_pixel", by_pixels.max(1))
    } else {
        (KEY, bound)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};
    use kiln_kernels::views::{Loops, Threads};

    fn profile(settings: &[(&str, &str)]) -> Profile {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        resolve(&Inputs {
            recipe: Some("default".to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    fn demand(visible_share: f64, intersections: f64) -> Demand {
        Demand {
            gaussians: 1000,
            visible_share,
            mean_share: visible_share,
            intersections,
            per_visible: intersections / visible_share,
            from: DemandSource::Assumed,
            bound: None,
            room: 0,
        }
    }

    #[test]
    fn room_falls_with_the_level_and_never_below_one_intersection_a_record() {
        for (share, intersections) in [(0.3, 0.8), (0.01, 9.0), (1.0, 1.0), (0.6, 0.1), (0.0, 0.0)] {
            for n in [1, 256, 70_000, 1_000_000, 60_000_000, u32::MAX] {
                let list: Vec<_> = (LEAST..=GENEROUS)
                    .map(|l| sizes(&demand(share, intersections), n, l, 1700))
                    .collect();
                assert!(
                    list.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1),
                    "{share} {n}: {list:?}"
                );
                assert!(list.iter().all(|(v, i)| i >= v && *v <= n), "{share} {n}: {list:?}");
                let wanted = match n {
                    70_000 => 24 * 70_000,
                    // A view that sees all or most of a million Gaussians has 4096 a tile.
                    1_000_000 if share >= 0.6 => 1700 * 4096,
                    // So has one of splats as large as the sample's.
                    1_000_000 if intersections > 6.0 => 1700 * 4096,
                    _ => n.saturating_mul(6).max(1 << 20),
                };
                assert_eq!(list.last(), Some(&(n, wanted)));
            }
        }
    }

    #[test]
    fn a_new_plan_has_the_room_that_was_asked_for_and_keeps_it() {
        let more = Demand {
            room: 15_000_000,
            ..demand(0.3, 0.78)
        };
        assert_eq!(sizes(&more, 1_000_000, GENEROUS, 1700), (1_000_000, 15_000_000));
        let had = Capacities::new(1_000_000, 1_000_000, 15_000_000, 3, [(800, 533)]);
        let later = Demand::of_checkpoint(&had, 1_000_000);
        assert_eq!(sizes(&later, 1_000_000, GENEROUS, 1700), (1_000_000, 15_000_000));
    }

    #[test]
    fn counted_capacities_are_the_largest_view_with_half_as_much_again() {
        let bonsai = demand(0.3, 0.78);
        assert_eq!(sizes(&bonsai, 1_000_000, COUNTED, 1700), (450_000, 1_170_000));
        assert_eq!(sizes(&bonsai, 1_000_000, COUNTED_I, 1700), (1_000_000, 1_170_000));
        assert_eq!(sizes(&bonsai, 1_000_000, LEAST, 1700), (450_000, 450_000));
        // The first model of a sparse scene has splats far larger than those of a grown one.
        assert_eq!(
            sizes(&demand(0.3, 40.0), 1_000_000, COUNTED, 1700),
            (450_000, 6_000_000)
        );
        assert_eq!(
            sizes(&demand(0.001, 0.001), 1_000_000, COUNTED, 1700),
            (1 << 16, 1 << 16)
        );
    }

    #[test]
    fn colours_wait_where_bytes_do_not_repeat_anyway() {
        let variants = |reduction| Variants {
            reduction,
            sort_subgroup: 0,
            threads: Threads::Pixels,
            loops: Loops::Long,
        };
        let (atomic, exchange) = (Reduction::Atomic, Reduction::CompareExchange);
        for (settings, reduction, on) in [
            (&[][..], atomic, true),
            (&[], exchange, true),
            (&[], Reduction::Segmented, false),
            (&[("optimizer.deferred_sh", "off")], atomic, false),
            (&[("memory.storage", "half")], atomic, false),
            (&[("memory.storage", "compact")], atomic, false),
            (&[("optimizer.deferred_sh", "on")], Reduction::Segmented, true),
            (&[("train.deterministic", "true")], Reduction::Segmented, false),
        ] {
            let profile = profile(settings);
            let wanted = if on { profile.schedule.iterations } else { 0 };
            assert_eq!(
                deferred_steps(&profile, &variants(reduction)),
                wanted,
                "{settings:?}, {reduction:?}"
            );
        }
    }
}
