//! What a driver makes of the size of a block.

use ash::vk;

use super::VkError;

/// Usage of every block's buffer.
pub(super) const BLOCK_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw(),
);

/// How many bytes a driver wants for a block: the block and `extra_bytes`, rounded up to `granularity_bytes`.
///
/// Vulkan lets a driver ask for more memory than a buffer has bytes. Plans count what is really asked for, so the rule
/// is measured when a device is opened, on buffers that never get memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BlockRounding {
    /// Added to every block.
    pub extra_bytes: u64,
    /// The sum is rounded up to a multiple of this; a power of two.
    pub granularity_bytes: u64,
}

impl BlockRounding {
    /// Blocks are multiples of this many bytes.
    pub const UNIT: u64 = 256;

    /// A driver that asks for what there is.
    pub const NONE: Self = Self {
        extra_bytes: 0,
        granularity_bytes: 1,
    };

    /// Bytes requested from the driver for a block of `bytes`.
    #[must_use]
    pub fn request(&self, bytes: u64) -> u64 {
        bytes
            .saturating_add(self.extra_bytes)
            .checked_next_multiple_of(self.granularity_bytes)
            .unwrap_or(u64::MAX)
    }

    /// Largest block, a multiple of [`BlockRounding::UNIT`], whose request to the driver is at most `limit` bytes.
    #[must_use]
    pub fn largest_block(&self, limit: u64) -> u64 {
        let room = limit / self.granularity_bytes * self.granularity_bytes;
        room.saturating_sub(self.extra_bytes) / Self::UNIT * Self::UNIT
    }

    /// Finds the rule behind `ask`, which gives the bytes wanted for a block. [`BlockRounding::NONE`] when there is none
    /// of this kind: the commitment then reports the difference.
    fn of<E>(mut ask: impl FnMut(u64) -> Result<u64, E>) -> Result<Self, E> {
        const BASE: u64 = 1 << 20;
        let mut seen = Vec::new();
        let mut probe = |offset: u64| -> Result<u64, E> {
            let wanted = ask(BASE + offset)?;
            seen.push((BASE + offset, wanted));
            Ok(wanted)
        };
        let mut zeros = probe(0)?.trailing_zeros();
        for k in 0..13 {
            zeros = zeros.min(probe(Self::UNIT << k)?.trailing_zeros());
        }
        let granularity_bytes = 1u64 << zeros.min(63);
        // Where the sum crosses a multiple shows only between two of them.
        if granularity_bytes <= BASE {
            for units in 1..granularity_bytes / Self::UNIT {
                probe(units * Self::UNIT)?;
            }
        }
        let units = (0..=granularity_bytes.min(BASE) / Self::UNIT).map(|units| units * Self::UNIT);
        let least = seen
            .iter()
            .filter_map(|(bytes, wanted)| wanted.checked_sub(*bytes))
            .min();
        let rule = units
            .chain(least)
            .map(|extra_bytes| Self {
                extra_bytes,
                granularity_bytes,
            })
            .find(|rule| seen.iter().all(|(bytes, wanted)| rule.request(*bytes) == *wanted));
        Ok(rule.unwrap_or(Self::NONE))
    }

    /// Asks a device.
    pub(super) fn measure(device: &ash::Device) -> Result<Self, VkError> {
        Self::of(|bytes| {
            let info = vk::BufferCreateInfo::default()
                .size(bytes)
                .sharing_mode(vk::SharingMode::EXCLUSIVE)
                .usage(BLOCK_USAGE);
            // SAFETY: `info` is valid for the call; the buffer is destroyed below and never used.
            let buffer = unsafe { device.create_buffer(&info, None) }.map_err(VkError::call("vkCreateBuffer"))?;
            // SAFETY: the buffer was just made from this device and nothing else knows it.
            let needs = unsafe {
                let needs = device.get_buffer_memory_requirements(buffer);
                device.destroy_buffer(buffer, None);
                needs
            };
            Ok(needs.size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ask: impl Fn(u64) -> u64) -> BlockRounding {
        let Ok(rule) = BlockRounding::of(|bytes| Ok::<_, std::convert::Infallible>(ask(bytes)));
        rule
    }

    #[test]
    fn a_rule_is_found_again() {
        for granularity_bytes in [1, 16, 256, 4096, 65_536] {
            for extra_bytes in [0, 256, 4096] {
                let rule = BlockRounding {
                    extra_bytes,
                    granularity_bytes,
                };
                let found = found(|bytes| rule.request(bytes));
                for units in 1..2000 {
                    let bytes = units * 256 + (3 << 28);
                    assert_eq!(
                        found.request(bytes),
                        rule.request(bytes),
                        "{rule:?} taken for {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_driver_without_a_rule_is_taken_at_its_word() {
        assert_eq!(found(|bytes| bytes + bytes / 512 % 3 * 1024), BlockRounding::NONE);
    }

    #[test]
    fn the_largest_block_just_fits() {
        for (extra_bytes, granularity_bytes) in [(0, 1), (256, 1), (256, 256), (0, 65_536), (256, 65_536)] {
            let rule = BlockRounding {
                extra_bytes,
                granularity_bytes,
            };
            for limit in [1 << 20, (1 << 30) - 1, (1 << 30) + 77] {
                let block = rule.largest_block(limit);
                assert!(
                    rule.request(block) <= limit && rule.request(block + 256) > limit,
                    "{rule:?} {limit}"
                );
            }
        }
    }
}
