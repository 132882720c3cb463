//! How busy the machine is: memory and processor shares for the progress line.
//!
//! Read from `/proc` on Linux; elsewhere, and where `/proc` says nothing, the shares are absent.

use std::path::Path;
use std::time::Duration;

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Shares are sampled at most this often: processor ticks are coarse.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Memory and processor use of the whole machine, percent.
#[derive(Clone, Debug, Default)]
pub struct HostLoad {
    /// Memory that is not available, percent of all.
    pub memory_percent: Option<u32>,
    /// Processor time that was not idle since the sample before, percent of all cores.
    pub cpu_percent: Option<u32>,
    ticks: Option<Ticks>,
    sampled: Option<Duration>,
}

/// Processor time since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl HostLoad {
    /// Samples again when the last sample is a second old.
    pub fn refresh(&mut self, now: Duration) {
        if self
            .sampled
            .is_some_and(|sampled| now.saturating_sub(sampled) < SAMPLE_EVERY)
        {
            return;
        }
        self.sampled = Some(now);
        let read = |path: &str| kiln_files::read_text(Path::new(path), MOST_BYTES).unwrap_or_default();
        self.update(&read("/proc/meminfo"), &read("/proc/stat"));
    }

    /// Shares that no sample replaces.
    #[cfg(test)]
    pub(super) fn fixed(memory_percent: u32, cpu_percent: u32) -> Self {
        Self {
            memory_percent: Some(memory_percent),
            cpu_percent: Some(cpu_percent),
            ticks: None,
            sampled: Some(Duration::MAX),
        }
    }

    fn update(&mut self, meminfo: &str, stat: &str) {
        self.memory_percent = memory_percent(meminfo);
        let ticks = ticks(stat);
        self.cpu_percent = match (self.ticks, ticks) {
            (Some(before), Some(after)) => {
                let all = after.all.saturating_sub(before.all);
                percent(after.busy.saturating_sub(before.busy), all).or(self.cpu_percent)
            }
            _ => None,
        };
        self.ticks = ticks;
    }
}

fn percent(part: u64, all: u64) -> Option<u32> {
    let share = part.min(all).checked_mul(100)?.checked_add(all / 2)?.checked_div(all)?;
    u32::try_from(share).ok()
}

/// From the lines `MemTotal: N kB` and `MemAvailable: N kB`.
fn memory_percent(meminfo: &str) -> Option<u32> {
    let kib = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    let (total, available) = (kib("MemTotal:")?, kib("MemAvailable:")?);
    percent(total.saturating_sub(available), total)
}

/// From the line `cpu user nice system idle iowait irq softirq steal ...`; what follows is contained in `user`.
fn ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let idle = fields.get(3)? + fields.get(4).unwrap_or(&0);
    let all: u64 = fields.iter().sum();
    Some(Ticks {
        busy: all.saturating_sub(idle),
        all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str =
        "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:   10560000 kB\nBuffers: 5 kB\n";

    #[test]
    fn shares_are_read() {
        let mut load = HostLoad::default();
        load.update(MEMINFO, "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n");
        assert_eq!((load.memory_percent, load.cpu_percent), (Some(34), None));
        load.update(MEMINFO, "cpu  110 0 104 780 106 0 0 0 50 0\n");
        assert_eq!(load.cpu_percent, Some(14));
        // no tick passed: the old value stays
        load.update(MEMINFO, "cpu  110 0 104 780 106 0 0 0 50 0\n");
        assert_eq!(load.cpu_percent, Some(14));
    }

    #[test]
    fn absent_or_odd_files_give_nothing() {
        let mut load = HostLoad::default();
        for (meminfo, stat) in [
            ("", ""),
            ("MemTotal: x kB", "cpu  1 2"),
            ("MemTotal: 0 kB\nMemAvailable: 0 kB", "cpu a"),
        ] {
            load.update(meminfo, stat);
            assert_eq!((load.memory_percent, load.cpu_percent), (None, None));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_answers() {
        let mut load = HostLoad::default();
        load.refresh(Duration::ZERO);
        assert!(load.memory_percent.is_some_and(|percent| percent <= 100));
        load.memory_percent = None;
        load.refresh(Duration::from_millis(500));
        assert_eq!(load.memory_percent, None);
    }
}
