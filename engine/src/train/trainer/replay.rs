//! Steps that the device gave up: done again in bands, or left out, in order with the steps in flight.
//!
//! A step that does not fit or is not finite turns itself and everything submitted later into no-ops. The host notices
//! when it reads the step's status word. It then waits for all steps in flight, clears the stall and goes through them in
//! order: their ring slots still hold uniforms and images, and what followed each iteration (densification, filter,
//! reset) did nothing either and is submitted again.
//!
//! - Too many intersections: the step runs in bands of tiles. So do the steps after it, without being tried whole, until
//!   one would have fit.
//! - Too many visible Gaussians: the same with bands that make their own records, where the plan has fewer records than
//!   Gaussians. What ends a run is one tile with more splats than records, [`TrainError::TileTooFull`].
//! - Loops cut by the driver: on CPU drivers, whose bands have kernels with unrolled loops, the same with bands. What is cut there too, a
//!   tile of more than 349 520 splats or triangles, ends the run, because the step would come out wrong again.
//! - Not finite: the step is left out and does not count as an optimiser step; what follows its iteration still happens.
//!   Gaussians that do so again and again are taken out, see [`super::heal`].

use std::collections::VecDeque;

use super::{Finished, Flight, StepStatus, Trainer};
use crate::plan::{Job, schedule};
use crate::record::events::{Event, StallBuffer};
use crate::step::{Part, Terms, Turns};
use crate::train::TrainError;
use crate::train::bands::BandedView;
use kiln_kernels::counters::{Counters, Stall};
use kiln_kernels::uniforms::StepUniforms;

/// What a view had of what lists have room for.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted {
    visible: u32,
    intersections: u32,
    /// Splats of the fullest tile.
    longest: u32,
}

impl Wanted {
    fn of(view: &BandedView) -> Self {
        Self {
            visible: view.visible,
            intersections: view.intersections(),
            longest: view.longest(),
        }
    }

    /// The most of two views.
    fn or_more(self, other: Self) -> Self {
        Self {
            visible: self.visible.max(other.visible),
            intersections: self.intersections.max(other.intersections),
            longest: self.longest.max(other.longest),
        }
    }
}

/// A step that ran in bands.
pub(super) struct InBands {
    /// Its status word, with what all bands of its own view together had.
    pub(super) counters: Counters,
    /// The most that either of its views had.
    wanted: Wanted,
}

impl InBands {
    /// One that ended with a stall.
    fn given_up(counters: Counters) -> Self {
        let wanted = Wanted {
            visible: counters.visible,
            intersections: counters.intersections,
            longest: 0,
        };
        Self { counters, wanted }
    }
}

impl Trainer {
    /// Steps that ran in bands, since start.
    #[must_use]
    pub fn banded_steps(&self) -> u32 {
        self.banding.steps
    }

    /// Runs every step in at least `bands` bands from the next one on; none = whole where they can.
    ///
    /// # Errors
    /// See [`Trainer::advance`].
    pub(crate) fn press_bands(&mut self, bands: Option<u32>) -> Result<(), TrainError> {
        self.idle_gpu()?;
        self.banding.press(bands);
        Ok(())
    }

    /// Steps left out because they were not finite, also before the run was resumed.
    #[must_use]
    pub fn skipped_steps(&self) -> u32 {
        self.banding.skipped
    }

    /// Goes on at the step `first` of slot `slot`, whose status word reports a stall.
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
                self.model
                    .set_rates(&mut later.block, &self.profile, self.lengths, &later.steps);
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
        let mut counters = match (known, self.banding.turns()) {
            (Some(counters), _) => counters,
            (None, Some(turns)) => self.step_in_bands(slot, flight, turns)?.counters,
            (None, None) => {
                let ticket = self.submit_step(slot, flight)?;
                self.gpu.queue().wait(ticket, "a training step")?;
                self.status(slot)?
            }
        };
        // Lists in turns may turn out to be not enough.
        for reason in [Stall::Loops, Stall::Intersections, Stall::Visible] {
            if counters.stall() == Some(reason)
                && let Some(turns) = self.banding.way_out(reason)
            {
                self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
                let step = self.step_in_bands(slot, flight, turns)?;
                events = self.stall_events(step.wanted).collect();
                counters = step.counters;
            }
        }
        let done = match counters.stall() {
            None => {
                self.note_done(flight);
                true
            }
            Some(Stall::NonFinite) => {
                events.push(nonfinite(&counters));
                self.leave_out(slot, iteration)?;
                self.leave_out_deferred(flight)?;
                events.extend(self.heal(flight)?);
                false
            }
            Some(_) => return Err(self.stalled(counters)),
        };
        self.submit_events(iteration)?;
        self.finished.push_back(Finished {
            status: StepStatus {
                iteration,
                counters,
                vertices: self.vertices(),
                pair: self.pair_means(slot, flight)?,
            },
            done,
            events,
        });
        Ok(done)
    }

    /// One for each buffer that a step of which a view had so much has no room in.
    fn stall_events(&self, wanted: Wanted) -> impl Iterator<Item = Event> + use<> {
        let capacities = &self.report.capacities;
        let buffers = [
            (StallBuffer::Visible, wanted.visible, capacities.v_cap),
            (StallBuffer::Intersections, wanted.intersections, capacities.i_cap),
        ];
        let over = buffers.into_iter().filter(|(_, wanted, capacity)| wanted > capacity);
        over.map(|(buffer, wanted, capacity)| Event::Stall {
            buffer,
            wanted: wanted.into(),
            capacity: capacity.into(),
        })
    }

    fn leave_out(&mut self, slot: u32, iteration: u32) -> Result<(), TrainError> {
        self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
        let ticket = self.gpu.submit(self.jobs.need(Job::LeftOut)?, slot)?;
        // No flight keeps this slot, so nobody would wait before filling it again: a densification that follows would
        // read the seed of a later iteration.
        self.gpu.queue().wait(ticket, "what is left of a step")?;
        self.steps.retract(schedule::adam_skip_mask(&self.profile, iteration));
        self.banding.skipped += 1;
        Ok(())
    }

    /// Runs the step of slot `slot` in bands.
    fn step_in_bands(&mut self, slot: u32, flight: &Flight, turns: Turns) -> Result<InBands, TrainError> {
        let terms = self.terms(flight);
        let step = self.bands_of_step(slot, flight, (terms, turns))?;
        let stall = step.counters.stall();
        if stall.is_some_and(|stall| stall != Stall::NonFinite) {
            return Ok(step);
        }
        let capacities = &self.report.capacities;
        // By the larger of its views: tried whole, the next step would stall on either.
        self.banding.crowded = if step.wanted.visible > capacities.v_cap {
            Some(Turns::Records)
        } else {
            let is_crowded = self.banding.is_crowded(step.wanted.longest);
            (step.wanted.intersections > capacities.i_cap || is_crowded).then_some(Turns::Lists)
        };
        self.banding.steps += 1;
        Ok(step)
    }

    /// [`Trainer::step_in_bands`] of any step, of which nothing is noted.
    pub(super) fn bands_of_step(
        &mut self,
        slot: u32,
        flight: &Flight,
        (terms, turns): (Terms, Turns),
    ) -> Result<InBands, TrainError> {
        let mut wanted = Wanted::default();
        if let Some(drawn) = &flight.neighbor {
            match self.neighbor_in_bands(slot, drawn, turns)? {
                Ok(view) => wanted = Wanted::of(&view),
                Err(counters) => return Ok(InBands::given_up(counters)),
            }
        }
        let brings_photo = flight.page == self.tensors.resident.pages.len();
        let view = match self.banded_forward(slot, &flight.block, (terms, turns), !brings_photo)? {
            Ok(view) => view,
            Err(counters) => {
                let step = InBands::given_up(counters);
                let wanted = step.wanted.or_more(wanted);
                return Ok(InBands { wanted, ..step });
            }
        };
        let part = |part| self.jobs.need(Job::Band(terms, turns, part));
        self.gpu.submit(part(Part::Loss(flight.page))?, 0)?;
        let ring = &mut self.banding.ring;
        ring.submit(&mut self.gpu, part(Part::Backward)?, &view.bands)?;
        let ticket = self.gpu.submit(part(Part::Finish)?, slot)?;
        self.gpu.queue().wait(ticket, "a banded training step")?;
        let own = Wanted::of(&view);
        Ok(InBands {
            counters: Counters {
                visible: own.visible,
                intersections: own.intersections,
                ..self.status(slot)?
            },
            wanted: own.or_more(wanted),
        })
    }

    /// Renders the view in slot `slot` in bands, up to the image. The inner error is the status word of a stall. With
    /// `is_resident` the photo is one of those that stay on the device.
    pub(super) fn banded_forward(
        &mut self,
        slot: u32,
        block: &StepUniforms,
        (terms, turns): (Terms, Turns),
        is_resident: bool,
    ) -> Result<Result<BandedView, Counters>, TrainError> {
        let part = |part| Job::Band(terms, turns, part);
        let own = self.jobs.get(part(Part::EvaluationPrefix)).filter(|_| !is_resident);
        let prefix = own.map_or_else(|| self.jobs.need(part(Part::Prefix)), Ok)?;
        let ticket = self.gpu.submit(prefix, slot)?;
        self.gpu.queue().wait(ticket, "the first part of a banded step")?;
        let counters = self.status(slot)?;
        if counters.stall().is_some() {
            return Ok(Err(counters));
        }
        let view = self.banding.ring.pack(&self.gpu, block, &counters, turns)?;
        let forward = self.jobs.need(part(Part::Forward))?;
        self.banding.ring.submit(&mut self.gpu, forward, &view.bands)?;
        Ok(Ok(view))
    }

    /// Evaluates the view in slot 0 in bands; what the host reads back is there afterwards.
    pub(super) fn evaluate_in_bands(
        &mut self,
        block: &StepUniforms,
        mut turns: Turns,
    ) -> Result<BandedView, TrainError> {
        loop {
            let mut drawn = self.banded_forward(0, block, (Terms::Image, turns), false)?;
            if drawn.is_ok() {
                let metrics = self.jobs.need(Job::Band(Terms::Image, turns, Part::Metrics))?;
                self.gpu.run_compiled(metrics)?;
                let counters = self.status(0)?;
                if counters.stall().is_some() {
                    drawn = Err(counters);
                }
            }
            let counters = match drawn {
                Ok(view) => return Ok(view),
                Err(counters) => counters,
            };
            self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
            match counters.stall().and_then(|stall| self.banding.way_out(stall)) {
                Some(Turns::Records) if turns == Turns::Lists => turns = Turns::Records,
                _ => return Err(self.stalled(counters)),
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
