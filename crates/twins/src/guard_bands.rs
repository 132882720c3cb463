//! Overwritten words in bands of memory that no pass may write.

use kiln_kernels::guard_bands::{Band, Report};

/// What became of each of `bands`, all inside of `words`, which once held `pattern` throughout.
#[must_use]
pub fn guard_bands(words: &[u32], bands: &[Band], pattern: u32) -> Vec<Report> {
    let look = |band: &Band| {
        let all = words
            .iter()
            .skip(band.first_word as usize)
            .take(band.words as usize)
            .copied();
        let mut overwritten = (0..).zip(all).filter(|(_, word)| *word != pattern);
        let (first, found) = overwritten.next().unwrap_or((u32::MAX, pattern));
        Report {
            overwritten: u32::from(first != u32::MAX) + overwritten.map(|_| 1).sum::<u32>(),
            first,
            found,
            reserved: 0,
        }
    };
    bands.iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_band_is_told_and_all_are_counted() {
        let words = [5, 9, 5, 5, 8, 7, 5, 1];
        let band = |first_word, words| Band { first_word, words };
        let report = |overwritten, first, found| Report {
            overwritten,
            first,
            found,
            reserved: 0,
        };
        let found = guard_bands(&words, &[band(0, 4), band(2, 2), band(3, 4), band(7, 1), band(1, 0)], 5);
        let none = report(0, u32::MAX, 5);
        assert_eq!(found, [report(1, 1, 9), none, report(2, 1, 8), report(1, 0, 1), none]);
    }
}
