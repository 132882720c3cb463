//! Prefix codes of lossless WebP: lengths from counts, and how they are written.

use super::write::Bits;

/// Longest code word of a symbol, and of a length in the code of lengths.
const MOST_BITS: u32 = 15;
const MOST_LENGTH_BITS: u32 = 7;
/// Order in which the code of lengths is written.
const LENGTH_ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// A prefix code: for each symbol its word, bits reversed, and its length; 0 for symbols that never come.
pub(crate) struct Code {
    words: Vec<u16>,
    lengths: Vec<u8>,
}

impl Code {
    /// The code for symbols that come this often.
    pub(crate) fn new(counts: &[u32]) -> Self {
        Self::limited(counts, MOST_BITS)
    }

    fn limited(counts: &[u32], most: u32) -> Self {
        let lengths = lengths(counts, most);
        let words = words(&lengths);
        Self { words, lengths }
    }

    pub(crate) fn put(&self, bits: &mut Bits, symbol: usize) {
        bits.put(self.words[symbol].into(), self.lengths[symbol].into());
    }

    /// Writes the code; symbols of a lone one take no bits from here on.
    pub(crate) fn describe(&mut self, bits: &mut Bits) {
        let used: Vec<usize> = (0..self.lengths.len()).filter(|&s| self.lengths[s] > 0).collect();
        if used.len() <= 2 && used.iter().all(|&symbol| symbol < 256) {
            bits.put(1, 1);
            bits.put(u64::from(used.len() == 2), 1);
            bits.put(1, 1);
            for at in 0..used.len().max(1) {
                bits.put(used.get(at).map_or(0, |&symbol| symbol as u64), 8);
            }
            if let [only] = used[..] {
                self.lengths[only] = 0;
            }
            return;
        }
        bits.put(0, 1);
        let told = runs(&self.lengths);
        let mut counts = [0; 19];
        for (symbol, ..) in &told {
            counts[*symbol] += 1;
        }
        // a code of one word of no bits cannot be written this way
        if counts.iter().filter(|&&count| count > 0).count() == 1 {
            counts[usize::from(counts[0] > 0)] += 1;
        }
        let code = Self::limited(&counts, MOST_LENGTH_BITS);
        let last = LENGTH_ORDER.iter().rposition(|&symbol| code.lengths[symbol] > 0);
        let n = last.map_or(4, |last| last + 1).max(4);
        bits.put(n as u64 - 4, 4);
        for &symbol in &LENGTH_ORDER[..n] {
            bits.put(code.lengths[symbol].into(), 3);
        }
        bits.put(0, 1);
        for (symbol, extra, n_extra) in told {
            code.put(bits, symbol);
            bits.put(extra, n_extra);
        }
    }
}

/// Lengths as symbols with extra bits: runs of zeros are short, all else is as it is.
fn runs(lengths: &[u8]) -> Vec<(usize, u64, u32)> {
    let mut told = Vec::new();
    let mut at = 0;
    while at < lengths.len() {
        let zeros = lengths[at..].iter().take_while(|&&length| length == 0).count().min(138);
        match zeros {
            0 => told.push((lengths[at].into(), 0, 0)),
            1..3 => told.push((0, 0, 0)),
            3..11 => told.push((17, zeros as u64 - 3, 3)),
            _ => told.push((18, zeros as u64 - 11, 7)),
        }
        at += if zeros < 3 { 1 } else { zeros };
    }
    told
}

/// Lengths of Huffman's code. Where one would be longer than `most`, counts are halved until none is.
fn lengths(counts: &[u32], most: u32) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    let mut leaves: Vec<(u64, usize)> = (0..counts.len())
        .filter(|&symbol| counts[symbol] > 0)
        .map(|symbol| (counts[symbol].into(), symbol))
        .collect();
    if let [(_, only)] = leaves[..] {
        lengths[only] = 1;
        return lengths;
    }
    leaves.sort_unstable();
    loop {
        let depths = depths(&leaves);
        if depths.iter().all(|&depth| depth <= most) {
            for ((_, symbol), depth) in leaves.iter().zip(depths) {
                lengths[*symbol] = depth as u8;
            }
            return lengths;
        }
        for (count, _) in &mut leaves {
            *count = count.div_ceil(2);
        }
    }
}

/// Depths of leaves in Huffman's tree; leaves come in order of their counts.
fn depths(leaves: &[(u64, usize)]) -> Vec<u32> {
    let n = leaves.len();
    if n == 0 {
        return Vec::new();
    }
    let mut weights: Vec<u64> = leaves.iter().map(|(count, _)| *count).collect();
    let mut parents = vec![0; 2 * n - 1];
    // leaves and inner nodes are both in order, so that the two queues need no heap
    let (mut leaf, mut inner) = (0, n);
    for made in n..2 * n - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let takes_leaf = leaf < n && (inner >= made || weights[leaf] <= weights[inner]);
            let taken = if takes_leaf { &mut leaf } else { &mut inner };
            weight += weights[*taken];
            parents[*taken] = made;
            *taken += 1;
        }
        weights.push(weight);
    }
    let mut depths = vec![0; 2 * n - 1];
    for node in (0..2 * n - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(n);
    depths
}

/// Canonical words, first bit lowest.
fn words(lengths: &[u8]) -> Vec<u16> {
    let mut words = vec![0; lengths.len()];
    let mut next = 0_u32;
    for length in 1..=MOST_BITS {
        next <<= 1;
        for (word, _) in words.iter_mut().zip(lengths).filter(|(_, l)| u32::from(**l) == length) {
            *word = (next.reverse_bits() >> (32 - length)) as u16;
            next += 1;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kraft's sum of every code is one, and no word is too long, however steep the counts are.
    #[test]
    fn codes_are_complete_and_short() {
        let steep: Vec<u32> = (0..31).map(|power| 1_u32 << power).collect();
        let flat = vec![7; 280];
        let few = vec![0, 3, 0, 9, 1];
        for counts in [steep, flat, few] {
            for most in [MOST_BITS, 9] {
                let lengths = lengths(&counts, most);
                let kraft: f64 = lengths
                    .iter()
                    .filter(|&&l| l > 0)
                    .map(|&l| 0.5_f64.powi(l.into()))
                    .sum();
                assert!((kraft - 1.0).abs() < 1e-12, "{kraft}");
                assert!(lengths.iter().all(|&l| u32::from(l) <= most));
                assert!(counts.iter().zip(&lengths).all(|(&c, &l)| (c > 0) == (l > 0)));
            }
        }
        assert_eq!(lengths(&[1, 1, 2, 4], MOST_BITS), [3, 3, 2, 1]);
    }
}
