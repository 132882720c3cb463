//! How many bytes a run may take.

use serde::Serialize;

use crate::vk::Device;

/// Bytes in a GiB.
pub const GIB: u64 = 1 << 30;
/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;

/// Head-room kept below the reported budget: the driver's own pipelines and other processes move it.
const BUDGET_MARGIN: u64 = 256 * MIB;

/// The cap and where it came from, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Size of the device heap.
    pub heap_bytes: u64,
    /// Budget the driver reports for this process, when it reports one.
    pub reported_bytes: Option<u64>,
    /// Limit of the profile, when it has one.
    pub profile_bytes: Option<u64>,
    /// The result.
    pub cap_bytes: u64,
}

impl Budget {
    /// `cap = min(profile, fraction * heap, reported - 256 MiB)`.
    #[must_use]
    pub fn new(heap_bytes: u64, reported_bytes: Option<u64>, profile_bytes: Option<u64>, fraction: f64) -> Self {
        // A heap is far below 2^53 bytes, so the product is exact enough and never negative.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 <= fraction <= 1"
        )]
        let mut cap = (heap_bytes as f64 * fraction.clamp(0.0, 1.0)) as u64;
        if let Some(reported) = reported_bytes {
            cap = cap.min(reported.saturating_sub(BUDGET_MARGIN));
        }
        if let Some(profile) = profile_bytes {
            cap = cap.min(profile);
        }
        Self {
            heap_bytes,
            reported_bytes,
            profile_bytes,
            cap_bytes: cap,
        }
    }

    /// The budget on `device`.
    #[must_use]
    pub fn of_device(device: &Device, profile_bytes: Option<u64>, fraction: f64) -> Self {
        let (heap, bytes) = device.caps().device_heap().unwrap_or((0, 0));
        Self::new(
            bytes,
            device.heap_budget(heap).map(|(budget, _)| budget),
            profile_bytes,
            fraction,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_wins() {
        let b = Budget::new(24 * GIB, Some(20 * GIB), Some(16 * GIB), 0.97);
        assert_eq!(b.cap_bytes, 16 * GIB);
        let b = Budget::new(24 * GIB, Some(8 * GIB), Some(16 * GIB), 0.97);
        assert_eq!(b.cap_bytes, 8 * GIB - 256 * MIB);
        let b = Budget::new(10 * GIB, None, None, 0.97);
        assert_eq!(b.cap_bytes, 10_415_295_692);
    }
}
