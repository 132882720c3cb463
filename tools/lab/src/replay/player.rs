//! Runs a trace on an allocator over a simulated heap, without a device.
//!
//! All allocators get the same heap and the same tensors, in one of two streams of requests ([`Demand`]):
//!
//! - of capacities: every allocator gets the very same requests, each tensor with the bytes that the plan has for it. The
//!   model is allocated once, a step's tensors at their first use, and they are freed after their last. Only how they are
//!   packed distinguishes allocators.
//! - of counts: each does what a trainer with it would. `planned` knows the plan and
//!   takes capacities, once. With the others the model is reallocated when the number of Gaussians changes,
//!   and a step's tensors have the size that its counts ask for.
//!
//! Tensors that pass between the programs of one step are freed and allocated again between them, which is in the favour
//! of all allocators but `planned`.

use std::time::Instant;

use kiln_gpu::memory::{BlockRounding, GIB, Plan, PlanLimits};
use kiln_program::{ALIGNMENT, Class, Program, TensorTable};

use crate::allocators::{
    Allocator, AllocatorKind, DriverStats, Fragmentation, Handle, Planned, Refused, Request, SimulatedDriver, Tlsf,
    open_library,
};
use crate::trace::{Counts, Happening, Section, TraceError};

/// Sizes of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Every tensor as it was planned, for all allocators.
    Capacities,
    /// As the counts of the moment ask for, except of allocators that go by the plan.
    Counts,
}

/// Circumstances of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Bytes of the heap.
    pub(crate) heap_bytes: u64,
    /// Block policy of `tlsf`.
    pub(crate) fragmentation: Fragmentation,
    /// All sizes that follow counts times this.
    pub(crate) scale: u64,
    /// What a driver call takes, nanoseconds, on top of the allocator's own time.
    pub(crate) call_ns: u64,
    /// What is asked for.
    pub(crate) demand: Demand,
}

/// Times of single requests, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// Half of them took at most this.
    pub(crate) p50: u64,
    /// 99 of 100 took at most this.
    pub(crate) p99: u64,
    /// The slowest.
    pub(crate) max: u64,
}

/// What an allocator made of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The request that found no room, and the iteration it came at; the replay ends with it.
    pub(crate) refused: Option<(u32, Refused)>,
    /// What the driver was asked for.
    pub(crate) driver: DriverStats,
    /// Worst share of the free bytes that the largest request could not have used, 0 to 1.
    pub(crate) fragmentation: f64,
    /// Bytes copied because a tensor grew or shrank.
    pub(crate) copied_bytes: u64,
    /// Bytes moved by compaction.
    pub(crate) moved_bytes: u64,
    /// Seconds that compaction took to decide.
    pub(crate) tending_s: f64,
    /// Requests: allocations, frees, changes of size.
    pub(crate) requests: u64,
    /// Their times.
    pub(crate) latency: Latency,
}

/// Most bytes that were in use at once, whatever the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    /// With every tensor as large as the counts of the moment ask for.
    pub(crate) current_bytes: u64,
    /// With every tensor as large as it was planned.
    pub(crate) capacity_bytes: u64,
}

/// The runs of the happenings, with their counts, in order.
fn runs(section: &Section) -> impl Iterator<Item = (u32, Counts, &[u32])> {
    let mut counts = Counts {
        gaussians: section.start.gaussians,
        ..Counts::default()
    };
    section.happenings.iter().map(move |happening| match happening {
        Happening::Step(step) => {
            counts = Counts {
                gaussians: step.n,
                visible: step.v,
                intersections: step.i,
                pixels: step.px,
            };
            (step.it, counts, &step.runs[..])
        }
        Happening::Work(work) => {
            counts.pixels = work.px;
            (work.it, counts, &work.runs[..])
        }
        Happening::Topology(topology) => {
            counts.gaussians = topology.n;
            (topology.it, counts, &[][..])
        }
    })
}

/// Most bytes in use at once in `sections`, with sizes times `scale`.
pub(crate) fn live(sections: &[Section], scale: u64) -> Live {
    let mut most = Live::default();
    for section in sections.iter().map(|section| section.scaled(scale)) {
        let capacity = section.sizes(&section.capacity());
        for (_, counts, list) in runs(&section) {
            let sizes = section.sizes(&counts);
            for run in list {
                most.current_bytes = most.current_bytes.max(section.live_bytes(&sizes, *run));
                most.capacity_bytes = most.capacity_bytes.max(section.live_bytes(&capacity, *run));
            }
        }
    }
    most
}

/// Runs all processes of a trace, one after the other, each on an empty heap. None when the allocator is not built in.
///
/// # Errors
/// [`TraceError`] when the tensors cannot be placed at all.
pub(crate) fn replay(
    sections: &[Section],
    kind: AllocatorKind,
    options: &Options,
) -> Result<Option<Outcome>, TraceError> {
    let mut times = Vec::new();
    let mut total: Option<Outcome> = None;
    for section in sections {
        let section = section.scaled(options.scale);
        let Some(outcome) = replay_section(&section, kind, options, &mut times)? else {
            return Ok(None);
        };
        total = Some(total.map_or(outcome, |sum| sum.and(&outcome)));
    }
    times.sort_unstable();
    let at = |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
    let latency = Latency {
        p50: at(0.5).copied().unwrap_or(0),
        p99: at(0.99).copied().unwrap_or(0),
        max: times.last().copied().unwrap_or(0),
    };
    Ok(total.map(|outcome| Outcome { latency, ..outcome }))
}

/// Smallest heap, in steps of 1/512 of `high_bytes`, on which the trace completes; none when not even `high_bytes` does.
///
/// # Errors
/// See [`replay`].
pub(crate) fn smallest_heap(
    sections: &[Section],
    kind: AllocatorKind,
    options: &Options,
    high_bytes: u64,
) -> Result<Option<u64>, TraceError> {
    const STEPS: u64 = 512;
    let completes = |steps: u64| -> Result<bool, TraceError> {
        let options = Options {
            heap_bytes: (u128::from(high_bytes) * u128::from(steps) / u128::from(STEPS)) as u64,
            ..*options
        };
        let outcome = replay(sections, kind, &options)?;
        Ok(outcome.is_some_and(|outcome| outcome.refused.is_none()))
    };
    if !completes(STEPS)? {
        return Ok(None);
    }
    let (mut low, mut high) = (0, STEPS);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if completes(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(
        (u128::from(high_bytes) * u128::from(high) / u128::from(STEPS)) as u64,
    ))
}

impl Outcome {
    fn and(self, later: &Self) -> Self {
        let (a, b) = (self.driver, later.driver);
        Self {
            refused: self.refused.or(later.refused),
            driver: DriverStats {
                calls: a.calls + b.calls,
                reserved_bytes: b.reserved_bytes,
                peak_reserved_bytes: a.peak_reserved_bytes.max(b.peak_reserved_bytes),
                refused: a.refused + b.refused,
            },
            fragmentation: self.fragmentation.max(later.fragmentation),
            copied_bytes: self.copied_bytes + later.copied_bytes,
            moved_bytes: self.moved_bytes + later.moved_bytes,
            tending_s: self.tending_s + later.tending_s,
            requests: self.requests + later.requests,
            latency: self.latency,
        }
    }
}

/// Block limits of a replay: the trace's rounding, blocks of at most 1 GiB.
fn limits(section: &Section) -> PlanLimits {
    let rounding = BlockRounding {
        extra_bytes: section.start.extra_bytes,
        granularity_bytes: section.start.granularity_bytes.max(1),
    };
    PlanLimits {
        block_bytes: GIB,
        binding_bytes: u64::MAX,
        rounding,
    }
}

fn replay_section(
    section: &Section,
    kind: AllocatorKind,
    options: &Options,
    times: &mut Vec<u64>,
) -> Result<Option<Outcome>, TraceError> {
    let limits = limits(section);
    let mut driver = SimulatedDriver::new(options.heap_bytes, u64::MAX, limits.rounding);
    let (table, views) = section.table();
    let scripts = section.scripts(&views);
    let programs: Vec<&Program> = scripts.iter().collect();
    let start = Instant::now();
    let opened: Result<Box<dyn Allocator>, Refused> = match kind {
        AllocatorKind::Planned => {
            let plan = Plan::new(&table, &programs, limits)?;
            Planned::commit(&mut driver, &table, &plan).map(|planned| Box::new(planned) as _)
        }
        AllocatorKind::Tlsf => Ok(Box::new(Tlsf::new(
            driver.clone(),
            options.fragmentation.policy(),
            ALIGNMENT,
        ))),
        AllocatorKind::GpuAllocator | AllocatorKind::Vma => match open_library(kind, &driver) {
            Some(allocator) => Ok(allocator),
            None => return Ok(None),
        },
    };
    times.push(nanoseconds(start) + driver.stats().calls * options.call_ns);
    let outcome = match opened {
        Ok(allocator) => {
            let mut player = Player::new(section, &table, allocator, driver.clone(), options, times);
            let refused = player.play().err();
            player.outcome(refused)
        }
        Err(refused) => Outcome {
            refused: Some((section.start.it, refused)),
            ..Outcome::nothing(driver.stats())
        },
    };
    Ok(Some(outcome))
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Outcome {
    const fn nothing(driver: DriverStats) -> Self {
        Self {
            refused: None,
            driver,
            fragmentation: 0.0,
            copied_bytes: 0,
            moved_bytes: 0,
            tending_s: 0.0,
            requests: 0,
            latency: Latency { p50: 0, p99: 0, max: 0 },
        }
    }
}

struct Player<'a> {
    section: &'a Section,
    table: &'a TensorTable,
    allocator: Box<dyn Allocator>,
    driver: SimulatedDriver,
    options: &'a Options,
    times: &'a mut Vec<u64>,
    /// Per program: tensor numbers in the order of allocation (true) and release.
    scripts: Vec<Vec<(usize, bool)>>,
    handles: Vec<Option<Handle>>,
    outcome: Outcome,
}

impl<'a> Player<'a> {
    fn new(
        section: &'a Section,
        table: &'a TensorTable,
        allocator: Box<dyn Allocator>,
        driver: SimulatedDriver,
        options: &'a Options,
        times: &'a mut Vec<u64>,
    ) -> Self {
        let script = |arena: &[(usize, usize, usize)]| {
            // What a command needs is there before it, and what it used last goes after it.
            let mut events: Vec<(usize, bool, usize)> = Vec::new();
            for (tensor, first, last) in arena {
                events.push((2 * first, true, *tensor));
                events.push((2 * last + 1, false, *tensor));
            }
            events.sort_by_key(|(at, _, tensor)| (*at, *tensor));
            events.into_iter().map(|(_, begins, tensor)| (tensor, begins)).collect()
        };
        Self {
            section,
            table,
            scripts: section.programs.iter().map(|p| script(&p.arena)).collect(),
            handles: vec![None; table.tensors().len()],
            outcome: Outcome::nothing(driver.stats()),
            allocator,
            driver,
            options,
            times,
        }
    }

    fn outcome(mut self, refused: Option<(u32, Refused)>) -> Outcome {
        self.outcome.refused = refused;
        self.outcome.driver = self.driver.stats();
        self.outcome
    }

    /// Passes the time of a request on and looks at the worst moment.
    fn timed<T>(&mut self, request: impl FnOnce(&mut dyn Allocator) -> T) -> T {
        let calls = self.driver.stats().calls;
        let start = Instant::now();
        let result = request(self.allocator.as_mut());
        let ns = nanoseconds(start);
        let calls = self.driver.stats().calls - calls;
        self.times.push(ns + calls * self.options.call_ns);
        self.outcome.requests += 1;
        if calls > 0 {
            self.look();
        }
        result
    }

    fn look(&mut self) {
        let now = self.allocator.free_space().fragmentation();
        self.outcome.fragmentation = self.outcome.fragmentation.max(now);
    }

    /// What to ask for tensor `index`: all of it where the demand is of capacities, or the allocator goes by the plan.
    fn request(&self, index: usize, counts: &Counts) -> Option<Request<'a>> {
        let (desc, line) = (self.table.tensors().get(index)?, self.section.tensors.get(index)?);
        let by_plan = self.allocator.kind() == AllocatorKind::Planned;
        if by_plan || self.options.demand == Demand::Capacities {
            return Some(Request::whole(index, desc));
        }
        Some(Request {
            tensor: index,
            desc,
            bytes: line.bytes_for(counts).min(desc.bytes),
        })
    }

    fn allocate(&mut self, it: u32, index: usize, counts: &Counts) -> Result<(), (u32, Refused)> {
        let Some(request) = self.request(index, counts) else {
            return Ok(());
        };
        let handle = self
            .timed(|allocator| allocator.allocate(&request))
            .map_err(|r| (it, r))?;
        if let Some(entry) = self.handles.get_mut(index) {
            *entry = Some(handle);
        }
        Ok(())
    }

    fn play(&mut self) -> Result<(), (u32, Refused)> {
        let section = self.section;
        let start = &section.start;
        let mut gaussians = start.gaussians;
        let first = Counts {
            gaussians,
            ..section.capacity()
        };
        let lasting = |class| matches!(class, Class::Persistent | Class::Images | Class::Small);
        let owned: Vec<usize> = (0..)
            .zip(&section.tensors)
            .filter(|(_, t)| lasting(t.class))
            .map(|(i, _)| i)
            .collect();
        for index in &owned {
            self.allocate(start.it, *index, &first)?;
        }
        for (it, counts, list) in runs(section) {
            let changed = counts.gaussians != gaussians;
            if changed && self.options.demand == Demand::Counts {
                gaussians = counts.gaussians;
                self.resize_model(it, &owned, &counts)?;
            }
            for run in list {
                self.run(it, *run, &counts)?;
            }
            let began = Instant::now();
            self.outcome.moved_bytes += self.allocator.tend(it, changed);
            self.outcome.tending_s += began.elapsed().as_secs_f64();
            self.look();
        }
        Ok(())
    }

    fn resize_model(&mut self, it: u32, owned: &[usize], counts: &Counts) -> Result<(), (u32, Refused)> {
        for index in owned {
            let is_model = self
                .section
                .tensors
                .get(*index)
                .is_some_and(|t| t.class == Class::Persistent);
            let handle = self.handles.get(*index).copied().flatten();
            let (true, Some(handle), Some(request)) = (is_model, handle, self.request(*index, counts)) else {
                continue;
            };
            let resized = self
                .timed(|allocator| allocator.resize(handle, &request))
                .map_err(|r| (it, r))?;
            self.outcome.copied_bytes += resized.copied_bytes;
            if let Some(entry) = self.handles.get_mut(*index) {
                *entry = Some(resized.handle);
            }
        }
        Ok(())
    }

    fn run(&mut self, it: u32, run: u32, counts: &Counts) -> Result<(), (u32, Refused)> {
        // By number, because a request needs all of `self`.
        let length = self.scripts.get(run as usize).map_or(0, Vec::len);
        for at in 0..length {
            let Some((tensor, begins)) = self.scripts.get(run as usize).and_then(|s| s.get(at)).copied() else {
                break;
            };
            if begins {
                self.allocate(it, tensor, counts)?;
            } else if let Some(handle) = self.handles.get_mut(tensor).and_then(Option::take) {
                self.timed(|allocator| allocator.free(handle));
            }
        }
        Ok(())
    }
}
