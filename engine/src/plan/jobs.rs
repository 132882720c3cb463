//! Everything that is ever submitted for a model, by name: as programs in a plan, compiled on a device.

use std::collections::BTreeMap;

use crate::step::{BAND_SLOTS, Part, Parts, Terms, Turns};
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use kiln_program::{Command, Groups, Program};

/// One thing to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// A training step, or what is drawn before it, whose photo is in this page of resident photos; of page 0 where steps bring theirs.
    Step(Terms, usize),
    /// Draws and measures a view.
    Evaluate {
        /// Copies the image and the splats per tile too.
        image: bool,
    },
    /// Computes the 3D filter.
    Filter,
    /// Lowers all opacities.
    Reset,
    /// Clears the sticky word of a stall.
    ClearStall,
    /// Stands in for a step that is left out.
    LeftOut,
    /// Counts the parameters.
    Histogram,
    /// Brings SH out of view up to date; only where it does not take part in every step.
    CatchUp,
    /// A part of a banded step or evaluation.
    Band(Terms, Turns, Part),
    /// Densification; only where the strategy densifies.
    Densify {
        /// Adds no Gaussians, because memory is short.
        held: bool,
        /// Prunes what is large in the world too.
        large: bool,
    },
    /// Culling by all training cameras; only where the profile asks for it.
    Cull,
    /// Forgets all moments; only where Adam starts anew.
    Restart,
    /// Removes what is faint before the terms of the density begin; only where they do so.
    Prune,
    /// Finds the neighbours of Gaussians, and whose neighbour each is; only with terms of the density.
    FindNeighbors,
    /// The second half of it, for neighbours of a checkpoint.
    KnowNeighbors,
}

impl Job {
    /// True for steps that run whole.
    #[must_use]
    pub fn is_step(self) -> bool {
        matches!(self, Self::Step(..))
    }

    /// Slots that it is recorded for, of a ring with `ring` slots, where `pages` pages of photos are resident. Steps by photos that are not
    /// move test cameras, one at a time, and the ring has one place for such a photo.
    fn slots(self, ring: u32, pages: usize) -> u32 {
        match self {
            Self::Step(_, page) if pages > 0 && page >= pages => 1,
            Self::Step(..) | Self::LeftOut | Self::Band(_, _, Part::Prefix | Part::Finish) => ring,
            Self::Band(_, _, Part::Forward | Part::Backward) => BAND_SLOTS,
            _ => 1,
        }
    }
}

/// A plan lacks a job that every plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan has no program for {0:?}; this is a defect of Kiln, please report it")]
pub struct NoJob(pub Job);

/// A [`Program`] or [`CompiledProgram`] for each job that there is.
#[derive(Clone, Debug)]
pub struct Jobs<P>(BTreeMap<Job, P>);

impl<P> Default for Jobs<P> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<P> Jobs<P> {
    /// That of `job`, if there is one.
    #[must_use]
    pub fn get(&self, job: Job) -> Option<&P> {
        self.0.get(&job)
    }

    /// That of a job that every plan has.
    ///
    /// # Errors
    /// [`NoJob`].
    pub fn need(&self, job: Job) -> Result<&P, NoJob> {
        self.get(job).ok_or(NoJob(job))
    }

    /// All of them, in the order of [`Job`].
    pub fn all(&self) -> impl Iterator<Item = &P> {
        self.0.values()
    }
}

impl<P> Extend<(Job, P)> for Jobs<P> {
    fn extend<I: IntoIterator<Item = (Job, P)>>(&mut self, jobs: I) {
        self.0.extend(jobs);
    }
}

impl Jobs<Program> {
    /// Adds the parts of banded steps and evaluations; what an evaluation measures is the image.
    pub fn add_bands(&mut self, terms: Terms, turns: Turns, parts: Parts) {
        let wanted = |part: &Part| terms == Terms::Image || !matches!(part, Part::Metrics | Part::EvaluationPrefix);
        self.extend(
            parts
                .into_iter()
                .filter(|(part, _)| wanted(part))
                .map(|(part, program)| (Job::Band(terms, turns, part), program)),
        );
    }

    /// Recorded dispatches whose size is in device memory, of those jobs that `wanted` names, for such a ring and so many pages.
    pub(super) fn recorded_indirect(&self, (ring, pages): (u32, usize), wanted: impl Fn(Job) -> bool) -> u64 {
        let is_indirect = |command: &&Command| matches!(command, Command::Dispatch(pass) if matches!(pass.groups, Groups::Indirect(_)));
        let recorded = |(job, program): (&Job, &Program)| {
            let passes = program.commands.iter().filter(is_indirect).count() as u64;
            passes * u64::from(job.slots(ring, pages))
        };
        let wanted = self.0.iter().filter(|(job, _)| wanted(**job));
        wanted.map(recorded).sum()
    }

    /// Compiles and records those that `wanted` names, on `gpu`, which has committed their tensors, for a ring of `ring`
    /// slots and `pages` pages of resident photos.
    ///
    /// # Errors
    /// [`MemoryError`] when the driver refuses one.
    pub fn compile(
        &self,
        gpu: &Gpu,
        (ring, pages): (u32, usize),
        options: RecordOptions,
        wanted: impl Fn(Job) -> bool,
    ) -> Result<Jobs<CompiledProgram>, MemoryError> {
        let compile = |(job, program): (&Job, &Program)| {
            let options = RecordOptions {
                slots: job.slots(ring, pages),
                ..options
            };
            Ok((*job, gpu.compile(program, options)?))
        };
        let wanted = self.0.iter().filter(|(job, _)| wanted(**job));
        wanted.map(compile).collect::<Result<_, _>>().map(Jobs)
    }
}
