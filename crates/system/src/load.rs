//! How busy the processors are.

use crate::system;

/// Processor time of all cores together since some moment, in a unit of the system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Not idle.
    pub busy: u64,
    /// All.
    pub all: u64,
}

/// Processor time until now; none where the system does not say.
#[must_use]
pub fn processor_ticks() -> Option<Ticks> {
    system::processor_ticks()
}
