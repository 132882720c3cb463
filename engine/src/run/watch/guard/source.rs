//! Where memory figures come from: the driver, or a table that stands in for it.

use std::sync::Arc;

use crate::plan::{BudgetFault, OpenDevice, REFERENCE_BYTES};
use kiln_config::Profile;
use kiln_gpu::memory::{Budget, MIB};
use kiln_gpu::vk::{Caps, Device, DeviceKind};

/// What a driver says of a process's memory, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeapFigures {
    /// Device memory it may use, what it holds included.
    pub(super) budget: u64,
    /// Device memory it uses.
    pub(super) usage: u64,
    /// Host memory the device uses for it, where the driver says.
    pub(super) host_usage: Option<u64>,
    /// The same as the system counts it, where it does.
    pub(super) shared_usage: Option<u64>,
}

/// Somebody who knows the figures.
pub(super) trait BudgetSource {
    /// The figures now, before iteration `it`; 0 = before the first.
    fn read(&self, it: u32) -> Option<HeapFigures>;
}

/// `VK_EXT_memory_budget`.
struct Driver {
    device: Arc<Device>,
    heap: u32,
}

impl BudgetSource for Driver {
    fn read(&self, _: u32) -> Option<HeapFigures> {
        let (budget, usage) = self.device.heap_budget(self.heap)?;
        Some(HeapFigures {
            budget,
            usage,
            host_usage: self.device.host_heap_usage(),
            shared_usage: self.device.shared_usage(),
        })
    }
}

/// The fault `budget`: budgets from a table, usage as this process counts it.
struct Table {
    device: Arc<Device>,
    entries: Vec<BudgetFault>,
}

impl BudgetSource for Table {
    fn read(&self, it: u32) -> Option<HeapFigures> {
        Some(HeapFigures {
            budget: scripted(&self.entries, it)?,
            usage: self.device.reserved_bytes(),
            host_usage: None,
            shared_usage: None,
        })
    }
}

fn scripted(entries: &[BudgetFault], it: u32) -> Option<u64> {
    let entry = entries.iter().rev().find(|entry| entry.from <= it)?;
    Some(u64::from(entry.mib) * MIB)
}

/// The source for a device; none where nobody knows. What CPU drivers report is the whole machine's.
pub(crate) fn of(device: &Arc<Device>, script: &[BudgetFault]) -> Option<Box<dyn BudgetSource>> {
    let device = device.clone();
    if !script.is_empty() {
        let entries = script.to_vec();
        return Some(Box::new(Table { device, entries }));
    }
    let (heap, _) = device.caps().device_heap()?;
    let known = device.caps().memory_budget && device.caps().kind != DeviceKind::Cpu;
    known.then(|| Box::new(Driver { device, heap }) as Box<dyn BudgetSource>)
}

/// True where the time that reading takes can be measured.
pub(super) fn has_clock(caps: &Caps) -> bool {
    caps.timestamp_period_ns > 0.0
}

/// What a run with `profile` may take on a device, by what its driver or the fault `budget` reports now.
#[must_use]
pub fn device_budget(open: &OpenDevice, profile: &Profile) -> Budget {
    let OpenDevice { device, faults, .. } = open;
    let caps = device.caps();
    let reported = scripted(&faults.budget, 0).or_else(|| {
        let (heap, _) = caps.device_heap()?;
        device.heap_budget(heap).map(|(budget, _)| budget)
    });
    let cap = profile.memory.cap_gib.map(crate::plan::gib_to_bytes);
    let budget = Budget::of_caps(caps, reported, cap);
    if has_clock(caps) && (!caps.shares_host_memory() || faults.probe) {
        budget.with_reference(REFERENCE_BYTES)
    } else {
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_from_its_iterations_on() {
        let entries = [(0, 800), (50, 90)].map(|(from, mib)| BudgetFault { from, mib });
        let at = [0, 49, 50, 5000].map(|it| scripted(&entries, it).map(|bytes| bytes / MIB));
        assert_eq!(at, [Some(800), Some(800), Some(90), Some(90)]);
        assert_eq!(scripted(&entries[1..], 49), None);
        assert_eq!(scripted(&[], 1), None);
    }
}
