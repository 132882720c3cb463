//! How many bytes a run may take.

use std::fmt;

use serde::Serialize;

use crate::vk::{Caps, Device, DeviceKind, Overhead};

/// Bytes in a GiB.
pub const GIB: u64 = 1 << 30;
/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;

/// Most of a device's heap that is taken: drivers keep something of it for themselves.
const HEAP_SHARE: f64 = 0.97;
/// Head-room kept below the reported budget: the driver's own pipelines and other processes move it.
const BUDGET_MARGIN: u64 = 256 * MIB;
/// Left to the screen and to other programs where the driver does not say what is free.
const UNREPORTED_MARGIN: u64 = 3 * GIB / 2;
/// The same as a share of the heap on a driver that translates: Direct3D 12 under WSL2 takes blocks back with 2 GB free, and four fifths of a
/// card were seen to stay (WSL's issue 41176).
const TRANSLATED_MARGIN: f64 = 0.2;

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
    /// Which of them it is.
    pub limit: BudgetLimit,
    /// Bytes of the result that the residency probe keeps to compare with; 0 where it cannot decide.
    pub reference_bytes: u64,
    /// What the device allows without the profile's limit; none where the card that a plan is for is not there.
    #[serde(skip)]
    pub device_bytes: Option<u64>,
    /// What the driver takes for itself, which a plan counts beside what it requests.
    #[serde(skip)]
    pub overhead: Overhead,
}

/// What decides over the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    /// `memory.cap_gib`.
    Profile,
    /// 97 % of the heap.
    Fraction,
    /// What the driver reports, less a margin of 256 MiB.
    Reported,
    /// The driver reports nothing: the heap less 1.5 GiB, or of one that translates less a fifth where that is more.
    Unreported,
}

impl Budget {
    /// `cap = min(profile, 0.97 heap, reported - 256 MiB)`.
    #[must_use]
    pub fn new(heap_bytes: u64, reported_bytes: Option<u64>, profile_bytes: Option<u64>) -> Self {
        // A heap is far below 2^53 bytes, so the product is exact enough.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 <= product <= heap"
        )]
        let share = (heap_bytes as f64 * HEAP_SHARE) as u64;
        let mut budget = Self {
            heap_bytes,
            reported_bytes,
            profile_bytes,
            cap_bytes: share,
            limit: BudgetLimit::Fraction,
            reference_bytes: 0,
            device_bytes: None,
            overhead: Overhead::None,
        };
        if let Some(reported) = reported_bytes {
            budget.lower(reported.saturating_sub(BUDGET_MARGIN), BudgetLimit::Reported);
        }
        budget.device_bytes = Some(budget.cap_bytes);
        if let Some(profile) = profile_bytes {
            budget.lower(profile, BudgetLimit::Profile);
        }
        budget
    }

    /// What a profile plans with for a card that is not there: its own limit.
    #[must_use]
    pub const fn of_profile(bytes: u64) -> Self {
        Self {
            heap_bytes: bytes,
            reported_bytes: None,
            profile_bytes: Some(bytes),
            cap_bytes: bytes,
            limit: BudgetLimit::Profile,
            reference_bytes: 0,
            device_bytes: None,
            overhead: Overhead::None,
        }
    }

    /// The cap if no other program had any of the device.
    #[must_use]
    pub fn without_others(&self) -> u64 {
        let alone = Self::new(self.heap_bytes, None, self.profile_bytes).cap_bytes;
        if self.limit == BudgetLimit::Reported {
            alone
        } else {
            self.cap_bytes
        }
    }

    /// The budget on a device with these capabilities, whose driver reports `reported_bytes`. A card whose driver reports
    /// nothing may have a screen and other programs on it, so 1.5 GiB of it are left alone, and on a driver that translates a fifth.
    #[must_use]
    pub fn of_caps(caps: &Caps, reported_bytes: Option<u64>, profile_bytes: Option<u64>) -> Self {
        let heap_bytes = caps.device_heap().map_or(0, |(_, bytes)| bytes);
        let mut budget = Self::new(heap_bytes, reported_bytes, profile_bytes);
        budget.overhead = Overhead::of(caps);
        if reported_bytes.is_none() && caps.kind != DeviceKind::Cpu {
            let share = if caps.translates { TRANSLATED_MARGIN } else { 0.0 };
            // Exact enough as above.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 <= product <= heap"
            )]
            let share = (heap_bytes as f64 * share) as u64;
            let bytes = heap_bytes.saturating_sub(UNREPORTED_MARGIN.max(share));
            budget.lower(bytes, BudgetLimit::Unreported);
            budget.device_bytes = budget.device_bytes.map(|device| device.min(bytes));
        }
        budget
    }

    /// The budget on `device`.
    #[must_use]
    pub fn of_device(device: &Device, profile_bytes: Option<u64>) -> Self {
        let heap = device.caps().device_heap().map_or(0, |(heap, _)| heap);
        let reported = device.heap_budget(heap).map(|(budget, _)| budget);
        Self::of_caps(device.caps(), reported, profile_bytes)
    }

    /// The same with `bytes` of it for the residency probe.
    #[must_use]
    pub fn with_reference(self, bytes: u64) -> Self {
        Self {
            reference_bytes: bytes,
            ..self
        }
    }

    /// Of equal limits the last one is named: what people set comes after what a device has.
    fn lower(&mut self, bytes: u64, limit: BudgetLimit) {
        if bytes <= self.cap_bytes {
            (self.cap_bytes, self.limit) = (bytes, limit);
        }
    }
}

/// Why the cap is what it is, for people.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        let heap = mib(self.heap_bytes);
        match self.limit {
            BudgetLimit::Profile => f.write_str("as `memory.cap_gib` says"),
            BudgetLimit::Fraction => write!(f, "97 % of the {heap:.1} MiB that the device has"),
            BudgetLimit::Reported => {
                let reported = self.reported_bytes.unwrap_or(0);
                write!(
                    f,
                    "because the driver offers {:.1} of the device's {heap:.1} MiB and 256 MiB of that are kept free",
                    mib(reported)
                )?;
                // A driver keeps something for itself; what is missing beyond that is in other hands.
                if reported < self.heap_bytes / 10 * 9 {
                    write!(
                        f,
                        "; other programs hold the remaining {:.1} MiB",
                        mib(self.heap_bytes - reported)
                    )?;
                }
                Ok(())
            }
            BudgetLimit::Unreported => write!(
                f,
                "because the driver does not say how much of the device's {heap:.1} MiB is free and {:.0} MiB are left to \
                 others",
                mib(self.heap_bytes.saturating_sub(self.cap_bytes).max(UNREPORTED_MARGIN))
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_smallest_limit_wins() {
        let b = Budget::new(24 * GIB, Some(20 * GIB), Some(16 * GIB));
        assert_eq!(b.cap_bytes, 16 * GIB);
        let b = Budget::new(24 * GIB, Some(8 * GIB), Some(16 * GIB));
        assert_eq!(b.cap_bytes, 8 * GIB - 256 * MIB);
        let b = Budget::new(10 * GIB, None, None);
        assert_eq!(b.cap_bytes, 10_415_295_692);
    }

    #[test]
    fn the_numbers_behind_the_cap_are_said() {
        let crowded = Budget::new(80 * GIB, Some(8 * GIB), Some(16 * GIB));
        assert_eq!(crowded.limit, BudgetLimit::Reported);
        assert_eq!(
            crowded.to_string(),
            "because the driver offers 8192.0 of the device's 81920.0 MiB and 256 MiB of that are kept free; other programs \
             hold the remaining 73728.0 MiB"
        );
        let alone = Budget::new(80 * GIB, Some(77 * GIB), None);
        assert!(!alone.to_string().contains("other programs"), "{alone}");
        let asked = Budget::new(80 * GIB, Some(79 * GIB), Some(16 * GIB));
        assert_eq!(asked.to_string(), "as `memory.cap_gib` says");
    }

    #[test]
    fn nothing_is_left_of_less_than_the_margin() {
        for reported in [0, 1, BUDGET_MARGIN] {
            assert_eq!(Budget::new(8 * GIB, Some(reported), None).cap_bytes, 0);
        }
        assert_eq!(Budget::new(0, None, None).cap_bytes, 0);
    }

    #[test]
    fn a_driver_that_translates_leaves_a_fifth_until_it_reports() {
        let mut caps = Caps::default();
        caps.kind = DeviceKind::Discrete;
        caps.translates = true;
        caps.heaps = vec![crate::vk::MemoryHeap {
            bytes: 10 * GIB,
            device_local: true,
        }];
        caps.types = vec![crate::vk::MemoryType {
            device_local: true,
            ..Default::default()
        }];
        let budget = Budget::of_caps(&caps, None, None);
        assert_eq!((budget.cap_bytes, budget.limit), (8 * GIB, BudgetLimit::Unreported));
        assert!(
            budget.to_string().ends_with("and 2048 MiB are left to others"),
            "{budget}"
        );
        assert_eq!(budget.overhead, Overhead::Dzn);
        let reported = Budget::of_caps(&caps, Some(9 * GIB), None);
        assert_eq!(reported.cap_bytes, 9 * GIB - 256 * MIB);
        // Of small cards the screen takes more.
        caps.heaps[0].bytes = 4 * GIB;
        assert_eq!(Budget::of_caps(&caps, None, None).cap_bytes, 5 * GIB / 2);
        caps.translates = false;
        assert_eq!(Budget::of_caps(&caps, None, None).overhead, Overhead::None);
    }
}
