//! What a driver takes of a device's memory for itself, where that follows from what it is given.

use super::Caps;

/// Bytes that a driver takes beside those that are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// For every recorded dispatch whose size is in device memory.
    indirect_bytes: u64,
    /// Blocks are rounded up to multiples of this.
    small_bytes: u64,
    /// Blocks of at least as many bytes are rounded up to multiples of it.
    large_bytes: u64,
}

impl Overhead {
    /// None, as of drivers that are a card's own.
    pub const NONE: Self = Self {
        indirect_bytes: 0,
        small_bytes: 1,
        large_bytes: 1,
    };

    /// Mesa's dzn, by its source: a dispatch of unknown size is copied into a resource of its own, and Direct3D 12 has none smaller than
    /// 64 KiB; heaps are multiples of that, and from 4 MiB on of 4 MiB.
    pub const DZN: Self = Self {
        indirect_bytes: 64 << 10,
        small_bytes: 64 << 10,
        large_bytes: 4 << 20,
    };

    /// Of a device's driver.
    #[must_use]
    pub const fn of(caps: &Caps) -> Self {
        if caps.translates { Self::DZN } else { Self::NONE }
    }

    /// For blocks of these sizes, and for so many recorded indirect dispatches.
    #[must_use]
    pub fn bytes(self, blocks: impl IntoIterator<Item = u64>, n_indirect: u64) -> u64 {
        let rounding = |bytes: u64| {
            let multiple = match bytes >= self.large_bytes {
                true => self.large_bytes,
                false => self.small_bytes,
            };
            bytes.next_multiple_of(multiple.max(1)) - bytes
        };
        blocks.into_iter().map(rounding).sum::<u64>() + n_indirect * self.indirect_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_rounded_and_dispatches_counted() {
        const MIB: u64 = 1 << 20;
        let blocks = [4 * MIB, 4 * MIB + 256, 4 * MIB - 256, 1];
        let rounding = (4 * MIB - 256) + 256 + ((64 << 10) - 1);
        assert_eq!(Overhead::DZN.bytes(blocks, 0), rounding);
        assert_eq!(Overhead::DZN.bytes([], 1120), 70 * MIB);
        for none in [Overhead::NONE, Overhead::default()] {
            assert_eq!(none.bytes(blocks, 1120), 0);
        }
        let mut caps = Caps::default();
        assert_eq!(Overhead::of(&caps), Overhead::NONE);
        caps.translates = true;
        assert_eq!(Overhead::of(&caps), Overhead::DZN);
    }
}
