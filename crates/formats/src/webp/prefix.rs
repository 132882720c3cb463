//! Bits of a lossless image, and the prefix codes that are written in them.

use crate::Error;

/// Longest code word.
const MOST_BITS: usize = 15;
/// Words up to this length are looked up in one step.
const QUICK_BITS: u32 = 10;
/// Order in which the lengths of the code of lengths come.
const LENGTH_ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Bits, the lowest of a byte first. Behind the end there are zeros, and [`Bits::is_over`] says so.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u64,
    n_held: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            held: 0,
            n_held: 0,
        }
    }

    /// Has at least 32 bits at hand.
    #[inline]
    fn fill(&mut self) {
        if self.n_held < 32 {
            self.fetch();
        }
    }

    fn fetch(&mut self) {
        if let Some(eight) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            // Bits beyond those that count are the same again next time.
            self.held |= u64::from_le_bytes(*eight) << self.n_held;
            self.at += (63 - self.n_held as usize) / 8;
            self.n_held |= 56;
            return;
        }
        while self.n_held < 56 {
            let byte = self.bytes.get(self.at).copied().unwrap_or(0);
            self.held |= u64::from(byte) << self.n_held;
            self.n_held += 8;
            self.at += 1;
        }
    }

    fn skip(&mut self, n: u32) {
        self.held >>= n;
        self.n_held -= n;
    }

    /// The next `n` bits, at most 24.
    pub(super) fn take(&mut self, n: u32) -> usize {
        self.fill();
        let value = self.held & ((1 << n) - 1);
        self.skip(n);
        value as usize
    }

    pub(super) fn flag(&mut self) -> bool {
        self.take(1) == 1
    }

    /// Whether more was taken than there is.
    pub(super) fn is_over(&self) -> bool {
        self.at > self.bytes.len() + self.n_held as usize / 8
    }
}

/// A prefix code.
pub(super) struct Code {
    /// By the next bits: symbol, and the length of its word below; 0 for words that are longer than the table knows.
    quick: Vec<u16>,
    /// Words of each length, and the symbols by rising word.
    counts: [u16; MOST_BITS + 1],
    symbols: Vec<u16>,
}

impl Code {
    /// Reads a code of `n_symbols`.
    pub(super) fn read(bits: &mut Bits<'_>, n_symbols: usize) -> Result<Self, Error> {
        if bits.flag() {
            // One symbol or two.
            let two = bits.flag();
            let first = if bits.flag() { 8 } else { 1 };
            let symbol = bits.take(first);
            if symbol >= n_symbols {
                return Err(damaged());
            }
            if !two {
                return Ok(Self::lone(symbol as u16));
            }
            let mut lengths = vec![0; n_symbols];
            lengths[symbol] = 1;
            *lengths.get_mut(bits.take(8)).ok_or_else(damaged)? = 1;
            return Self::new(&lengths);
        }
        let mut of_lengths = [0; 19];
        let n = 4 + bits.take(4);
        for place in LENGTH_ORDER.into_iter().take(n) {
            of_lengths[place] = bits.take(3) as u8;
        }
        let code = Self::new(&of_lengths)?;
        let mut lengths = vec![0; n_symbols];
        let mut left = n_symbols;
        if bits.flag() {
            let n = 2 + 2 * bits.take(3) as u32;
            left = 2 + bits.take(n);
        }
        let (mut at, mut before) = (0, 8);
        while at < n_symbols && left > 0 {
            left -= 1;
            let (length, n) = match code.next(bits) {
                length @ 0..16 => {
                    if length > 0 {
                        before = length as u8;
                    }
                    (length as u8, 1)
                }
                16 => (before, 3 + bits.take(2)),
                17 => (0, 3 + bits.take(3)),
                _ => (0, 11 + bits.take(7)),
            };
            lengths.get_mut(at..at + n).ok_or_else(damaged)?.fill(length);
            at += n;
        }
        if bits.is_over() {
            return Err(damaged());
        }
        Self::new(&lengths)
    }

    /// The code of one symbol, whose word has no bits.
    fn lone(symbol: u16) -> Self {
        Self {
            quick: vec![symbol << 4],
            counts: [0; MOST_BITS + 1],
            symbols: Vec::new(),
        }
    }

    /// The code whose words have these lengths, 0 for symbols without one.
    fn new(lengths: &[u8]) -> Result<Self, Error> {
        let mut counts = [0_u16; MOST_BITS + 1];
        for length in lengths {
            counts[usize::from(*length)] += 1;
        }
        counts[0] = 0;
        // Where the symbols of each length begin.
        let mut ends = [0; MOST_BITS + 1];
        for length in 1..=MOST_BITS {
            ends[length] = ends[length - 1] + usize::from(counts[length - 1]);
        }
        let mut symbols = vec![0; ends[MOST_BITS] + usize::from(counts[MOST_BITS])];
        for (symbol, length) in (0_u16..).zip(lengths).filter(|(_, length)| **length > 0) {
            let end = &mut ends[usize::from(*length)];
            symbols[*end] = symbol;
            *end += 1;
        }
        if let [only] = symbols[..] {
            return Ok(Self::lone(only));
        }
        // Every row of bits has to be a word.
        let taken = |length: usize| usize::from(counts[length]) << (MOST_BITS - length);
        if (1..=MOST_BITS).map(taken).sum::<usize>() != 1 << MOST_BITS {
            return Err(damaged());
        }
        let longest = (1..=MOST_BITS).rev().find(|length| counts[*length] > 0).unwrap_or(1) as u32;
        let mut quick = vec![0; 1 << longest.min(QUICK_BITS)];
        let (mut word, mut at) = (0_u32, 0);
        for length in 1..=quick.len().ilog2() {
            for _ in 0..counts[length as usize] {
                let first = word.reverse_bits() >> (32 - length);
                let entry = symbols[at] << 4 | length as u16;
                quick
                    .iter_mut()
                    .skip(first as usize)
                    .step_by(1 << length)
                    .for_each(|place| *place = entry);
                word += 1;
                at += 1;
            }
            word <<= 1;
        }
        Ok(Self { quick, counts, symbols })
    }

    /// The next symbol.
    #[inline]
    pub(super) fn next(&self, bits: &mut Bits<'_>) -> usize {
        bits.fill();
        let entry = self.quick[bits.held as usize & (self.quick.len() - 1)];
        if entry & 15 > 0 || self.symbols.is_empty() {
            bits.skip(u32::from(entry & 15));
            return usize::from(entry >> 4);
        }
        // A long word: bit by bit, past the words of each length.
        let (mut word, mut first, mut at) = (0, 0, 0);
        for (length, count) in (1..).zip(&self.counts[1..]) {
            let count = usize::from(*count);
            word |= (bits.held >> (length - 1) & 1) as usize;
            if word < first + count {
                bits.skip(length);
                return usize::from(self.symbols[at + word - first]);
            }
            at += count;
            first = (first + count) << 1;
            word <<= 1;
        }
        0
    }
}

/// Says that an image is damaged.
pub(super) fn damaged() -> Error {
    Error::damaged("an image is damaged")
}
