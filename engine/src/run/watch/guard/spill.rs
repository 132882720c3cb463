//! Spills that figures of the driver and the system show: memory of this process that it did not ask for.

use super::source::HeapFigures;
use crate::record::SpillEvidence;
use kiln_gpu::memory::MIB;

/// Host memory beyond the requested bytes that drivers take for themselves.
const HOST_SLACK_BYTES: u64 = 64 * MIB;
/// The same in device memory: pipelines, and what the driver keeps for its own passes.
const DEVICE_SLACK_BYTES: u64 = 512 * MIB;

/// Compares the figures with those before the run took its memory.
pub(super) struct SpillWatch {
    before: Option<HeapFigures>,
    device_bytes: u64,
    host_bytes: u64,
    /// What was reported and still holds: host, as the system counts it, device.
    said: [bool; 3],
}

impl SpillWatch {
    /// With the figures before any memory was taken, where there are any.
    pub(crate) fn new(before: Option<HeapFigures>) -> Self {
        Self {
            before,
            device_bytes: 0,
            host_bytes: 0,
            said: [false; 3],
        }
    }

    /// Notes what the run took.
    pub(super) fn committed(&mut self, device_bytes: u64, host_bytes: u64) {
        (self.device_bytes, self.host_bytes) = (device_bytes, host_bytes);
    }

    /// Evidence that is new.
    pub(super) fn look(&mut self, now: &HeapFigures) -> Vec<SpillEvidence> {
        let Some(before) = self.before else { return Vec::new() };
        let in_host = |before: Option<u64>, now: Option<u64>| {
            let (baseline, usage) = (before?.saturating_add(self.host_bytes), now?);
            (usage > baseline.saturating_add(HOST_SLACK_BYTES)).then_some((usage, baseline))
        };
        let host =
            in_host(before.host_usage, now.host_usage).map(|(host_heap_usage, baseline)| SpillEvidence::HostHeap {
                host_heap_usage,
                baseline,
            });
        let shared = in_host(before.shared_usage, now.shared_usage)
            .map(|(shared_usage, baseline)| SpillEvidence::Shared { shared_usage, baseline });
        let baseline = before.usage.saturating_add(self.device_bytes);
        let device = (now.usage > baseline.saturating_add(DEVICE_SLACK_BYTES)).then_some(SpillEvidence::DeviceHeap {
            heap_usage: now.usage,
            baseline,
        });
        let found = [host, shared, device];
        let was = std::mem::replace(&mut self.said, found.each_ref().map(Option::is_some));
        let news = found.into_iter().zip(was).filter(|(_, was)| !was);
        news.filter_map(|(evidence, _)| evidence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(usage_mib: u64, host_mib: Option<u64>) -> HeapFigures {
        HeapFigures {
            budget: 8000 * MIB,
            usage: usage_mib * MIB,
            host_usage: host_mib.map(|mib| mib * MIB),
            shared_usage: None,
        }
    }

    /// A run of 6000 MiB and 40 MiB of rings, on a card of which 300 MiB are the driver's.
    fn watch(host_mib: Option<u64>) -> SpillWatch {
        let mut watch = SpillWatch::new(Some(figures(300, host_mib)));
        watch.committed(6000 * MIB, 40 * MIB);
        watch
    }

    #[test]
    fn rings_are_no_spill_and_more_than_rings_is() {
        let mut watch = watch(Some(2));
        assert!(watch.look(&figures(6300, Some(42))).is_empty());
        assert!(watch.look(&figures(6300, Some(106))).is_empty());
        let found = watch.look(&figures(6300, Some(107)));
        let wanted = SpillEvidence::HostHeap {
            host_heap_usage: 107 * MIB,
            baseline: 42 * MIB,
        };
        assert_eq!(found, [wanted]);
        // Reported once, and again when it comes back.
        assert!(watch.look(&figures(6300, Some(900))).is_empty());
        assert!(watch.look(&figures(6300, Some(42))).is_empty());
        assert_eq!(watch.look(&figures(6300, Some(900))).len(), 1);
    }

    #[test]
    fn device_memory_nobody_asked_for_is_evidence() {
        let mut watch = watch(None);
        assert!(watch.look(&figures(6812, None)).is_empty());
        let found = watch.look(&figures(6813, None));
        let wanted = SpillEvidence::DeviceHeap {
            heap_usage: 6813 * MIB,
            baseline: 6300 * MIB,
        };
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn the_systems_counter_is_a_witness_of_its_own() {
        let of = |mib: u64| HeapFigures {
            shared_usage: Some(mib * MIB),
            ..figures(6300, Some(42))
        };
        let mut watch = SpillWatch::new(Some(HeapFigures {
            usage: 300 * MIB,
            host_usage: Some(2 * MIB),
            ..of(10)
        }));
        watch.committed(6000 * MIB, 40 * MIB);
        assert!(watch.look(&of(50 + 64)).is_empty());
        let wanted = SpillEvidence::Shared {
            shared_usage: 115 * MIB,
            baseline: 50 * MIB,
        };
        assert_eq!(watch.look(&of(115)), [wanted]);
        assert!(watch.look(&of(900)).is_empty());
        // What is not counted any more is no evidence.
        assert!(watch.look(&figures(6300, Some(42))).is_empty());
        assert_eq!(watch.look(&of(900)).len(), 1);
    }

    #[test]
    fn without_figures_there_is_no_evidence() {
        let mut watch = SpillWatch::new(None);
        watch.committed(MIB, MIB);
        assert!(watch.look(&figures(8000, Some(8000))).is_empty());
    }
}
