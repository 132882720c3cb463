//! Capacities and memory of a run, before any of it is allocated.

use serde::Serialize;

use super::capacity::{self, COUNTED, CapacitySource, GENEROUS, LEAST, ceiling};
use super::demand::Demand;
use super::jobs::{CullTime, Job, Jobs};
use super::look::Look;
use super::open::layout_of;
use super::order::{self, Reorder};
use super::probe_tensors::ProbeTensors;
use super::readback::EvalReadback;
use super::{BoundError, Faults, PlanError, bound, losses};
use crate::config::{LpipsChoice, MostGaussians, Profile, Residency};
use crate::eval::lpips::{LpipsError, LpipsTensors};
use crate::gaussians::morton::Frame;
use crate::kernels::camera_cull::Limits;
use crate::kernels::densify::{Event, GrowthCurve, Options};
use crate::kernels::error_guided::{Births, Exponents};
use crate::kernels::filter_3d::FilterIo;
use crate::kernels::views::Variants;
use crate::kernels::{histogram, mcmc_relocate};
use crate::memory::{Budget, Gpu, Layout, Plan, PlanLimits};
use crate::plugins::{ErrorGuidedOptions, Strategy};
use crate::program::{Class, Program, Span, Tag, TensorTable};
use crate::scene::{SceneIndex, photo_bytes};
use crate::step::{
    self, BandTensors, Capacities, DensifyTensors, PairTensors, RecordBandTensors, ResidentImages, STAGING_BYTES,
    StepExtras, StepTensors, Terms, Turns,
};

/// What programs are told of a scene.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Largest focal length of a training camera, px.
    pub max_focal_px: f32,
    /// Extent, world units.
    pub extent: f32,
    /// How near the sparse points come to the cameras, world units; none without points.
    pub near_distance: Option<f32>,
    /// What Gaussians are sorted by.
    pub frame: Frame,
}

impl Measures {
    /// Those of `scene`.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        Self {
            max_focal_px: max_focal(scene),
            extent: scene.extent,
            near_distance: scene.near.distance,
            frame: order::frame(scene),
        }
    }
}

/// Everything a run allocates and executes, as data.
pub struct TrainPlan {
    /// How tensors lie in memory.
    pub layout: Layout,
    /// All tensors.
    pub table: TensorTable,
    /// The step's tensors.
    pub tensors: StepTensors,
    /// What evaluation reads back.
    pub readback: EvalReadback,
    /// What only banded steps need.
    pub bands: BandTensors,
    /// What only banded steps with too many visible Gaussians need; none when there is a record for every Gaussian.
    pub record_bands: Option<RecordBandTensors>,
    /// What is submitted.
    pub jobs: Jobs<Program>,
    /// What steps that compare with a neighbouring view need; none where the losses do not.
    pub pair: Option<PairTensors>,
    /// What [`Job::Histogram`] leaves for the host, [`histogram::BYTES`]; none where there is no such job.
    pub histogram_back: Option<Span>,
    /// Workspace of LPIPS; none when it is not asked for or the images are too small for it.
    pub lpips: Option<LpipsTensors>,
    /// What the residency probe compares with; none where it can tell nothing.
    pub probe: Option<ProbeTensors>,
}

/// What the strategy of `profile` wants of a step.
#[must_use]
pub fn step_extras(profile: &Profile) -> StepExtras {
    StepExtras {
        scores: profile.strategy.error_guided().is_some(),
        statistic: profile.strategy.sums_absolute_pulls(),
        position_noise: profile.strategy.noise() > 0.0,
    }
}

impl TrainPlan {
    /// Names every tensor and lists every pass for `capacities` and a scene of these measures. Training images of `resident_bytes` each stay on the device
    /// in pages of at most `page_bytes`; with none, steps bring theirs along.
    #[must_use]
    pub fn new(
        capacities: &Capacities,
        variants: &Variants,
        profile: &Profile,
        measures: Measures,
        resident_bytes: &[u64],
        page_bytes: u64,
    ) -> Self {
        let mut table = TensorTable::default();
        let resident = ResidentImages::new(&mut table, resident_bytes.iter().copied(), page_bytes);
        let tensors = StepTensors::for_training(&mut table, capacities, variants, resident, step_extras(profile));
        let readback = EvalReadback::new(&mut table, &tensors);
        let [evaluate, evaluate_image] = readback.programs(&tensors);
        let mut jobs = Jobs::default();
        let with_surfaces = capacities.losses.surfaces();
        let surfaces = with_surfaces.then(|| tensors.for_surface_steps(&mut table));
        let pairs = surfaces
            .as_ref()
            .and_then(|surfaces| surfaces.for_pair_steps(&mut table));
        let alone = surfaces.as_ref().filter(|_| capacities.losses.surfaces_alone());
        let steps = [
            (Terms::Image, Some(&tensors)),
            (Terms::Surface, alone),
            (Terms::Pair, pairs.as_ref()),
        ];
        let steps = steps.map(|(terms, tensors)| Some((terms, tensors?)));
        for (terms, tensors) in steps.iter().flatten() {
            let pages = step::train_steps(tensors).into_iter().enumerate();
            jobs.extend(pages.map(|(page, step)| (Job::Step(*terms, page), step)));
            let pages = step::draw_neighbor(tensors).into_iter().enumerate();
            jobs.extend(pages.map(|(page, step)| (Job::Step(Terms::Neighbor, page), step)));
        }
        let mut filter = Program::new("filter_3d");
        let io = FilterIo {
            cameras: tensors.filter.cameras,
            camera_count: capacities.cameras,
            max_focal_px: measures.max_focal_px,
            farthest: tensors.filter.farthest,
        };
        crate::kernels::prepare_args::record(&mut filter, &tensors.shared, &tensors.chunks);
        crate::kernels::filter_3d::record(&mut filter, &tensors.shared, &tensors.chunks, &io);
        let mut reset = Program::new("opacity_reset");
        let ceiling = profile
            .strategy
            .adaptive()
            .map_or(0.01, |adaptive| adaptive.reset.opacity);
        crate::kernels::opacity_reset::record(&mut reset, &tensors.shared, &tensors.chunks, ceiling);
        let counts = table.add("small/histogram", Class::Small, Tag::Other, histogram::BYTES);
        let histogram_back = table.add("ring/histogram", Class::Readback, Tag::Staging, histogram::BYTES);
        let mut counting = Program::new("histogram");
        crate::kernels::prepare_args::record(&mut counting, &tensors.shared, &tensors.chunks);
        histogram::record(&mut counting, &tensors.shared, &tensors.chunks, counts);
        counting.copy(counts, histogram_back);
        let reorder = profile
            .strategy
            .window()
            .map(|_| Reorder::new(&mut table, &tensors, measures.frame));
        if profile.adam_restart().is_some() {
            jobs.extend([(Job::Restart, step::forget_moments(&tensors))]);
        }
        let density = profile.density();
        let prune = density.map_or(0.0, |density| density.prune);
        let workspace = (reorder.is_some() || profile.cull.is_on() || prune > 0.0)
            .then(|| DensifyTensors::new(&mut table, &tensors.capacities, STAGING_BYTES));
        if let Some((reorder, workspace)) = reorder.as_ref().zip(workspace.as_ref()) {
            jobs.extend(densifications(reorder, workspace, &tensors, profile, measures.extent));
        }
        if let Some(workspace) = workspace.as_ref().filter(|_| prune > 0.0) {
            jobs.extend([(Job::Prune, step::prune_faint(&tensors, workspace, prune))]);
        }
        let neighbors = step::find_neighbors(&tensors, &measures.frame);
        jobs.extend(neighbors.map(|program| (Job::FindNeighbors, program)));
        jobs.extend(step::know_neighbors(&tensors).map(|program| (Job::KnowNeighbors, program)));
        if let Some(workspace) = workspace.filter(|_| profile.cull.is_on()) {
            jobs.extend(culls(&tensors, &workspace, &io, profile, &measures));
        }
        let bands = BandTensors::new(&mut table, capacities, variants);
        let too_many = capacities.may_see_too_many();
        let record_bands =
            too_many.then(|| RecordBandTensors::new(&mut table, surfaces.as_ref().unwrap_or(&tensors), true));
        let copies = readback.copies(&tensors);
        for (terms, tensors) in steps.iter().flatten() {
            let lists = |tensors: &StepTensors| step::banded(tensors, &bands, &copies[..2]);
            jobs.add_bands(*terms, Turns::Lists, lists(tensors));
            jobs.add_bands(
                Terms::Neighbor,
                Turns::Lists,
                step::draw_neighbor_in_bands(tensors, lists),
            );
            if let Some(records) = &record_bands {
                let records = |tensors: &StepTensors| step::banded_records(tensors, &bands, records, &copies[..2]);
                jobs.add_bands(*terms, Turns::Records, records(tensors));
                let parts = step::draw_neighbor_in_bands(tensors, records);
                jobs.add_bands(Terms::Neighbor, Turns::Records, parts);
            }
        }
        jobs.extend([
            (Job::Evaluate { image: false }, evaluate),
            (Job::Evaluate { image: true }, evaluate_image),
            (Job::Filter, filter),
            (Job::Reset, reset),
            (Job::ClearStall, step::clear_stall(&tensors)),
            (Job::LeftOut, step::left_out(&tensors)),
            (Job::Histogram, counting),
        ]);
        jobs.extend(step::catch_up_program(&tensors).map(|program| (Job::CatchUp, program)));
        Self {
            jobs,
            record_bands,
            pair: pairs.and_then(|pairs| pairs.extra.pair),
            histogram_back: Some(histogram_back),
            bands,
            layout: layout_of(profile),
            table,
            tensors,
            readback,
            lpips: None,
            probe: None,
        }
    }

    /// Adds the workspace of LPIPS for images of at most `max_size_px`, in arena bytes that the step leaves idle.
    ///
    /// # Errors
    /// [`LpipsError`] for images no workspace suffices for.
    pub fn with_lpips(mut self, max_size_px: [u32; 2]) -> Result<Self, LpipsError> {
        let mut table = self.table.clone();
        self.lpips = LpipsTensors::beside(&mut table, &self.programs(), max_size_px)?;
        self.table = table;
        Ok(self)
    }

    /// Adds what the residency probe compares with.
    #[must_use]
    pub fn with_probe(mut self) -> Self {
        self.probe = Some(ProbeTensors::new(&mut self.table));
        self
    }

    /// All programs, for the placement of arena tensors.
    #[must_use]
    pub fn programs(&self) -> Vec<&Program> {
        let lpips = self.lpips.iter().map(LpipsTensors::program);
        self.jobs.all().chain(lpips).collect()
    }

    /// Every tensor that a run commits, transfer windows included.
    #[must_use]
    pub fn whole_table(&self) -> TensorTable {
        let mut table = self.table.clone();
        Gpu::add_transfer(&mut table);
        table
    }

    /// Places every tensor of [`TrainPlan::whole_table`].
    ///
    /// # Errors
    /// See [`Plan::with_layout`].
    pub fn place(&self, limits: PlanLimits) -> Result<Plan, PlanError> {
        let (table, programs) = (self.whole_table(), self.programs());
        Ok(Plan::with_layout(&table, &programs, limits, self.layout)?)
    }
}

/// What `kiln plan` prints and `memory.jsonl` starts with.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Sizes.
    pub capacities: Capacities,
    /// Where visible records and intersections come from.
    pub capacities_from: CapacitySource,
    /// What the run was seen to need.
    pub demand: Demand,
    /// What it may take.
    pub budget: Budget,
    /// Device bytes of the plan, as the driver will be asked for them.
    pub device_bytes: u64,
    /// Host-visible bytes of the plan.
    pub host_bytes: u64,
    /// Bytes per class, in a fixed order.
    pub classes: Vec<(Class, u64)>,
    /// Arena bytes that live at the same time at the worst moment.
    pub arena_live_bytes: u64,
    /// Who needs the arena, most bytes first.
    pub arena_uses: Vec<ArenaUse>,
}

/// Arena bytes of one use at its worst moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArenaUse {
    /// Name of the program; parts of a banded step and programs that differ in a setting are one.
    pub name: String,
    /// Pass at the worst moment; empty when the use needs no arena.
    pub pass: &'static str,
    /// Bytes live then.
    pub bytes: u64,
}

/// The worst moment of each use, most bytes first. The arena is as large as the first.
fn arena_uses(placed: &Plan) -> Vec<ArenaUse> {
    // Models are written to disk through the host-visible window.
    let mut uses = vec![ArenaUse {
        name: "export".to_owned(),
        pass: "",
        bytes: 0,
    }];
    for peak in &placed.arena_peaks {
        let name = peak.program.split(',').next().unwrap_or_default();
        let at = uses.iter().position(|u| u.name == name).unwrap_or_else(|| {
            uses.push(ArenaUse {
                name: name.to_owned(),
                pass: "",
                bytes: 0,
            });
            uses.len() - 1
        });
        if let Some(entry) = uses.get_mut(at).filter(|u| peak.bytes > u.bytes) {
            entry.bytes = peak.bytes;
            entry.pass = peak.command;
        }
    }
    // Stable: of equal needs the program listed first owns the arena, the step before all others.
    uses.rotate_left(1);
    uses.sort_by_key(|u| std::cmp::Reverse(u.bytes));
    uses
}

/// Largest scale that is cloned rather than split, as a share of the scene extent, as in 3DGS.
const CLONE_EXTENT: f64 = 0.01_f32 as f64;
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
        let (capacities, source) = capacity::capacities(profile, scene, demand, (n, level), limits, variants, faults);
        let plan = TrainPlan::new(
            &capacities,
            variants,
            profile,
            Measures::of(scene),
            &resident_bytes,
            page_bytes,
        );
        Candidate::new(plan, source, profile, scene, (budget, limits))
    };
    let build = |n: u32, level: u32| build_for(demand, n, level);
    let fits = |candidate: &Candidate| candidate.placed.device_bytes() <= budget.cap_bytes;
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
                    let other_bytes = least.placed.device_bytes().saturating_sub(images_bytes);
                    if other_bytes <= budget.cap_bytes {
                        return Err(PlanError::ImagesDoNotFit {
                            images: scene.train.len(),
                            images_bytes,
                            other_bytes,
                            cap_bytes: budget.cap_bytes,
                        });
                    }
                    if let Some(binding) = demand.bound {
                        let of = |k: u32| binding.with_triangles(k * SIZE_STEP);
                        let room = |k: u32| build_for(&Demand::of_binding(of(k)), of(k).gaussians(), LEAST);
                        let some = largest(0, binding.triangles / SIZE_STEP + 1, room(0)?, room, fits)?;
                        return Err(BoundError::DoesNotFit {
                            needed_bytes: least.placed.device_bytes(),
                            cap_bytes: budget.cap_bytes,
                            triangles: binding.triangles,
                            per_triangle: binding.per_triangle,
                            fitting: some.plan.tensors.capacities.bound.map_or(0, |bound| bound.triangles),
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
                        needed_bytes: least.placed.device_bytes(),
                        gaussians: least.plan.tensors.capacities.n_cap,
                        fitting,
                        budget,
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
    pub(super) source: CapacitySource,
}

impl Candidate {
    /// Places a plan for `profile` in full, with what goes with every run's.
    pub(super) fn new(
        mut plan: TrainPlan,
        source: CapacitySource,
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
        Ok(Self { plan, placed, source })
    }

    /// The plan and its report.
    pub(super) fn reported(self, demand: &Demand, budget: Budget) -> (TrainPlan, PlanReport) {
        let Self { plan, placed, source } = self;
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
            capacities_from: source,
            demand: *demand,
            budget,
            device_bytes: placed.device_bytes(),
            host_bytes: placed.host_bytes(),
            classes: classes.map(|c| (c, placed.class_bytes(c))).to_vec(),
            arena_live_bytes: placed.arena_live_bytes,
            arena_uses: arena_uses(&placed),
        };
        (plan, report)
    }
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

/// The strategy's densification; none when it never densifies. Where the model is sorted it ends with a re-sort; the 3D
/// filter is recomputed after it.
fn densifications(
    reorder: &Reorder,
    workspace: &DensifyTensors,
    tensors: &StepTensors,
    profile: &Profile,
    extent: f32,
) -> Vec<(Job, Program)> {
    let program = |capacity: u32, large: bool| {
        if let Some(mcmc) = profile.strategy.mcmc() {
            let event = mcmc_relocate::Event {
                dead_opacity: mcmc.densify.dead_opacity,
                growth: mcmc.densify.growth,
                capacity,
            };
            return Some(step::mcmc_relocate(tensors, workspace, &event));
        }
        let event = |options| Event {
            options,
            extent: extent.into(),
            capacity,
        };
        if let Some(error_guided) = profile.strategy.error_guided() {
            let event = event(error_guided_options(error_guided));
            return Some(step::error_guided(
                tensors,
                workspace,
                &event,
                &births(profile, error_guided),
            ));
        }
        let adaptive = profile.strategy.adaptive()?;
        let event = event(Options {
            gradient_threshold: adaptive.densify.grad_threshold.into(),
            use_abs: matches!(profile.strategy, Strategy::AdaptiveAbs(_)),
            clone_extent: CLONE_EXTENT,
            prune_opacity: adaptive.prune.opacity.into(),
            prune_extent: large.then(|| adaptive.prune.world.into()),
            ..Options::default()
        });
        Some(step::densify(tensors, workspace, &event))
    };
    let kinds = [(false, false), (false, true), (true, false), (true, true)];
    let job = |(held, large): (bool, bool)| {
        let capacity = if held { 0 } else { tensors.capacities.n_limit };
        let program = reorder.after(program(capacity, large)?, tensors);
        Some((Job::Densify { held, large }, program))
    };
    kinds.into_iter().filter_map(job).collect()
}

/// Culls while there are densifications, after them, and at the end of the run, when nothing may stay that no picture shows.
fn culls(
    tensors: &StepTensors,
    workspace: &DensifyTensors,
    cameras: &FilterIo,
    profile: &Profile,
    measures: &Measures,
) -> [(Job, Program); 3] {
    let cull = &profile.cull;
    let early = Limits {
        clearance: measures.near_distance.map_or(0.0, |near| cull.clearance * near),
        witnesses: cull.witnesses,
        opacity: 0.0,
        kernel_size: Look::of(profile, 0).kernel_size,
    };
    let late = Limits {
        opacity: cull.opacity,
        ..early
    };
    let last = Limits {
        witnesses: cull.witnesses.max(1),
        ..late
    };
    let times = [
        (CullTime::Densifying, early),
        (CullTime::Settled, late),
        (CullTime::End, last),
    ];
    times.map(|(time, limits)| {
        // Places stay as they are until the next densification: those that moved are few.
        let program = step::camera_cull(tensors, workspace, cameras, &limits);
        (Job::Cull(time), program)
    })
}

/// Who gives birth when, under the strategy `error_guided`.
fn births(profile: &Profile, options: &ErrorGuidedOptions) -> Births {
    let last = profile
        .strategy
        .window()
        .and_then(|window| window.last(profile.schedule.iterations));
    Births {
        curve: GrowthCurve {
            from: options.densify.from,
            last: last.unwrap_or(options.densify.from),
            ramp: options.densify.ramp,
            growth: options.densify.growth,
        },
        exponents: Exponents {
            error: options.score.error.into(),
            abs_gradient: options.score.abs_gradient.into(),
        },
    }
}

/// How Gaussians split and die under the strategy `error_guided`.
fn error_guided_options(options: &ErrorGuidedOptions) -> Options {
    Options {
        clone_extent: CLONE_EXTENT,
        prune_opacity: options.prune.opacity.into(),
        prune_extent: options.prune.world.map(f64::from),
        ..Options::default()
    }
}

/// Largest horizontal focal length over the training cameras of `scene`, pixels: `f_max` of the 3D filter.
pub(super) fn max_focal(scene: &SceneIndex) -> f32 {
    scene.train.iter().map(|v| v.camera.fx).fold(1e-6, f32::max)
}
