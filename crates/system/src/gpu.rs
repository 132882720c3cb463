//! Memory of the host that the device uses for this process, as the system counts it and not the driver.

use std::sync::{Mutex, PoisonError};

use crate::system;

/// The system's counter for one device. Windows has one for each process and device, by which memory that was moved out of a full device
/// shows; other systems have none.
pub struct SharedGpuMemory {
    /// Of the device: its locally unique identifier, which the driver reports.
    luid: u64,
    counter: Mutex<system::GpuCounter>,
}

impl std::fmt::Debug for SharedGpuMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedGpuMemory({:#x})", self.luid)
    }
}

impl SharedGpuMemory {
    /// The counter for a device; none where the system has no such counter.
    #[must_use]
    pub fn of(luid: u64) -> Option<Self> {
        let counter = Mutex::new(system::GpuCounter::open()?);
        Some(Self { luid, counter })
    }

    /// Bytes now; none where the system does not count this process, or not on this device.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let instances = self.counter.lock().unwrap_or_else(PoisonError::into_inner).read()?;
        of_process(&instances, std::process::id(), self.luid)
    }
}

/// Sum over the instances of a process on a device, of which there is one for each physical card behind it.
fn of_process(instances: &[(String, u64)], process: u32, luid: u64) -> Option<u64> {
    let own = instances
        .iter()
        .filter(|(name, _)| of_name(name) == Some((process, luid)));
    own.map(|(_, bytes)| *bytes).reduce(u64::saturating_add)
}

/// Process and device of an instance `pid_1234_luid_0x00000000_0x0000C3A5_phys_0`.
fn of_name(name: &str) -> Option<(u32, u64)> {
    let mut words = name.split('_');
    let mut follows = |wanted: &str| (words.next()? == wanted).then(|| words.next()).flatten();
    let process = follows("pid")?.parse().ok()?;
    let hexadecimal = |word: &str| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let high = hexadecimal(follows("luid")?)?;
    let low = hexadecimal(words.next()?)?;
    Some((process, u64::from(high) << 32 | u64::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_instances_are_read() {
        assert_eq!(
            of_name("pid_1234_luid_0x00000000_0x0000C3A5_phys_0"),
            Some((1234, 0xC3A5))
        );
        assert_eq!(
            of_name("pid_7_luid_0x00000001_0x0000000f_phys_1"),
            Some((7, 0x1_0000_000F))
        );
        for odd in [
            "",
            "_Total",
            "pid_1234",
            "pid_x_luid_0x0_0x1",
            "pid_1_luid_0_1",
            "pid_1_luid_0x0",
            "pid_1_luid_0x0_0x100000000",
            "luid_0x0_0x1_pid_1",
            "pid_4294967296_luid_0x0_0x1",
        ] {
            assert_eq!(of_name(odd), None, "{odd}");
        }
    }

    #[test]
    fn instances_of_others_do_not_count() {
        let instances = [
            ("pid_12_luid_0x00000000_0x0000C3A5_phys_0", 5),
            ("pid_12_luid_0x00000000_0x0000C3A5_phys_1", 7),
            ("pid_12_luid_0x00000000_0x00000001_phys_0", 100),
            ("pid_123_luid_0x00000000_0x0000C3A5_phys_0", 1000),
            ("_Total", 10_000),
        ]
        .map(|(name, bytes)| (name.to_owned(), bytes));
        assert_eq!(of_process(&instances, 12, 0xC3A5), Some(12));
        assert_eq!(of_process(&instances, 123, 0xC3A5), Some(1000));
        assert_eq!(of_process(&instances, 123, 1), None);
        assert_eq!(of_process(&[], 12, 0xC3A5), None);
    }

    /// Of a device that is not there nothing is counted; that asking does no harm is what this shows where there is no such card.
    #[test]
    fn no_device_has_no_figure() {
        assert_eq!(SharedGpuMemory::of(u64::MAX).and_then(|counter| counter.bytes()), None);
    }
}
