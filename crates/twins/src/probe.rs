//! The exclusive or of every run of a sample.

use kiln_kernels::probe::{RUN_BYTES, Sample};

/// A word a run of `source`, which are the words of the view that is sampled.
#[must_use]
pub fn probe(source: &[u32], sample: Sample) -> Vec<u32> {
    let run = (RUN_BYTES / 4) as usize;
    let words = source.iter().copied();
    let starts = (0..sample.runs as usize).map(|k| k * 4 * sample.stride as usize);
    starts
        .map(|start| words.clone().skip(start).take(run).fold(0, |all, word| all ^ word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_where_they_begin() {
        let run = (RUN_BYTES / 4) as usize;
        let mut source = vec![0u32; 3 * run];
        source[0] = 1;
        source[run - 1] = 6;
        source[run] = 100;
        source[2 * run] = 32;
        source[2 * run + 1] = 33;
        let sample = Sample::of(3 * RUN_BYTES, 2 * RUN_BYTES);
        assert_eq!(probe(&source, sample), [7, 1]);
    }
}
