//! The programs of a plan, compiled for a device.

use super::TrainError;
use crate::memory::{Gpu, MemoryError};
use crate::plan::TrainPlan;
use crate::program::Program;
use crate::step::{BAND_SLOTS, BandedPrograms};
use crate::vk::{CompiledProgram, RecordOptions};

/// Parts of banded steps and evaluations; see [`crate::step::BandedPrograms`].
pub(super) struct Banded {
    pub(super) prefix: CompiledProgram,
    pub(super) resident_prefix: Option<CompiledProgram>,
    pub(super) forward: CompiledProgram,
    pub(super) loss: Vec<CompiledProgram>,
    pub(super) backward: CompiledProgram,
    pub(super) finish: CompiledProgram,
    pub(super) metrics: CompiledProgram,
}

/// Everything the trainer submits.
pub(crate) struct Programs {
    /// The step; one for each page of resident images, else one.
    pub(crate) steps: Vec<CompiledProgram>,
    /// The same with timestamps; none unless steps are to be timed and the device has a clock.
    pub(super) timed: Vec<CompiledProgram>,
    pub(super) evaluate: CompiledProgram,
    pub(super) evaluate_image: CompiledProgram,
    pub(super) filter: CompiledProgram,
    pub(super) reset: CompiledProgram,
    pub(super) densify: Option<[CompiledProgram; 2]>,
    /// The same without births.
    pub(super) prune: Option<[CompiledProgram; 2]>,
    pub(super) cull: Option<[CompiledProgram; 3]>,
    pub(super) banded: Banded,
    /// None when the plan has a record for every Gaussian.
    pub(super) banded_records: Option<Banded>,
    pub(super) clear_stall: CompiledProgram,
    pub(super) left_out: CompiledProgram,
    pub(crate) histogram: CompiledProgram,
    /// None where SH takes part in every step.
    pub(super) catch_up: Option<CompiledProgram>,
    /// None without clusters.
    pub(super) clusters: Option<CompiledProgram>,
}

impl Programs {
    /// Compiles and records all programs of `plan`, whose tensors `gpu` has committed.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the driver refuses one.
    pub(crate) fn new(gpu: &Gpu, plan: &TrainPlan, with_times: bool) -> Result<Self, TrainError> {
        let compile = |program: &Program, slots: u32, timestamps: bool| {
            let options = RecordOptions {
                slots,
                timestamps,
                watched: true,
            };
            gpu.compile(program, options)
        };
        let slots = plan.tensors.capacities.slots;
        let once = |program: &Program| compile(program, 1, false);
        let ring = |program: &Program| compile(program, slots, false);
        let band = |program: &Program| compile(program, BAND_SLOTS, false);
        let each = |programs: &[Program], of: &dyn Fn(&Program) -> Result<CompiledProgram, MemoryError>| {
            programs.iter().map(of).collect::<Result<Vec<_>, _>>()
        };
        let pair = |programs: &Option<[Program; 2]>| -> Result<Option<[CompiledProgram; 2]>, MemoryError> {
            Ok(match programs {
                Some([small, large]) => Some([once(small)?, once(large)?]),
                None => None,
            })
        };
        let banded = |parts: &BandedPrograms| -> Result<Banded, TrainError> {
            Ok(Banded {
                prefix: match parts.resident_prefix {
                    Some(_) => once(&parts.prefix)?,
                    None => ring(&parts.prefix)?,
                },
                resident_prefix: parts.resident_prefix.as_ref().map(ring).transpose()?,
                forward: band(&parts.forward)?,
                loss: each(&parts.loss, &once)?,
                backward: band(&parts.backward)?,
                finish: ring(&parts.finish)?,
                metrics: once(&parts.metrics)?,
            })
        };
        let has_clock = gpu.device().caps().timestamp_period_ns > 0.0;
        let timed: &[Program] = if has_clock && with_times { &plan.steps } else { &[] };
        Ok(Self {
            steps: each(&plan.steps, &ring)?,
            timed: each(timed, &|program| compile(program, slots, true))?,
            evaluate: once(&plan.evaluate)?,
            evaluate_image: once(&plan.evaluate_image)?,
            filter: once(&plan.filter)?,
            reset: once(&plan.reset)?,
            densify: pair(&plan.densify)?,
            prune: pair(&plan.prune)?,
            cull: match &plan.cull {
                Some([early, late, last]) => Some([once(early)?, once(late)?, once(last)?]),
                None => None,
            },
            banded: banded(&plan.banded)?,
            banded_records: plan.banded_records.as_ref().map(banded).transpose()?,
            clear_stall: once(&plan.clear_stall)?,
            left_out: ring(&plan.left_out)?,
            histogram: once(&plan.histogram)?,
            catch_up: plan.catch_up.as_ref().map(once).transpose()?,
            clusters: plan.clusters.as_ref().map(once).transpose()?,
        })
    }
}
