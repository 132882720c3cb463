//! Random numbers that are a function of their number, so that threads and orders change nothing.

/// Odd constant by which the counter advances: 2^64 over the golden ratio (Steele, Lea and Flood 2014, SplitMix).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers by seed; the i-th is a hash of seed and i.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    seed: u64,
}

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed: mix(seed) }
    }

    /// 64 random bits.
    pub(crate) const fn bits(self, counter: u64) -> u64 {
        mix(self.seed.wrapping_add(counter.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub(crate) fn unit(self, counter: u64) -> f64 {
        (self.bits(counter) >> 11) as f64 * 2.0_f64.powi(-53)
    }
}

/// The finaliser of SplitMix64 (variant 13 of Stafford).
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
