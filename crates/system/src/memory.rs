//! Host memory: of the machine, and of this process.

use crate::system;

/// The machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes installed.
    pub total: u64,
    /// Bytes that can be had without swapping.
    pub available: u64,
}

/// The machine's memory; none where the system does not say.
#[must_use]
pub fn memory() -> Option<Memory> {
    system::memory()
}

/// Bytes that the system, or the container this process runs in, can give without swapping; none where it does not say.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let machine = memory().map(|memory| memory.available);
    match (machine, system::available_in_group()) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// Bytes of this process's memory that are resident; none where the system does not say.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    system::resident_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers() {
        assert!(memory().is_some_and(|memory| memory.available > 0 && memory.available <= memory.total));
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
        assert!(resident_bytes().is_some_and(|bytes| bytes > 0));
    }
}
