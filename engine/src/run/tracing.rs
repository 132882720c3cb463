//! Writes the memory trace of a run, see [`crate::memory::trace`].

use std::collections::BTreeMap;
use std::path::Path;

use super::RunError;
use crate::memory::trace::{Counts, Line, Phase, Process, ProgramLine, Start, Step, TensorLine, Topology, Unit, Work};
use crate::program::{Class, Tag, TensorDesc};
use crate::record::sinks::JsonLines;
use crate::step::{Capacities, ModelTensor};
use crate::train::{StepStatus, Trainer};

/// Takes note of what the device is given to do.
pub(super) struct Tracer {
    rows: JsonLines,
    /// Names of the programs, by number; of those that share a name the one that needs most.
    numbers: BTreeMap<String, u32>,
    model: Vec<TensorLine>,
    gaussians: u64,
    /// Steps whose status word has not come yet: pixels, programs of the step, and those that followed it.
    pending: BTreeMap<u32, Pending>,
}

#[derive(Default)]
struct Pending {
    px: u64,
    runs: Vec<u32>,
    after: Vec<u32>,
}

impl Tracer {
    /// Begins a process in the trace at `path`.
    pub(super) fn open(path: &Path, scene: &str, process: Process, trainer: &mut Trainer) -> Result<Self, RunError> {
        trainer.record_submissions();
        let memory = trainer.gpu().memory();
        let caps = trainer.gpu().device().caps();
        let rounding = trainer.gpu().device().block_rounding();
        let report = trainer.report();
        let tensors = lines(memory.table().tensors(), &trainer.model_tensors(), &report.capacities);
        let programs = programs(
            &memory.plan().lifetimes,
            memory.plan().arena_peaks.iter().map(|p| &*p.program),
        );
        let mut largest: BTreeMap<String, (u64, u32)> = BTreeMap::new();
        for (number, peak) in (0..).zip(&memory.plan().arena_peaks) {
            let entry = largest.entry(peak.program.clone()).or_insert((peak.bytes, number));
            if peak.bytes > entry.0 {
                *entry = (peak.bytes, number);
            }
        }
        let mut rows = JsonLines::append(path)?;
        let c = report.capacities;
        rows.write(&Line::Start(Start {
            version: Start::VERSION,
            scene: scene.to_owned(),
            device: caps.name.clone(),
            process,
            it: trainer.iteration(),
            gaussians: trainer.gaussians().into(),
            backend: trainer.backend().name().to_owned(),
            cap_bytes: report.budget.cap_bytes,
            block_bytes: crate::memory::Gpu::limits(trainer.gpu().device()).block_bytes,
            extra_bytes: rounding.extra_bytes,
            granularity_bytes: rounding.granularity_bytes,
            n_cap: c.n_cap.into(),
            v_cap: c.v_cap.into(),
            i_cap: c.i_cap.into(),
            max_pixels: c.max_pixels.into(),
            chunk: c.chunk.into(),
        }))?;
        for tensor in &tensors {
            rows.write(&Line::Tensor(tensor.clone()))?;
        }
        for program in programs {
            rows.write(&Line::Program(program))?;
        }
        Ok(Self {
            rows,
            numbers: largest.into_iter().map(|(name, (_, number))| (name, number)).collect(),
            model: tensors.into_iter().filter(|t| t.class == Class::Persistent).collect(),
            gaussians: trainer.gaussians().into(),
            pending: BTreeMap::new(),
        })
    }

    /// The number of a submitted program; none for transfers.
    fn number(&self, name: &str) -> Option<u32> {
        // A tile of the perceptual measure is several submissions, planned as one program.
        let name = match name {
            "lpips block 1" => "lpips",
            name => name,
        };
        self.numbers.get(name).copied()
    }

    /// Takes what was submitted for iteration `it`, whose image has `px` pixels when it is known.
    pub(super) fn step(&mut self, it: u32, px: Option<u64>, trainer: &mut Trainer) {
        for name in trainer.take_submissions() {
            let Some(number) = self.number(&name) else { continue };
            let pending = self.pending.entry(it).or_default();
            match &*name {
                "densify" | "filter_3d" | "opacity_reset" => pending.after.push(number),
                _ => pending.runs.push(number),
            }
        }
        if let Some(px) = px {
            self.pending.entry(it).or_default().px = px;
        }
    }

    /// Writes the step of a status word, with `t_s` seconds of training behind it.
    pub(super) fn status(&mut self, status: &StepStatus, t_s: f64, trainer: &Trainer) -> Result<(), RunError> {
        let counters = &status.counters;
        let n = u64::from(counters.gaussians);
        if n != self.gaussians {
            self.gaussians = n;
            let counts = Counts {
                gaussians: n,
                ..Counts::default()
            };
            self.rows.write(&Line::Topology(Topology {
                it: status.iteration.saturating_sub(1),
                n,
                live_bytes: self.model.iter().map(|t| t.bytes_for(&counts)).sum(),
                reserved_bytes: trainer.gpu().device().reserved_bytes(),
                t_s,
            }))?;
        }
        // Steps that were left out have no word of their own.
        let later = self.pending.split_off(&(status.iteration + 1));
        for (it, pending) in std::mem::replace(&mut self.pending, later) {
            // What was held back while the model was evaluated comes after the step was written.
            if !pending.runs.is_empty() {
                self.rows.write(&Line::Step(Step {
                    it,
                    n,
                    v: counters.visible.into(),
                    i: counters.intersections.into(),
                    px: pending.px,
                    runs: pending.runs,
                }))?;
            }
            if !pending.after.is_empty() {
                self.work(it, Phase::Densify, pending.px, pending.after)?;
            }
        }
        Ok(())
    }

    fn work(&mut self, it: u32, phase: Phase, px: u64, runs: Vec<u32>) -> Result<(), RunError> {
        Ok(self.rows.write(&Line::Work(Work { it, phase, px, runs }))?)
    }

    /// Writes what was submitted since, as work of `phase` on images of at most `px` pixels. The steps before it are over.
    pub(super) fn between(&mut self, phase: Phase, px: u64, trainer: &mut Trainer) -> Result<(), RunError> {
        let it = trainer.iteration();
        let mut runs: Vec<u32> = Vec::new();
        let mut last = phase;
        for name in trainer.take_submissions() {
            let Some(number) = self.number(&name) else { continue };
            let of = match &*name {
                "lpips block 1" => Phase::Lpips,
                _ => phase,
            };
            if of != last {
                self.work(it, last, px, std::mem::take(&mut runs))?;
                last = of;
            }
            runs.push(number);
        }
        self.work(it, last, px, runs)?;
        Ok(self.rows.flush()?)
    }
}

/// Tensors as the trace has them.
fn lines(tensors: &[TensorDesc], model: &[ModelTensor], c: &Capacities) -> Vec<TensorLine> {
    let line = |(index, desc): (usize, &TensorDesc)| {
        let own = model.iter().find(|m| m.view.tensor.index() == index);
        let (unit, first, of, rows) = match (own, desc.tag) {
            (Some(own), _) => (Unit::Gaussians, own.first.into(), own.stride.into(), own.rows),
            (None, Tag::Visible) => (Unit::Visible, 0, c.v_cap.into(), 1),
            (None, Tag::Intersections) => (Unit::Intersections, 0, c.i_cap.into(), 1),
            (None, Tag::Pixels) => (Unit::Pixels, 0, c.max_pixels.into(), 1),
            (None, _) => match &*desc.name {
                "images/target" => (Unit::Pixels, 0, c.max_pixels.into(), 1),
                "densify/gradients"
                | "densify/keys"
                | "densify/group_counts"
                | "densify/from"
                | "densify/to"
                | "small/group_visible" => (Unit::Gaussians, 0, c.n_cap.into(), 1),
                _ => (Unit::Fixed, 0, 1, 1),
            },
        };
        TensorLine {
            name: desc.name.clone(),
            class: desc.class,
            tag: desc.tag,
            bytes: desc.bytes,
            unit,
            first,
            of,
            rows,
        }
    };
    tensors.iter().enumerate().map(line).collect()
}

/// Programs with the lifetimes of the plan.
fn programs<'a>(lifetimes: &[Vec<Option<(usize, usize)>>], names: impl Iterator<Item = &'a str>) -> Vec<ProgramLine> {
    let arena = |program: usize| {
        let lives = lifetimes.iter().enumerate();
        let of = lives.filter_map(|(tensor, lives)| lives.get(program).copied().flatten().map(|life| (tensor, life)));
        of.map(|(tensor, (first, last))| (tensor, first, last)).collect()
    };
    let line = |(program, name): (usize, &str)| ProgramLine {
        name: name.to_owned(),
        arena: arena(program),
    };
    names.enumerate().map(line).collect()
}
