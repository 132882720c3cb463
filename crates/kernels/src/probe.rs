//! Reads a stretch of memory and does next to nothing with it: the time it takes shows where the memory is.
//!
//! The stretch is read in runs of [`RUN_BYTES`] that are spread evenly over a view, so that a sample of a large block is
//! taken from all of it. What is left, a word a run, keeps the reading from being optimised away and is what the twin is
//! held against.

use super::generated::probe;
use kiln_program::{Groups, Program, Span, fold_groups};

/// Bytes that one group reads in one piece.
pub const RUN_BYTES: u64 = 16 << 10;
/// Bytes of a unit of the shader.
const UNIT_BYTES: u64 = 16;

/// Bytes of `sums` for a sample of `bytes`.
#[must_use]
pub const fn sums_bytes(bytes: u64) -> u64 {
    4 * bytes.div_ceil(RUN_BYTES)
}

/// A sample of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Units from the start of a run to that of the next.
    pub stride: u32,
    /// Runs.
    pub runs: u32,
}

impl Sample {
    /// As many whole runs as `wanted` bytes hold and there is room for, spread over `bytes`.
    #[must_use]
    pub fn of(bytes: u64, wanted: u64) -> Self {
        let runs = (wanted.min(bytes) / RUN_BYTES).min(u32::MAX.into());
        // The last run has to end inside, and every run begins at a unit.
        let spread = bytes.saturating_sub(RUN_BYTES) / UNIT_BYTES / runs.saturating_sub(1).max(1);
        let stride = spread.max(RUN_BYTES / UNIT_BYTES).min(u32::MAX.into());
        Self {
            stride: u32::try_from(stride).unwrap_or(u32::MAX),
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
        }
    }

    /// Bytes that are read.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.runs as u64 * RUN_BYTES
    }
}

/// Appends the reading of a sample of `source`; the words go to `sums`, [`sums_bytes`] long.
pub fn record(program: &mut Program, source: Span, sums: Span, sample: Sample) {
    let Sample { stride, runs } = sample;
    let groups = Groups::Direct(fold_groups(runs.max(1)));
    program.pass(
        &probe::KERNEL,
        (),
        probe::Bind { source, sums },
        probe::Push { stride, runs },
        groups,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_over_everything_and_end_inside() {
        for bytes in [RUN_BYTES, 40_000, 1 << 20, (4 << 20) + 256, 1 << 30, (1 << 30) - 16] {
            for wanted in [RUN_BYTES, 4 << 20, 64 << 20] {
                let sample = Sample::of(bytes, wanted);
                let last = u64::from(sample.runs - 1) * u64::from(sample.stride) * UNIT_BYTES;
                assert!(last + RUN_BYTES <= bytes, "{bytes} {wanted}: {sample:?}");
                assert!(u64::from(sample.stride) * UNIT_BYTES >= RUN_BYTES, "runs do not meet");
                assert!(sample.bytes() <= wanted && sample.bytes() + RUN_BYTES > wanted.min(bytes));
                // The rest is shorter than what lies between two runs.
                if sample.runs > 1 {
                    assert!(bytes - last - RUN_BYTES < bytes / u64::from(sample.runs - 1) + RUN_BYTES);
                }
            }
        }
        assert_eq!(Sample::of(100, 4 << 20).runs, 0);
    }
}
