//! What a driver takes of a device's memory for itself, where that follows from what it is given.

use super::Caps;

/// Direct3D 12's smallest resource, and what small heaps are multiples of.
const SMALL: u64 = 64 << 10;
/// What larger heaps are multiples of.
const LARGE: u64 = 4 << 20;

/// Whose driver it is that takes bytes beside those that are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overhead {
    /// A card's own, which takes none that are known.
    #[default]
    None,
    /// Mesa's dzn, by its source: a dispatch of unknown size is copied into a resource of its own of 64 KiB; heaps are multiples of that, and
    /// from 4 MiB on of 4 MiB.
    Dzn,
}

impl Overhead {
    /// Of a device's driver.
    #[must_use]
    pub const fn of(caps: &Caps) -> Self {
        if caps.translates { Self::Dzn } else { Self::None }
    }

    /// Bytes for blocks of these sizes, and for so many recorded indirect dispatches.
    #[must_use]
    pub fn bytes(self, blocks: impl IntoIterator<Item = u64>, n_indirect: u64) -> u64 {
        let rounding = |bytes: u64| {
            let multiple = if bytes >= LARGE { LARGE } else { SMALL };
            bytes.next_multiple_of(multiple) - bytes
        };
        match self {
            Self::None => 0,
            Self::Dzn => blocks.into_iter().map(rounding).sum::<u64>() + n_indirect * SMALL,
        }
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
        assert_eq!(Overhead::Dzn.bytes(blocks, 0), rounding);
        assert_eq!(Overhead::Dzn.bytes([], 1120), 70 * MIB);
        assert_eq!(Overhead::None.bytes(blocks, 1120), 0);
        let mut caps = Caps::default();
        assert_eq!(Overhead::of(&caps), Overhead::None);
        caps.translates = true;
        assert_eq!(Overhead::of(&caps), Overhead::Dzn);
    }
}
