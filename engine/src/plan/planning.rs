//! The search for the largest capacities that fit the budget.

use super::capacity::{self, COUNTED, GENEROUS, LEAST, Origin, ceiling};
use super::demand::Demand;
use super::measures::Measures;
use super::report::{PlanReport, arena_uses};
use super::train_plan::TrainPlan;
use super::{BoundError, Faults, PlanError, Remedies, bound, losses};
use kiln_config::{LpipsChoice, MostGaussians, Profile, Residency};
use kiln_gpu::memory::{Budget, Plan, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_program::Class;
use kiln_scene::{SceneIndex, photo_bytes};

/// Gaussians between two sizes that the search for the largest plan tries: finer than anyone's budget.
pub(super) const SIZE_STEP: u32 = 1 << 14;

/// Finds the largest capacities that fit the budget.
///
/// The Gaussian capacity is `memory.max_gaussians`; a bound (`up to N`) is lowered to what the budget holds, but never
/// below the Gaussians at the start. Where that many do not fit with generous room for records and intersections, the
/// room is lowered first, as far as `demand` allows; see `capacity`.
///
/// # Errors
/// [`PlanError::DoesNotFit`] when not even the Gaussians at the start fit, [`PlanError::Loss`] when the scene lacks what a
/// loss needs.
pub fn plan(
    profile: &Profile,
    scene: &SceneIndex,
    demand: &Demand,
    budget: Budget,
    limits: PlanLimits,
    variants: &Variants,
    faults: &Faults,
) -> Result<(TrainPlan, PlanReport), PlanError> {
    losses::check(profile, scene, limits)?;
    let initial = demand.gaussians;
    let most = losses::most_dense(profile, initial, limits)?;
    let wanted = match &demand.bound {
        Some(binding) => {
            bound::check(binding, profile, limits)?;
            initial
        }
        None => ceiling(profile, scene).1.min(most.unwrap_or(u32::MAX)).max(initial),
    };
    let resident_bytes = resident_bytes(profile, scene);
    let page_bytes = limits.largest_tensor();
    let build_for = |demand: &Demand, n: u32, level: u32| -> Result<Candidate, PlanError> {
        let (capacities, origin) = capacity::capacities(profile, scene, demand, (n, level), limits, variants, faults);
        let plan = TrainPlan::new(
            &capacities,
            variants,
            profile,
            Measures::of(scene),
            &resident_bytes,
            page_bytes,
        );
        Candidate::new(plan, origin, profile, scene, (budget, limits))
    };
    let build = |n: u32, level: u32| build_for(demand, n, level);
    let fits = |candidate: &Candidate| candidate.needed_bytes <= budget.cap_bytes;
    let may_shrink = matches!(profile.memory.max_gaussians, MostGaussians::UpTo(_));
    let mut best = build(wanted, GENEROUS)?;
    if !fits(&best) {
        let counted = build(wanted, COUNTED)?;
        best = if fits(&counted) {
            largest(COUNTED, GENEROUS, counted, |level| build(wanted, level), fits)?
        } else {
            let n = if may_shrink { initial } else { wanted };
            let counted = build(n, COUNTED)?;
            if fits(&counted) {
                // Sizes on a fixed grid: a run that goes on with more Gaussians finds the same capacity.
                let (low, high) = (n.div_ceil(SIZE_STEP), wanted / SIZE_STEP + 1);
                largest(
                    low.saturating_sub(1),
                    high,
                    counted,
                    |k| build((k * SIZE_STEP).max(n), COUNTED),
                    fits,
                )?
            } else {
                let least = build(n, LEAST)?;
                if !fits(&least) {
                    let images_bytes = least.plan.tensors.resident.bytes();
                    let other_bytes = least.needed_bytes.saturating_sub(images_bytes);
                    if other_bytes <= budget.cap_bytes {
                        return Err(PlanError::ImagesDoNotFit {
                            images: scene.train.len(),
                            images_bytes,
                            other_bytes,
                            cap_bytes: budget.cap_bytes,
                            remedies: Remedies::of_photos(images_bytes, other_bytes, &budget),
                        });
                    }
                    if let Some(binding) = demand.bound {
                        let of = |k: u32| binding.with_triangles(k * SIZE_STEP);
                        let room = |k: u32| build_for(&Demand::of_binding(of(k)), of(k).gaussians(), LEAST);
                        let some = largest(0, binding.triangles / SIZE_STEP + 1, room(0)?, room, fits)?;
                        return Err(BoundError::DoesNotFit {
                            needed_bytes: least.needed_bytes,
                            cap_bytes: budget.cap_bytes,
                            triangles: binding.triangles,
                            per_triangle: binding.per_triangle,
                            fitting: some.plan.tensors.capacities.bound.map_or(0, |bound| bound.triangles),
                            remedies: Remedies::of_room(least.needed_bytes, &budget),
                        }
                        .into());
                    }
                    let fewer = (n > initial).then(|| build(initial, COUNTED)).transpose()?;
                    let fitting = match fewer.filter(fits) {
                        Some(fewer) => {
                            let size = |k: u32| (k * SIZE_STEP).max(initial);
                            let (low, high) = (initial / SIZE_STEP, n / SIZE_STEP + 1);
                            let most = largest(low, high, fewer, |k| build(size(k), COUNTED), fits)?;
                            Some(most.plan.tensors.capacities.n_limit)
                        }
                        None => None,
                    };
                    return Err(PlanError::DoesNotFit {
                        needed_bytes: least.needed_bytes,
                        gaussians: least.plan.tensors.capacities.n_cap,
                        fitting,
                        budget: Box::new(budget),
                        remedies: Remedies::of_room(least.needed_bytes, &budget),
                    });
                }
                largest(LEAST, COUNTED, least, |level| build(n, level), fits)?
            }
        };
    }
    Ok(best.reported(demand, budget))
}

/// A plan that may or may not fit.
pub(super) struct Candidate {
    pub(super) plan: TrainPlan,
    pub(super) placed: Plan,
    pub(super) origin: Origin,
    /// Bytes on the device with what the driver takes for itself.
    pub(super) needed_bytes: u64,
}

impl Candidate {
    /// Places a plan for `profile` in full, with what goes with every run's.
    pub(super) fn new(
        mut plan: TrainPlan,
        origin: Origin,
        profile: &Profile,
        scene: &SceneIndex,
        (budget, limits): (Budget, PlanLimits),
    ) -> Result<Self, PlanError> {
        if budget.reference_bytes > 0 {
            plan = plan.with_probe();
        }
        if profile.eval.lpips != LpipsChoice::Off {
            plan = plan.with_lpips(scene.largest_px().into())?;
        }
        let placed = plan.place(limits)?;
        let needed_bytes = placed.device_bytes() + driver_bytes(&plan, &placed, profile, &budget);
        Ok(Self {
            plan,
            placed,
            origin,
            needed_bytes,
        })
    }

    /// The plan and its report.
    pub(super) fn reported(self, demand: &Demand, budget: Budget) -> (TrainPlan, PlanReport) {
        let Self {
            plan,
            placed,
            origin,
            needed_bytes,
        } = self;
        let classes = [
            Class::Persistent,
            Class::Arena,
            Class::Images,
            Class::Small,
            Class::Upload,
            Class::Readback,
        ];
        let report = PlanReport {
            capacities: plan.tensors.capacities,
            capacities_from: origin.source,
            short_of: origin.short_of,
            demand: *demand,
            budget,
            device_bytes: placed.device_bytes(),
            driver_bytes: needed_bytes - placed.device_bytes(),
            host_bytes: placed.host_bytes(),
            classes: classes.map(|c| (c, placed.class_bytes(c))).to_vec(),
            arena_live_bytes: placed.arena_live_bytes,
            arena_uses: arena_uses(&placed),
        };
        (plan, report)
    }
}

/// What the driver takes for itself of the device: to round blocks, and for what a trainer records.
fn driver_bytes(plan: &TrainPlan, placed: &Plan, profile: &Profile, budget: &Budget) -> u64 {
    let on_device = placed.blocks.iter().filter(|block| block.class.is_on_device());
    let recorded_for = (plan.tensors.capacities.slots, plan.tensors.resident.pages.len());
    let has_times = profile.diagnose().timed_every > 0;
    let n_indirect = plan.jobs.recorded_indirect(recorded_for, |_| true)
        + plan
            .jobs
            .recorded_indirect(recorded_for, |job| has_times && job.is_step());
    budget
        .overhead
        .bytes(on_device.map(|block| block.request_bytes), n_indirect)
}

/// Bytes of every photo that is to stay on the device.
pub(super) fn resident_bytes(profile: &Profile, scene: &SceneIndex) -> Vec<u64> {
    let parts = scene.parts();
    match profile.dataset.residency {
        Residency::Device => scene
            .train
            .iter()
            .map(|view| photo_bytes(view.pixels(), parts))
            .collect(),
        Residency::Auto | Residency::Host | Residency::Stream => Vec::new(),
    }
}

/// What `build` makes of the largest number from `low` to `high` that fits; `high` is known not to, and `best` is what
/// there is when nothing above `low` does.
pub(super) fn largest(
    mut low: u32,
    mut high: u32,
    mut best: Candidate,
    build: impl Fn(u32) -> Result<Candidate, PlanError>,
    fits: impl Fn(&Candidate) -> bool,
) -> Result<Candidate, PlanError> {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let candidate = build(middle)?;
        if fits(&candidate) {
            low = middle;
            best = candidate;
        } else {
            high = middle;
        }
    }
    Ok(best)
}
