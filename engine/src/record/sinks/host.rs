//! How busy the machine is: memory and processor shares for the progress line, absent where the system does not say.

use std::time::Duration;

use kiln_system::{Memory, Ticks};

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
        self.update(kiln_system::memory(), kiln_system::processor_ticks());
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

    fn update(&mut self, memory: Option<Memory>, ticks: Option<Ticks>) {
        let used = |memory: Memory| percent(memory.total.saturating_sub(memory.available), memory.total);
        self.memory_percent = memory.and_then(used);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_whole() {
        let memory = Some(Memory {
            total: 16_000,
            available: 10_560,
        });
        let ticks = |busy, all| Some(Ticks { busy, all });
        let mut load = HostLoad::default();
        load.update(memory, ticks(200, 1000));
        assert_eq!((load.memory_percent, load.cpu_percent), (Some(34), None));
        load.update(memory, ticks(214, 1100));
        assert_eq!(load.cpu_percent, Some(14));
        // no tick passed: the old value stays
        load.update(memory, ticks(214, 1100));
        assert_eq!(load.cpu_percent, Some(14));
        load.update(None, None);
        assert_eq!((load.memory_percent, load.cpu_percent), (None, None));
        load.update(Some(Memory { total: 0, available: 0 }), None);
        assert_eq!(load.memory_percent, None);
    }

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
