//! Watches over the memory that a run was given: whether the driver still grants it, and whether it still is where it was
//! put.
//!
//! | evidence | comes from | leads to |
//! |---|---|---|
//! | the budget shrank, or the process is above it | the driver's figures, every 50 steps and before each densification | `budget_shrunk`, and responses to pressure: see [`pressure`] |
//! | host memory of the process rose, or device memory beyond what was asked for | the same figures | `spill` |
//! | a block is read as slowly as over a bus | the residency probe, at the start and every 1000 steps: see [`probe`] | `residency`, `spill` |
//! | twenty steps in a row take three times as long as usual | the clock: see [`watchdog`] | `slow_step` |
//!
//! Times lead to events, and under `memory.on_spill: error` to the end of the run; only the driver's figures change what a
//! run does next. So a busy machine never changes a model.

mod pressure;
mod source;
mod spill;
mod watchdog;

use crate::config::{OnSpill, Profile};
use crate::vk::{Caps, DeviceKind};

pub use source::device_budget;

use crate::record::{Residency, Verdict};
use crate::train::Rates;
pub(super) use pressure::Change;

use crate::plan::OpenDevice;
use crate::record::events::Event;
use pressure::Pressure;
use source::BudgetSource;
use spill::SpillWatch;
use watchdog::Watchdog;

/// Steps between two looks at the driver's figures.
const POLL_EVERY: u32 = 50;
/// Steps between two measurements of where the memory lies.
const PROBE_EVERY: u32 = 1000;

/// What a look at the driver's figures led to.
#[derive(Default)]
pub(super) struct Polled {
    /// To be told.
    pub(super) events: Vec<Event>,
    /// To be done from the next step on.
    pub(super) change: Option<Change>,
}

/// The guard of one run.
pub(super) struct Guard {
    source: Option<Box<dyn BudgetSource>>,
    spill: SpillWatch,
    /// From the first figures after the memory was taken.
    pressure: Option<Pressure>,
    /// None where times say nothing of memory.
    watchdog: Option<Watchdog>,
    probe_every: u32,
    spill_from: Option<u32>,
    /// Why a probe can say nothing here.
    unknown: Option<&'static str>,
    told: Option<Verdict>,
    /// Best rate of the reference so far, GB/s.
    best_reference: f64,
    policy: OnSpill,
    prefetch: bool,
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
            watchdog: (caps.kind != DeviceKind::Cpu).then(Watchdog::default),
            probe_every: faults.probe_every.unwrap_or(PROBE_EVERY),
            spill_from: faults.spill_from,
            unknown: unknown(caps),
            told: None,
            best_reference: 0.0,
            policy: profile.memory.on_spill,
            prefetch: true,
        }
    }

    /// Notes that the memory is taken: `device_bytes` on the device, `host_bytes` for rings of the host.
    pub(super) fn committed(&mut self, it: u32, device_bytes: u64, host_bytes: u64) {
        self.spill.committed(device_bytes, host_bytes);
        let start = self.source.as_ref().and_then(|source| source.read(it));
        self.pressure = start.map(Pressure::new);
    }

    /// True when the driver is to be asked before iteration `it`.
    pub(super) fn is_poll_due(&self, it: u32, densifies: bool) -> bool {
        self.source.is_some() && (densifies || it.is_multiple_of(POLL_EVERY))
    }

    /// Asks the driver, before iteration `it`.
    pub(super) fn poll(&mut self, it: u32) -> Polled {
        let mut polled = Polled::default();
        let figures = self.source.as_ref().and_then(|source| source.read(it));
        let (Some(figures), Some(pressure)) = (figures, &mut self.pressure) else {
            return polled;
        };
        polled.events.extend(pressure.shrunk(&figures));
        polled
            .events
            .extend(self.spill.look(&figures).into_iter().map(Event::Spill));
        polled.change = pressure.poll(&figures);
        if let Some(Change::Prefetch(on)) = polled.change {
            self.prefetch = on;
        }
        let told = polled.change.map(|change| Event::Pressure(change.told(&figures)));
        polled.events.extend(told);
        polled
    }

    /// True while images may be decoded ahead of time.
    pub(super) fn prefetches(&self) -> bool {
        self.prefetch
    }

    /// Takes the time at which a step was over, seconds of the training loop. `steady` is false for a step after which
    /// others may well take longer: it densified, or ran in bands.
    pub(super) fn step(&mut self, it: u32, t_s: f64, steady: bool) -> Option<Event> {
        let (ms, usual_ms) = self.watchdog.as_mut()?.step(it, t_s, steady)?;
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds for people")]
        Some(Event::SlowStep {
            ms: ms as f32,
            usual_ms: usual_ms as f32,
        })
    }

    /// Why nothing can be said of where the memory lies; none where a probe can tell.
    fn unknown(&self, it: u32) -> Option<&'static str> {
        self.unknown.filter(|_| !self.is_forced(it))
    }

    /// True when iteration `it` is to be followed by a probe.
    pub(super) fn is_probe_due(&self, it: u32) -> bool {
        self.probe_every > 0 && it.is_multiple_of(self.probe_every)
    }

    fn is_forced(&self, it: u32) -> bool {
        self.spill_from.is_some_and(|from| it >= from)
    }

    /// Rates that the fault `spill_from` makes up.
    pub(super) fn forced(&self, it: u32) -> Option<Rates> {
        self.is_forced(it).then(Rates::spilled_example)
    }

    /// True when rates measured after iteration `it` are to be measured again before they are believed.
    pub(super) fn is_suspicious(&self, it: u32, rates: &Rates) -> bool {
        self.unknown(it).is_none() && rates.evidence().is_some()
    }

    /// Takes rates measured after iteration `it`: what there is to tell of them. A verdict is told when it is new.
    pub(super) fn probed(&mut self, it: u32, rates: &Rates) -> Vec<Event> {
        self.best_reference = self.best_reference.max(rates.reference_gb_s);
        let mut residency = rates.residency(self.best_reference);
        if let Some(reason) = self.unknown(it) {
            (residency.verdict, residency.reason) = (Verdict::Unknown, Some(reason.to_owned()));
        }
        let mut events = Vec::new();
        if self.told == Some(residency.verdict) {
            return events;
        }
        self.told = Some(residency.verdict);
        let spilled = residency.verdict == Verdict::Spilled;
        events.push(Event::Residency(residency));
        if spilled {
            events.extend(rates.evidence().map(Event::Spill));
        }
        events
    }

    /// What there is to tell after iteration `it` where the plan has no reference.
    pub(super) fn unprobed(&mut self, it: u32) -> Vec<Event> {
        let reason = self.unknown(it).unwrap_or("the plan has no reference");
        let news = self.told != Some(Verdict::Unknown);
        self.told = Some(Verdict::Unknown);
        let told = news.then(|| Event::Residency(Residency::unknown(reason)));
        told.into_iter().collect()
    }

    /// True when a spill ends the run.
    pub(super) fn ends_the_run(&self, event: &Event) -> bool {
        self.policy == OnSpill::Error && matches!(event, Event::Spill(_))
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
