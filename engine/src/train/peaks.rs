//! Largest memory figures of a run.

use serde::{Deserialize, Serialize};

use kiln_gpu::memory::Gpu;

/// Largest figures of a run, over all its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peaks {
    /// Bytes in tensors.
    pub allocated: u64,
    /// Bytes in the driver's allocations.
    pub reserved: u64,
}

impl Peaks {
    /// Those of a device's memory so far.
    #[must_use]
    pub fn of(gpu: &Gpu) -> Self {
        Self {
            allocated: gpu.memory().allocated_bytes(),
            reserved: gpu.device().peak_reserved_bytes(),
        }
    }

    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            allocated: self.allocated.max(other.allocated),
            reserved: self.reserved.max(other.reserved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_keep_the_larger_of_each() {
        let peaks = |allocated, reserved| Peaks { allocated, reserved };
        assert_eq!(peaks(5, 6).max(peaks(4, 9)), peaks(5, 9));
    }
}
