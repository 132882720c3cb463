//! The network as a table: VGG16 without its classifier (Simonyan and Zisserman 2015), with a tap after the last
//! convolution of each block (Zhang et al. 2018).

/// Input and output channels of the 13 convolutions.
pub(super) const CONVS: [[u32; 2]; 13] = [
    [3, 64],
    [64, 64],
    [64, 128],
    [128, 128],
    [128, 256],
    [256, 256],
    [256, 256],
    [256, 512],
    [512, 512],
    [512, 512],
    [512, 512],
    [512, 512],
    [512, 512],
];

/// Blocks: the convolutions at one resolution. A pool halves the size between blocks.
pub(super) const BLOCKS: usize = 5;

const BLOCK_ENDS: [usize; BLOCKS] = [2, 4, 7, 10, 13];

/// Blocks from this one on are made whole, so their layers' weights need not be resident together.
pub(super) const FIRST_WHOLE_BLOCK: usize = 3;

/// Pixels of the input that a side of the last level's pixel covers.
pub(super) const GRID_PX: u32 = 16;

/// Pixels around a tile that its result may depend on: the receptive radius of the last tap is 98, and the next
/// multiple of the grid is this.
pub(super) const HALO_PX: u32 = 112;

/// Convolutions of a block.
pub(super) fn convs(block: usize) -> std::ops::Range<usize> {
    let first = block
        .checked_sub(1)
        .and_then(|b| BLOCK_ENDS.get(b))
        .copied()
        .unwrap_or(0);
    first..BLOCK_ENDS.get(block).copied().unwrap_or(CONVS.len())
}

/// Channels at the end of a block.
pub(super) fn channels(block: usize) -> u32 {
    convs(block)
        .end
        .checked_sub(1)
        .and_then(|c| CONVS.get(c))
        .map_or(0, |c| c[1])
}

/// Float at which the biases of convolution `conv` lie in the constants tensor.
pub(super) fn bias_at(conv: usize) -> u32 {
    CONVS.iter().take(conv).map(|c| c[1]).sum()
}

/// Float at which the weights of tap `tap` lie: after all biases.
pub(super) fn linear_at(tap: usize) -> u32 {
    bias_at(CONVS.len()) + (0..tap).map(channels).sum::<u32>()
}

/// Float at which shift and scale of the input lie: after all tap weights.
pub(super) fn scaling_at() -> u32 {
    linear_at(BLOCKS)
}

/// Floats of the constants tensor.
pub(super) fn constants_len() -> u32 {
    scaling_at() + 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_convolutions() {
        let covered: Vec<_> = (0..BLOCKS).flat_map(convs).collect();
        assert_eq!(covered, (0..13).collect::<Vec<_>>());
        assert_eq!([0, 1, 2, 3, 4].map(channels), [64, 128, 256, 512, 512]);
        for pair in CONVS.windows(2) {
            assert_eq!(pair[0][1], pair[1][0]);
        }
        assert_eq!(constants_len(), 4224 + 1472 + 6);
    }
}
