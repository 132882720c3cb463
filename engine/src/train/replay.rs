//! Steps that the device gave up: done again in bands, or left out, in order with the steps in flight.
//!
//! A step that does not fit or is not finite turns itself and everything submitted later into no-ops. The host notices
//! when it reads the step's status word. It then waits for all steps in flight, clears the stall and goes through them in
//! order: their ring slots still hold uniforms and images, and what followed each iteration (densification, filter,
//! reset) did nothing either and is submitted again.
//!
//! - Too many intersections: the step runs in bands of tiles. So do the steps after it, without being tried whole, until
//!   one would have fit.
//! - Not finite: the step is left out and does not count as an optimiser step; what follows its iteration still happens.
//! - Too many visible Gaussians: [`TrainError::Stalled`]. Plans hold as many visible records as Gaussians, except under
//!   `debug.v_cap` and where a binding of 128 MiB ends at 8.3 million records.

use std::collections::VecDeque;
use std::ops::Range;

use super::events::{Event, StallBuffer};
use super::schedule;
use super::trainer::{Finished, Flight, StepStatus};
use super::{TrainError, Trainer, uniforms};
use crate::kernels::counters::{Counters, Stall};
use crate::step::{self, BAND_SLOTS, BandTensors};
use crate::vk::{CompiledProgram, Ticket};

/// The host's side of banded steps.
pub(super) struct Banding {
    tensors: BandTensors,
    /// `debug.bands`: every step runs in at least this many bands.
    least: Option<u32>,
    /// True when the last banded step would not have fit whole.
    crowded: bool,
    /// Per slot: the range it holds and the last submission that reads it.
    slots: Vec<(Range<u32>, Option<Ticket>)>,
    /// Steps done in bands.
    steps: u32,
    /// Steps left out.
    pub(super) skipped: u32,
}

/// The first part of a banded step or evaluation is done.
pub(super) struct BandedView {
    /// Splats per tile.
    pub(super) histogram: Vec<u32>,
    bands: Vec<Range<u32>>,
}

impl BandedView {
    fn intersections(&self) -> u32 {
        let sum: u64 = self.histogram.iter().map(|n| u64::from(*n)).sum();
        u32::try_from(sum).unwrap_or(u32::MAX)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    Backward,
}

impl Banding {
    pub(super) fn new(tensors: BandTensors, least: Option<u32>) -> Self {
        Self {
            tensors,
            least,
            crowded: false,
            slots: vec![(0..0, None); BAND_SLOTS as usize],
            steps: 0,
            skipped: 0,
        }
    }

    /// True when the next step is not worth trying whole.
    pub(super) fn is_on(&self) -> bool {
        self.least.is_some() || self.crowded
    }
}

impl Trainer {
    /// Steps that ran in bands, since start.
    #[must_use]
    pub fn banded_steps(&self) -> u32 {
        self.banding.steps
    }

    /// Steps left out because they were not finite, also before the run was resumed.
    #[must_use]
    pub fn skipped_steps(&self) -> u32 {
        self.banding.skipped
    }

    /// Goes on at the step `first` of slot `slot`, whose status word tells of a stall.
    pub(super) fn recover(&mut self, slot: u32, first: Flight, counters: Counters) -> Result<(), TrainError> {
        let slots = self.report.capacities.slots;
        let mut list = VecDeque::from([(slot, first)]);
        for slot in (1..slots).map(|k| (slot + k) % slots) {
            let flight = self.in_flight.get_mut(slot as usize).and_then(Option::take);
            list.extend(flight.map(|f| (slot, f)));
        }
        if let Some((_, last)) = list.back() {
            self.gpu.queue().wait(last.ticket, "a training step")?;
        }
        let mut known = Some(counters);
        while let Some((slot, flight)) = list.pop_front() {
            if self.settle(slot, &flight, known.take())? {
                continue;
            }
            for (slot, later) in &mut list {
                later
                    .steps
                    .retract(schedule::adam_skip_mask(&self.profile, flight.block.iteration));
                uniforms::set_rates(&mut later.block, &self.profile, self.extent, &later.steps);
                self.write_uniforms(*slot, &later.block)?;
            }
        }
        Ok(())
    }

    /// Brings one step to its end, and submits what follows it. `known` is the status word of an attempt that has
    /// finished; without one the step runs first. Nothing else is in flight. False when the step was left out.
    pub(super) fn settle(&mut self, slot: u32, flight: &Flight, known: Option<Counters>) -> Result<bool, TrainError> {
        let iteration = flight.block.iteration;
        let mut events = Vec::new();
        let mut counters = match known {
            Some(counters) => counters,
            None if self.banding.is_on() => self.step_in_bands(slot, flight)?,
            None => {
                let ticket = self.gpu.submit(&self.programs.step, slot)?;
                self.gpu.queue().wait(ticket, "a training step")?;
                self.status(slot)?
            }
        };
        if counters.stall() == Some(Stall::Intersections) {
            self.gpu.run_compiled(&self.programs.clear_stall)?;
            counters = self.step_in_bands(slot, flight)?;
            events.push(Event::Stall {
                buffer: StallBuffer::Intersections,
                wanted: counters.intersections.into(),
                capacity: self.report.capacities.i_cap.into(),
            });
        }
        let done = match counters.stall() {
            None => true,
            Some(Stall::NonFinite) => {
                events.push(nonfinite(&counters));
                self.leave_out(slot, iteration)?;
                false
            }
            Some(_) => return Err(self.stalled(counters)),
        };
        self.submit_events(iteration)?;
        self.finished.push_back(Finished {
            status: StepStatus { iteration, counters },
            done,
            events,
        });
        Ok(done)
    }

    fn leave_out(&mut self, slot: u32, iteration: u32) -> Result<(), TrainError> {
        self.gpu.run_compiled(&self.programs.clear_stall)?;
        self.gpu.submit(&self.programs.left_out, slot)?;
        self.steps.retract(schedule::adam_skip_mask(&self.profile, iteration));
        self.banding.skipped += 1;
        Ok(())
    }

    /// Runs the step of slot `slot` in bands and returns its status word, with the intersections of all bands.
    fn step_in_bands(&mut self, slot: u32, flight: &Flight) -> Result<Counters, TrainError> {
        let tiles = flight.block.tiles_x * flight.block.tiles_y;
        let view = match self.banded_forward(slot, tiles)? {
            Ok(view) => view,
            Err(counters) => return Ok(counters),
        };
        self.gpu.submit(&self.programs.banded.loss, 0)?;
        self.submit_bands(&view.bands, Pass::Backward)?;
        let ticket = self.gpu.submit(&self.programs.banded.finish, slot)?;
        self.gpu.queue().wait(ticket, "a banded training step")?;
        let intersections = view.intersections();
        let counters = self.status(slot)?;
        // A step that is about to be left out says nothing about those that follow.
        if counters.stall().is_none() {
            self.banding.crowded = intersections > self.report.capacities.i_cap;
        }
        self.banding.steps += 1;
        Ok(Counters {
            intersections,
            ..counters
        })
    }

    /// Renders the view in slot `slot` in bands, up to the image. The inner error is the status word of a stall.
    fn banded_forward(&mut self, slot: u32, tiles: u32) -> Result<Result<BandedView, Counters>, TrainError> {
        let ticket = self.gpu.submit(&self.programs.banded.prefix, slot)?;
        self.gpu.queue().wait(ticket, "the first part of a banded step")?;
        let counters = self.status(slot)?;
        if counters.stall().is_some() {
            return Ok(Err(counters));
        }
        let back = self.banding.tensors.histogram_back.slice(0, 4 * u64::from(tiles));
        let bytes = self.gpu.memory().host(&back)?;
        let histogram: Vec<u32> = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        let least = self.banding.least.unwrap_or(1);
        let bands = step::pack_bands(&histogram, self.report.capacities.band_cap(), least);
        self.submit_bands(&bands, Pass::Forward)?;
        Ok(Ok(BandedView { histogram, bands }))
    }

    fn submit_bands(&mut self, bands: &[Range<u32>], pass: Pass) -> Result<(), TrainError> {
        for (slot, band) in (0..BAND_SLOTS).cycle().zip(bands) {
            let program: &CompiledProgram = match pass {
                Pass::Forward => &self.programs.banded.forward,
                Pass::Backward => &self.programs.banded.backward,
            };
            let Some((range, last)) = self.banding.slots.get_mut(slot as usize) else {
                continue;
            };
            if range != band {
                if let Some(ticket) = last {
                    self.gpu.queue().wait(*ticket, "a band")?;
                }
                let words = [band.start, band.end];
                let view = self.banding.tensors.range(slot);
                let host = self.gpu.memory_mut().host_mut(&view)?;
                host.copy_from_slice(bytemuck::cast_slice(&words));
                *range = band.clone();
            }
            *last = Some(self.gpu.submit(program, slot)?);
        }
        Ok(())
    }

    /// Evaluates the view in slot 0 in bands; what the host reads back is there afterwards.
    pub(super) fn evaluate_in_bands(&mut self, tiles: u32) -> Result<BandedView, TrainError> {
        match self.banded_forward(0, tiles)? {
            Ok(view) => {
                self.gpu.run_compiled(&self.programs.banded.metrics)?;
                let counters = self.status(0)?;
                if counters.stall().is_some() {
                    self.gpu.run_compiled(&self.programs.clear_stall)?;
                    return Err(self.stalled(counters));
                }
                Ok(view)
            }
            Err(counters) => {
                self.gpu.run_compiled(&self.programs.clear_stall)?;
                Err(self.stalled(counters))
            }
        }
    }

    pub(super) fn stalled(&self, counters: Counters) -> TrainError {
        TrainError::Stalled {
            counters: Box::new(counters),
            v_cap: self.report.capacities.v_cap,
            i_cap: self.report.capacities.i_cap,
        }
    }
}

fn nonfinite(counters: &Counters) -> Event {
    // The check looks at the loss together with the first record.
    let (pass, tensor) = if counters.loss.is_finite() {
        ("gradient_check", "2D gradients")
    } else {
        ("loss_reduce", "loss")
    };
    Event::Nonfinite {
        pass: pass.to_owned(),
        tensor: tensor.to_owned(),
        index: counters.nonfinite_index.into(),
        count: counters.nonfinite.into(),
    }
}
