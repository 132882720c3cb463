//! Memory that grows where all of it should have been taken at the start, as opposed to noise and to single steps.
//!
//! Two figures are watched: device memory that the driver counts for the process, and the memory of the process that is resident. Both are
//! from outside of the engine's own ledger, which cannot know of what leaks beside it.

use std::fmt;

use super::events::MemoryRow;

/// Least samples that are judged.
const LEAST: usize = 16;
/// Most samples that are kept: of more, every other one goes.
const MOST: usize = 512;
/// Growth over a whole run that matters, bytes;
const MATTERS_BYTES: f64 = 256.0 * MIB;
/// and as a share of what there is.
const MATTERS_SHARE: f64 = 0.05;
/// Least growth over the judged samples, bytes: drivers and allocators move a little at all times.
const LEAST_GROWTH: f64 = 8.0 * MIB;
/// How many times the scatter of the samples their growth must be.
const OVER_SCATTER: f64 = 4.0;
/// Share of the growth that each half of the judged samples must have: a single step is no creep.
const EACH_HALF: f64 = 0.25;
/// Host memory that a Gaussian or a triangle may take in passing, bytes: a checkpoint, a model that is written.
const BYTES_PER_PLACE: u64 = 1024;
const MIB: f64 = (1 << 20) as f64;

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Device memory, as the driver counts it for this process.
    Device,
    /// Resident memory of this process.
    Process,
}

/// Memory that grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Creep {
    owner: Owner,
    /// Iterations it was seen over.
    between: [u32; 2],
    /// Growth over these, bytes.
    grown: f64,
    /// Growth over the whole run at this rate, bytes.
    by_end: f64,
}

impl Creep {
    /// Whose memory it is.
    pub(crate) const fn owner(&self) -> Owner {
        self.owner
    }
}

impl fmt::Display for Creep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = self.between;
        let (what, advice) = match self.owner {
            Owner::Device => (
                "device memory in use by the driver's count",
                "all of it is planned at the start, so the driver or another user of the device in this process takes it",
            ),
            Owner::Process => (
                "resident memory of the process",
                "`--resume` in a new process gives it back; please report this run",
            ),
        };
        write!(
            f,
            "{what} grew by {:.0} MiB from iteration {from} to {to}, {:.0} MiB over the whole run at this rate; {advice}",
            self.grown / MIB,
            self.by_end / MIB
        )
    }
}

/// What is known of both figures of a process so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreepWatch {
    /// Iteration of the first row.
    first: Option<u32>,
    /// Steps after it that decode photos for the first time, whose memory is no creep.
    warm_up: u32,
    /// Most Gaussians or triangles so far.
    places: u64,
    device: Vec<(u32, u64)>,
    process: Vec<(u32, u64)>,
}

impl CreepWatch {
    /// For a run with `views` training views.
    pub(crate) fn new(views: u32) -> Self {
        Self {
            warm_up: views,
            ..Self::default()
        }
    }

    /// Takes a row.
    pub(crate) fn take(&mut self, row: &MemoryRow) {
        let first = *self.first.get_or_insert(row.it);
        self.places = self.places.max(row.places_used.unwrap_or(0));
        if row.it < first.saturating_add(self.warm_up) {
            return;
        }
        let explained = self.places * BYTES_PER_PLACE;
        let process = row.process_resident.map(|bytes| bytes.saturating_sub(explained));
        for (samples, bytes) in [(&mut self.device, row.heap_usage), (&mut self.process, process)] {
            samples.extend(bytes.map(|bytes| (row.it, bytes)));
            if samples.len() > MOST {
                let mut odd = false;
                samples.retain(|_| {
                    odd = !odd;
                    odd
                });
            }
        }
    }

    /// What grows so that it matters by the end of a run of `iterations`.
    pub(crate) fn found(&self, iterations: u32) -> Vec<Creep> {
        let of = |owner, samples| of_samples(owner, samples, iterations);
        let both = [of(Owner::Device, &self.device), of(Owner::Process, &self.process)];
        both.into_iter().flatten().collect()
    }
}

/// Judges the later half of `samples`: what a process takes in the beginning is often no more than caches that fill.
fn of_samples(owner: Owner, samples: &[(u32, u64)], iterations: u32) -> Option<Creep> {
    let later = samples.get(samples.len() / 2..).filter(|_| samples.len() >= LEAST)?;
    let third = later.len() / 3;
    let parts = [0, third, later.len() - third].map(|from| later.get(from..from + third).unwrap_or_default());
    let levels = parts.map(|part| median(part.iter().map(|(_, bytes)| *bytes as f64).collect()));
    let grown = levels[2] - levels[0];
    let [from, to] = [parts[0], parts[2]].map(|part| part.get(part.len() / 2).map_or(0, |(it, _)| *it));
    let scatter = parts.iter().zip(levels).flat_map(|(part, level)| {
        let slope = grown / f64::from(to.saturating_sub(from).max(1));
        let middle = f64::from(part.get(part.len() / 2).map_or(0, |(it, _)| *it));
        part.iter()
            .map(move |(it, bytes)| (*bytes as f64 - level - slope * (f64::from(*it) - middle)).abs())
    });
    let scatter = median(scatter.collect());
    let halves = [levels[1] - levels[0], levels[2] - levels[1]];
    let by_end = grown / f64::from(to.saturating_sub(from).max(1)) * f64::from(iterations);
    let is_trend =
        grown >= LEAST_GROWTH.max(OVER_SCATTER * scatter) && halves.iter().all(|half| *half >= EACH_HALF * grown);
    let matters = by_end >= MATTERS_BYTES.max(MATTERS_SHARE * levels[0]);
    (is_trend && matters).then_some(Creep {
        owner,
        between: [from, to],
        grown,
        by_end,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Rows of a run of 30 000 iterations, one every hundred, up to `to`, with figures by row number.
    fn watch(to: u32, figures: impl Fn(u64) -> [u64; 2]) -> Vec<String> {
        let mut watch = CreepWatch::new(200);
        for number in 0..u64::from(to / 100) {
            let [heap, resident] = figures(number);
            watch.take(&MemoryRow {
                it: 100 * u32::try_from(number).unwrap_or(0) + 1,
                heap_usage: Some(heap),
                process_resident: Some(resident),
                places_used: Some(100_000),
                ..MemoryRow::default()
            });
        }
        watch.found(30_000).iter().map(Creep::to_string).collect()
    }

    /// Noise of `amplitude` bytes around 0.
    fn noise(number: u64, amplitude: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % amplitude
    }

    #[test]
    fn both_figures_are_named_when_they_climb() {
        let mib = 1 << 20;
        let found = watch(30_000, |n| [5 * GIB + n * mib, GIB + 3 * n * mib + noise(n, 40 * mib)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("device memory in use by the driver's count grew by "),
            "{found:?}"
        );
        assert!(found[0].contains("300 MiB over the whole run"), "{found:?}");
        assert!(
            found[1].starts_with("resident memory of the process grew by "),
            "{found:?}"
        );
        // Long before the end.
        assert_eq!(watch(3_000, |n| [5 * GIB + 2 * n * mib, 2 * GIB]).len(), 1);
    }

    #[test]
    fn noise_steps_caches_and_larger_models_are_no_creep() {
        let mib = 1 << 20;
        assert!(
            watch(30_000, |n| [
                5 * GIB + noise(n, 200 * mib),
                GIB + noise(n + 7, 700 * mib)
            ])
            .is_empty()
        );
        for at in [40, 155, 170, 200, 225, 250, 290] {
            let step = |n: u64| if n < at { 0 } else { 900 * mib };
            assert_eq!(watch(30_000, |n| [5 * GIB + step(n), GIB + step(n)]), [""; 0], "{at}");
        }
        // A cache that fills in the first third.
        assert!(watch(30_000, |n| [5 * GIB, GIB + 20 * n.min(100) * mib]).is_empty());
        // Too little to matter: 20 MiB over the run.
        assert!(watch(30_000, |n| [5 * GIB + n * mib / 15, GIB]).is_empty());
        assert!(
            watch(1_000, |n| [5 * GIB + 9 * n * mib, GIB]).is_empty(),
            "too early to say"
        );
    }

    #[test]
    fn figures_that_nobody_has_say_nothing() {
        let mut watch = CreepWatch::new(0);
        for it in 0..1000 {
            watch.take(&MemoryRow {
                it,
                ..MemoryRow::default()
            });
        }
        assert!(watch.found(1000).is_empty());
        // What a larger model takes of the host in passing is its own business.
        let mut watch = CreepWatch::new(0);
        for it in 0..600_u32 {
            let places = 10_000 * u64::from(it);
            watch.take(&MemoryRow {
                it: 100 * it,
                process_resident: Some(GIB + 600 * places),
                places_used: Some(places),
                ..MemoryRow::default()
            });
        }
        assert!(watch.found(60_000).is_empty());
    }
}
