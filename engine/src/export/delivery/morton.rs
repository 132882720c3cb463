//! Neighbours in space become neighbours in the file: Morton order.
//!
//! Runs of 256 Gaussians then span little space, which the ranges of compressed PLY need, and the bytes of positions
//! repeat, which general compression likes.

use super::Chosen;

/// Bits of each axis in a key.
const BITS: u32 = 21;

/// Puts the Gaussians in Morton order of their centres within their bounds; those of one cell by number.
pub(super) fn sort(chosen: &mut Chosen<'_>) {
    let [low, high] = chosen.bounds();
    let cells = f64::from((1_u32 << BITS) - 1);
    let cell = |value: f32, axis: usize| {
        let (low, high) = (f64::from(low[axis]), f64::from(high[axis]));
        // Casts from floats saturate; an axis without extent gives 0 / 0, which becomes 0.
        ((f64::from(value) - low) / (high - low) * cells) as u64
    };
    let mut keyed: Vec<(u64, u32)> = (0..chosen.len())
        .map(|index| {
            let mean = chosen.mean(index);
            let [x, y, z] = [0, 1, 2].map(|axis| spread(cell(mean[axis], axis)));
            (x | y << 1 | z << 2, chosen.numbers()[index])
        })
        .collect();
    keyed.sort_unstable();
    *chosen.numbers_mut() = keyed.into_iter().map(|(_, number)| number).collect();
}

/// Two zero bits after each of the lowest 21.
fn spread(value: u64) -> u64 {
    let mut v = value & 0x1f_ffff;
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        v = (v | v << shift) & mask;
    }
    v
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::plugins::Subset;
    use kiln_gaussians::Gaussians;

    #[test]
    fn bits_spread_and_do_not_meet() {
        assert_eq!(spread(0x1f_ffff), 0x1249_2492_4924_9249);
        for bit in 0..21 {
            assert_eq!(spread(1 << bit), 1 << (3 * bit));
        }
    }

    #[test]
    fn corners_come_in_order_and_one_plane_does_no_harm() {
        let corners: Vec<[f32; 3]> = [7, 3, 5, 1, 6, 2, 4, 0]
            .map(|bits: u32| [0, 1, 2].map(|axis| (bits >> axis & 1) as f32))
            .to_vec();
        let order = |means: Vec<[f32; 3]>| {
            let n = means.len();
            let model = Gaussians {
                means,
                quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
                log_scales: vec![[0.0; 3]; n],
                logit_opacities: vec![0.0; n],
                sh0: vec![[0.0; 3]; n],
                filter_3d: vec![0.0; n],
                ..Gaussians::default()
            };
            let mut chosen = Chosen::new(&model, &Subset::default()).unwrap();
            sort(&mut chosen);
            chosen.numbers().to_vec()
        };
        assert_eq!(order(corners), [7, 3, 5, 1, 6, 2, 4, 0]);
        assert_eq!(
            order(vec![[1.0, 5.0, 5.0], [0.0, 5.0, 5.0], [1.0, 5.0, 5.0]]),
            [1, 0, 2]
        );
    }
}
