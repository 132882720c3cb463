//! Room for the tile intersections of a view: how much a plan has where memory is not short, and what bounds it.
//!
//! It follows from two things. The first is the number of Gaussians, records and tiles: what trained models were seen to want
//! ([`of_policy`]). The second is the sample of the first model in the training views ([`Demand`]), which knows how large this scene's
//! splats are:
//!
//! - The largest view of the first model has room, with [`HEAD_ROOM`], however many intersections it makes: they are there in step 1.
//! - The same view of the grown model has room up to [`MOST_PER_TILE`]. That is an estimate from above, because Gaussians get smaller
//!   while the model grows (snowmiku, recipe `default`: 25 intersections for each of the first 45 784 Gaussians in the largest view, six
//!   for each of 215 k on average), so it is bounded by tiles: 33 M for photos of 1920 x 1080 pixels, which are 0.5 GB, or up to 2.2 GB
//!   with the segmented reduction. A large card is not filled because it is there.
//!
//! Room is part of the plan from the first step on. A reserve that turns into room later would be the same bytes: the arena is placed
//! once. What binds where there is less room than the sample wants is the budget or the device, and is named ([`RoomLimit`]).

use serde::Serialize;

use super::demand::{Demand, DemandSource};
use kiln_gpu::memory::{Budget, BudgetLimit, PlanLimits};
use kiln_kernels::views::{Reduction, Variants};

/// Times what was counted: for the views between those sampled, and for training that gathers Gaussians where the cameras
/// look.
pub(super) const HEAD_ROOM: f64 = 1.5;
/// Bytes of an element of a stream of visible records.
pub(super) const RECORD_BYTES: u64 = 16;
/// Intersections a visible record when memory is not short. Large models were seen to need two to five.
const PER_RECORD: u32 = 6;
/// Least intersections when memory is not short: small models have large splats.
const LEAST: u32 = 1 << 20;
/// Intersections a tile of the largest view up to which there may be [`MOST_PER_RECORD`] when memory is not short. `mcmc` on
/// 1570x1177 pixels was seen to want 416 a tile with 250 k Gaussians, twelve for each of them, and more while it grew.
const PER_TILE: u32 = 1024;
/// See [`PER_TILE`].
const MOST_PER_RECORD: u32 = 24;
/// Intersections a visible record when memory is not short, up to [`MOST_PER_TILE`]. A view of 56 photos was seen to want more than
/// seven for each Gaussian of the model.
const PER_VISIBLE: f64 = 20.0;
/// Intersections a tile of the largest view up to which there is room for what a grown model may want.
const MOST_PER_TILE: u32 = 4096;

/// What keeps a plan from more room for tile intersections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomLimit {
    /// The memory cap.
    Budget,
    /// The largest tensor that the device binds.
    Device,
}

impl RoomLimit {
    /// What leaves more room under `budget`, for people.
    #[must_use]
    pub fn remedy(self, budget: &Budget) -> &'static str {
        let device_has_more = budget.device_bytes.is_none_or(|bytes| bytes > budget.cap_bytes);
        match (self, budget.limit) {
            (Self::Budget, BudgetLimit::Profile) if device_has_more => {
                "a higher `memory.cap_gib` or a lower `memory.max_gaussians` leaves more room"
            }
            (Self::Budget, BudgetLimit::Reported) => {
                "the driver offers no more, whatever `memory.cap_gib`: ending other programs that use the device or a lower \
                 `memory.max_gaussians` leaves more room"
            }
            (Self::Budget, _) => {
                "the device has no more memory, whatever `memory.cap_gib`: a lower `memory.max_gaussians` or smaller photos (`-r`) \
                 need less"
            }
            (Self::Device, _) => {
                "this device binds no larger lists, whatever the cap: a lower `memory.max_gaussians` or smaller photos (`-r`) need less"
            }
        }
    }
}

/// Tile intersections that the largest tensor of a device has room for, whatever the budget.
#[must_use]
pub fn most_intersections(limits: PlanLimits, variants: &Variants) -> u32 {
    let bytes = match variants.reduction {
        Reduction::Segmented => RECORD_BYTES,
        Reduction::Atomic | Reduction::CompareExchange => 4,
    };
    u32::try_from(limits.largest_tensor() / bytes).unwrap_or(u32::MAX)
}

/// Room for `n` Gaussians on views of at most `tiles` tiles by what trained models were seen to want, and what a checkpoint had.
pub(super) fn of_policy(demand: &Demand, n: u32, tiles: u32) -> u32 {
    // What a checkpoint had room for says it all.
    let seen = match demand.from {
        DemandSource::Checkpoint => 0,
        _ => times(n, PER_VISIBLE * demand.visible_share).min(tiles.saturating_mul(MOST_PER_TILE)),
    };
    n.saturating_mul(PER_RECORD)
        .max(n.saturating_mul(MOST_PER_RECORD).min(tiles.saturating_mul(PER_TILE)))
        .max(seen)
        .max(LEAST)
        .max(demand.room)
}

/// Room for `n` Gaussians where memory is not short: by the policy, and what the sample wants.
pub(super) fn generous(demand: &Demand, n: u32, tiles: u32) -> u32 {
    let of_sample = match demand.from {
        // Its capacities say nothing about splats.
        DemandSource::Checkpoint => 0,
        _ => {
            let grown = times(n, HEAD_ROOM * demand.intersections).min(tiles.saturating_mul(MOST_PER_TILE));
            grown.max(times(demand.gaussians, HEAD_ROOM * demand.intersections))
        }
    };
    of_policy(demand, n, tiles).max(of_sample)
}

/// Intersections in the largest view of the first model; 0 where there is none.
pub(super) fn of_first_model(demand: &Demand) -> u32 {
    match demand.from {
        DemandSource::Checkpoint => 0,
        _ => times(demand.gaussians, demand.intersections),
    }
}

/// `n` times `factor`, at most what a capacity may be.
pub(super) fn times(n: u32, factor: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate, and a capacity is never negative"
    )]
    let product = (f64::from(n) * factor).ceil() as u32;
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_gpu::memory::{BlockRounding, GIB};
    use kiln_kernels::views::{Loops, Threads};

    fn counted(gaussians: u32, visible_share: f64, intersections: f64) -> Demand {
        Demand {
            gaussians,
            visible_share,
            mean_share: visible_share,
            intersections,
            per_visible: intersections / visible_share,
            from: DemandSource::Counted {
                sample: gaussians.min(4096),
                views: 35,
            },
            bound: None,
            room: 0,
        }
    }

    #[test]
    fn large_splats_of_the_first_model_have_room_however_many_tiles_they_meet() {
        // All of them in every tile.
        let splats = counted(6000, 1.0, 192.0);
        assert_eq!(of_policy(&splats, 6000, 192), LEAST);
        assert_eq!(generous(&splats, 6000, 192), 6000 * 192 * 3 / 2);
        assert_eq!(of_first_model(&splats), 6000 * 192);
        // More than there is a number for.
        assert_eq!(generous(&counted(10_000_000, 1.0, 8160.0), 10_000_000, 8160), u32::MAX);
    }

    #[test]
    fn what_a_grown_model_may_want_is_bounded_by_tiles() {
        let few = counted(25_000, 0.2, 3.0);
        assert_eq!(
            generous(&few, 100_000, 7326),
            100_000 * 24,
            "what the policy has is enough"
        );
        let large = counted(25_000, 0.2, 30.0);
        assert_eq!(generous(&large, 100_000, 7326), 4_500_000);
        assert_eq!(generous(&large, 1_000_000, 7326), 7326 * 4096);
        assert_eq!(generous(&large, 6_000_000, 7326), 36_000_000, "six a record");
    }

    #[test]
    fn a_run_that_goes_on_has_what_it_had() {
        let had = Demand {
            from: DemandSource::Checkpoint,
            room: 9_000_000,
            ..counted(25_000, 1.0, 30.0)
        };
        assert_eq!(generous(&had, 1_000_000, 7326), 9_000_000);
        assert_eq!(of_first_model(&had), 0);
    }

    #[test]
    fn what_binds_is_named() {
        let budget = |heap, reported, profile| Budget::new(heap * GIB, reported, profile);
        let names = |budget: Budget, limit: RoomLimit, parts: &[&str]| {
            let text = limit.remedy(&budget);
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        let cap = "a higher `memory.cap_gib`";
        names(budget(80, None, Some(22 * GIB)), RoomLimit::Budget, &[cap]);
        names(Budget::of_profile(22 * GIB), RoomLimit::Budget, &[cap]);
        let whatever = "whatever `memory.cap_gib`";
        names(
            budget(24, Some(8 * GIB), Some(22 * GIB)),
            RoomLimit::Budget,
            &[whatever, "ending other programs"],
        );
        names(budget(8, None, Some(22 * GIB)), RoomLimit::Budget, &[whatever, "`-r`"]);
        names(
            budget(80, None, Some(22 * GIB)),
            RoomLimit::Device,
            &["binds no larger lists", "whatever the cap"],
        );
    }

    #[test]
    fn the_largest_tensor_bounds_lists() {
        let limits = PlanLimits {
            block_bytes: GIB,
            binding_bytes: 128 << 20,
            rounding: BlockRounding::NONE,
        };
        let most = |reduction| {
            let variants = Variants {
                reduction,
                sort_subgroup: 0,
                threads: Threads::Pixels,
                loops: Loops::Long,
            };
            most_intersections(limits, &variants)
        };
        assert_eq!(
            [most(Reduction::Segmented), most(Reduction::Atomic)],
            [8 << 20, 32 << 20]
        );
    }
}
