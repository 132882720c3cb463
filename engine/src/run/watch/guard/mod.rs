//! Watches over the memory that a run was given: whether the driver still grants it, and whether it still is where it was
//! put.
//!
//! | evidence | comes from | leads to |
//! |---|---|---|
//! | the budget shrank, or the process is above it | the driver's figures, every 50 steps and before each densification | `budget_shrunk`, and responses to pressure: see [`pressure`] |
//! | host memory of the process rose, or device memory beyond what was requested | the same figures, and Windows' own counter | `spill` |
//! | a block is read as slowly as over a bus | the residency probe, at the start and every 1000 steps: see [`probe`] | `residency`, `spill` |
//! | twenty steps in a row take three times as long as usual | the clock: see [`slow_steps`] | `slow_step` |
//!
//! Times lead to events, and under `memory.on_spill: error` to the end of the run; only the driver's figures change what a
//! run does next. So a busy machine never changes a model.

mod pressure;
mod slow_steps;
mod source;
mod spill;

use super::{Context, Watch};
use kiln_config::{OnSpill, Profile};
use kiln_gpu::vk::{Caps, DeviceKind};

pub use source::device_budget;

use crate::plan::{OpenDevice, schedule};
use crate::record::events::Event;
use crate::record::{MemoryPlace, Verdict};
use crate::run::RunError;
use crate::train::{Rates, StepStatus};
use pressure::{Change, Pressure};
use slow_steps::SlowSteps;
use source::BudgetSource;
use spill::SpillWatch;

/// Steps between two looks at the driver's figures.
const POLL_EVERY: u32 = 50;
/// Steps between two measurements of where the memory lies.
const PROBE_EVERY: u32 = 1000;

/// The guard of one run.
pub(crate) struct Guard {
    source: Option<Box<dyn BudgetSource>>,
    spill: SpillWatch,
    /// From the first figures after the memory was taken.
    pressure: Option<Pressure>,
    /// None where times say nothing of memory.
    slow_steps: Option<SlowSteps>,
    /// Steps done in bands when the last one was reported.
    banded: u32,
    probe_every: u32,
    spill_from: Option<u32>,
    /// Why a probe can say nothing here.
    unknown: Option<&'static str>,
    reported: Option<Verdict>,
    /// Best rate of the reference so far, GB/s.
    best_reference: f64,
    policy: OnSpill,
}

impl Guard {
    /// A guard for a run on a device, which has not taken its memory yet.
    pub(crate) fn new(open: &OpenDevice, profile: &Profile) -> Self {
        let OpenDevice { device, faults, .. } = open;
        let source = source::of(device, &faults.budget);
        let before = source.as_ref().and_then(|source| source.read(0));
        let caps = device.caps();
        Self {
            spill: SpillWatch::new(before),
            source,
            pressure: None,
            slow_steps: (caps.kind != DeviceKind::Cpu).then(SlowSteps::default),
            banded: 0,
            probe_every: faults.probe_every.unwrap_or(PROBE_EVERY),
            spill_from: faults.spill_from,
            unknown: unknown(caps),
            reported: None,
            best_reference: 0.0,
            policy: profile.memory.on_spill,
        }
    }

    /// Notes that the memory is taken: `device_bytes` on the device, `host_bytes` for rings of the host.
    pub(crate) fn committed(&mut self, it: u32, device_bytes: u64, host_bytes: u64) {
        self.spill.committed(device_bytes, host_bytes);
        let start = self.source.as_ref().and_then(|source| source.read(it));
        self.pressure = start.map(Pressure::new);
    }

    /// Asks the driver, before iteration `it`: what is to be reported, and what to be done from that step on.
    fn poll(&mut self, it: u32) -> (Vec<Event>, Option<Change>) {
        let figures = self.source.as_ref().and_then(|source| source.read(it));
        let (Some(figures), Some(pressure)) = (figures, &mut self.pressure) else {
            return (Vec::new(), None);
        };
        let mut events = Vec::from_iter(pressure.shrunk(&figures));
        events.extend(self.spill.look(&figures).into_iter().map(Event::Spill));
        let change = pressure.poll(&figures);
        events.extend(change.map(|change| Event::Pressure(change.reported(&figures))));
        (events, change)
    }

    /// Takes the time at which a step was over, seconds of the training loop. `steady` is false for a step after which
    /// others may well take longer: it densified, or ran in bands.
    fn slow_step(&mut self, it: u32, t_s: f64, steady: bool) -> Option<Event> {
        let (ms, usual_ms) = self.slow_steps.as_mut()?.step(it, t_s, steady)?;
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds for people")]
        Some(Event::SlowStep {
            ms: ms as f32,
            usual_ms: usual_ms as f32,
        })
    }

    /// Why it is unknown where the memory lies; none where a probe can measure it.
    fn unknown(&self, it: u32) -> Option<&'static str> {
        self.unknown.filter(|_| !self.is_forced(it))
    }

    /// True when iteration `it` is to be followed by a probe.
    fn is_probe_due(&self, it: u32) -> bool {
        self.probe_every > 0 && it.is_multiple_of(self.probe_every)
    }

    fn is_forced(&self, it: u32) -> bool {
        self.spill_from.is_some_and(|from| it >= from)
    }

    /// Rates that the fault `spill_from` makes up.
    fn forced(&self, it: u32) -> Option<Rates> {
        self.is_forced(it).then(Rates::spilled_example)
    }

    /// True when rates measured after iteration `it` are to be measured again before they are believed.
    fn is_suspicious(&self, it: u32, rates: &Rates) -> bool {
        self.unknown(it).is_none() && rates.evidence().is_some()
    }

    /// Takes rates measured after iteration `it`: what there is to report of them. A verdict is reported when it is new.
    fn probed(&mut self, it: u32, rates: &Rates) -> Vec<Event> {
        self.best_reference = self.best_reference.max(rates.reference_gb_s);
        let mut residency = rates.residency(self.best_reference);
        if let Some(reason) = self.unknown(it) {
            (residency.verdict, residency.reason) = (Verdict::Unknown, Some(reason.to_owned()));
        }
        let mut events = Vec::new();
        if self.reported == Some(residency.verdict) {
            return events;
        }
        self.reported = Some(residency.verdict);
        let spilled = residency.verdict == Verdict::Spilled;
        events.push(Event::Residency(residency));
        if spilled {
            events.extend(rates.evidence().map(Event::Spill));
        }
        events
    }

    /// What there is to report after iteration `it` where the plan has no reference.
    fn unprobed(&mut self, it: u32) -> Vec<Event> {
        let reason = self.unknown(it).unwrap_or("the plan has no reference");
        let news = self.reported != Some(Verdict::Unknown);
        self.reported = Some(Verdict::Unknown);
        let reported = news.then(|| Event::Residency(MemoryPlace::unknown(reason)));
        reported.into_iter().collect()
    }

    /// Measures where the memory lies, now.
    fn probe(&mut self, it: u32, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let rates = match self.forced(it) {
            Some(rates) => Some(rates),
            None => ctx.trainer.probe()?,
        };
        let events = match rates {
            Some(rates) => self.probed(it, &rates),
            None => self.unprobed(it),
        };
        self.tell(it, events, ctx);
        Ok(())
    }

    /// Reports events; a spill may end the run.
    fn tell(&self, it: u32, events: impl IntoIterator<Item = Event>, ctx: &mut Context<'_>) {
        for event in events {
            if self.policy == OnSpill::Error
                && let Event::Spill(evidence) = &event
            {
                ctx.end(RunError::Spilled {
                    iteration: it,
                    evidence: evidence.clone(),
                    saved: false,
                });
            }
            ctx.tell(it, event);
        }
    }
}

impl Watch for Guard {
    fn start(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        self.probe(ctx.trainer.iteration(), ctx)
    }

    fn before(&mut self, next: u32, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let densifies = schedule::events_at(ctx.profile, next).densify;
        if densifies || next.is_multiple_of(POLL_EVERY) {
            let (events, change) = self.poll(next);
            match change {
                Some(Change::Growth(on)) => ctx.trainer.hold_growth(!on),
                Some(Change::Bands(bands, _)) => ctx.trainer.press_bands(bands)?,
                Some(Change::Prefetch(on)) => ctx.orders.prefetch = on,
                None => {}
            }
            self.tell(next, events, ctx);
        }
        let done = next.saturating_sub(1);
        if done > 0 && self.is_probe_due(done) {
            match self.forced(done) {
                Some(_) => self.probe(done, ctx)?,
                None => ctx.trainer.begin_probe()?,
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let it = step.iteration;
        let banded = ctx.trainer.banded_steps();
        let in_bands = std::mem::replace(&mut self.banded, banded) != banded;
        let resized = it > 0 && schedule::events_at(ctx.profile, it - 1).densify;
        let slow = self.slow_step(it, ctx.t_s, !in_bands && !resized);
        self.tell(it, slow, ctx);
        let Some(rates) = ctx.trainer.take_probe()? else {
            return Ok(());
        };
        if self.is_suspicious(it, &rates) {
            // A device that somebody else uses too is slow now and then; one that lost memory is slow every time.
            return self.probe(it, ctx);
        }
        let events = self.probed(it, &rates);
        self.tell(it, events, ctx);
        Ok(())
    }
}

/// Why a probe on such a device says nothing; none when it does.
fn unknown(caps: &Caps) -> Option<&'static str> {
    if caps.kind == DeviceKind::Cpu {
        Some("a CPU driver's memory is that of the host")
    } else if caps.shares_host_memory() {
        Some("device and host share their memory")
    } else if !source::has_clock(caps) {
        Some("the device has no clock")
    } else {
        None
    }
}
