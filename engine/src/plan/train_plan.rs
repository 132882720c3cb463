//! Every tensor and every program of a run, for given capacities.

use super::PlanError;
use super::densifications::{cull, densifications};
use super::jobs::{Job, Jobs};
use super::measures::Measures;
use super::open::layout_of;
use super::order::Reorder;
use super::probe_tensors::ProbeTensors;
use super::readback::EvalReadback;
use crate::config::Profile;
use crate::eval::lpips::{LpipsError, LpipsTensors};
use crate::kernels::filter_3d::FilterIo;
use crate::kernels::histogram;
use crate::kernels::views::Variants;
use crate::memory::{Gpu, Layout, Plan, PlanLimits};
use crate::program::{Class, Program, Span, Tag, TensorTable};
use crate::step::{
    self, BandTensors, Capacities, DensifyTensors, PairTensors, RecordBandTensors, ResidentImages, STAGING_BYTES,
    StepExtras, StepTensors, Terms, Turns,
};

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
    /// Workspace of LPIPS; none when it is off or the images are too small for it.
    pub lpips: Option<LpipsTensors>,
    /// What the residency probe compares with; none where it cannot decide.
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
        let surfaces = capacities.surfaces().then(|| tensors.for_surface_steps(&mut table));
        let pairs = surfaces
            .as_ref()
            .and_then(|surfaces| surfaces.for_pair_steps(&mut table));
        let alone = surfaces.as_ref().filter(|_| capacities.surfaces_alone());
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
        let workspace = (reorder.is_some() || profile.cull.is_some() || prune > 0.0)
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
        if let (Some(workspace), Some(who)) = (workspace, profile.cull) {
            jobs.extend([cull(&tensors, &workspace, &io, (who, profile), &measures)]);
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
            pair: pairs.and_then(|pairs| pairs.pair().copied()),
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
