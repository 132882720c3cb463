//! How many bytes each pass of a step has to move, at least.
//!
//! Every tensor counts once a pass for what the pass reads of it and once for what it writes, as if caches were perfect
//! within a pass and empty between passes. Records that several tiles share count once. Times that memory alone would
//! take follow from this; arithmetic, atomics and the start of a dispatch are not in it.

/// What the bytes are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sizes {
    /// Gaussians.
    pub(super) gaussians: f64,
    /// Visible Gaussians.
    pub(super) visible: f64,
    /// Tile intersections.
    pub(super) intersections: f64,
    /// Pixels.
    pub(super) pixels: f64,
    /// Bytes a pixel of the photo that a step copies: none where photos are on the device.
    pub(super) photo_bytes: f64,
    /// Bits of a tile's number.
    pub(super) tile_bits: f64,
    /// Bytes a Gaussian of centres, rotations, scales and opacity.
    pub(super) geometry_bytes: f64,
    /// Bytes a Gaussian of SH coefficients.
    pub(super) sh_bytes: f64,
    /// The same with their moments, and what counts their steps.
    pub(super) sh_state_bytes: f64,
    /// Bytes a Gaussian of everything that training keeps: values, moments, statistics, filter.
    pub(super) state_bytes: f64,
}

impl Sizes {
    /// The same where only `share` of the SH coefficients takes part: steps do not touch the others.
    pub(super) fn with_sh_share(self, share: f64) -> Self {
        Self {
            sh_bytes: share * self.sh_bytes,
            sh_state_bytes: share * self.sh_state_bytes,
            state_bytes: self.state_bytes - (1.0 - share) * self.sh_state_bytes,
            ..self
        }
    }
}

/// Position, conic and colour of a visible Gaussian, 16 bytes each; its gradients take as much.
const RECORD: f64 = 48.0;
/// Rounds of eight bits in a sort by depth.
const DEPTH_ROUNDS: f64 = 4.0;
/// Red, green, blue and transmittance.
const IMAGE: f64 = 16.0;
/// Three maps a channel.
const MAPS: f64 = 36.0;
/// Red, green and blue of the photo.
pub(super) const PHOTO: f64 = 3.0;

/// Bytes that the pass moves in a step; `None` for passes whose traffic is small or unknown.
pub(super) fn bytes(pass: &str, s: &Sizes) -> Option<f64> {
    let (n, m, i, p) = (s.gaussians, s.visible, s.intersections, s.pixels);
    let tile_rounds = (s.tile_bits / 8.0).ceil();
    let family = pass.split('.').next().unwrap_or(pass);
    Some(match family {
        "copy" => s.photo_bytes * p,
        // The filter too; out comes a bit.
        "cull" => n * (s.geometry_bytes + 4.0 + 0.125),
        "project" => m * (s.geometry_bytes + 4.0 + s.sh_bytes + RECORD + 8.0),
        // Keys; their numbers are read and written beside them except where the first round makes them up.
        "sort_count" => 4.0 * (DEPTH_ROUNDS * m + tile_rounds * i),
        "sort_scatter" => 16.0 * (DEPTH_ROUNDS * m + tile_rounds * i) - 4.0 * m,
        "tile_sum" => 8.0 * m,
        "emit" => m * (RECORD + 8.0) + 8.0 * i,
        "tile_ranges" => 4.0 * i,
        "tile_order" => 20.0 * p / 256.0,
        "rasterize" | "rasterize_lanes" => 4.0 * i + RECORD * m + (IMAGE + 4.0) * p,
        "ssim_maps" | "ssim_strip" => (IMAGE + PHOTO + MAPS) * p,
        "loss_gradient" | "loss_gradient_strip" => (MAPS + IMAGE + PHOTO + IMAGE) * p,
        "splat_clear" => RECORD * m,
        _ if pass == "rasterize_backward.column" || family == "rasterize_backward_lanes" => {
            (4.0 + RECORD) * i + RECORD * m + (2.0 * IMAGE + 4.0) * p
        }
        "rasterize_backward" => 4.0 * i + 3.0 * RECORD * m + (2.0 * IMAGE + 4.0) * p,
        "gradient_fold" => (4.0 + RECORD) * i + RECORD * m,
        "gradient_check" => RECORD * m,
        // Colours out of view wait.
        "update" if pass.contains("deferred") => {
            n * (2.0 * (s.state_bytes - s.sh_state_bytes) + 0.125) + m * (2.0 * s.sh_state_bytes + RECORD)
        }
        "update" => n * (2.0 * s.state_bytes + 0.125) + RECORD * m,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const EXACT: Sizes = Sizes {
        gaussians: 1e6,
        visible: 0.0,
        intersections: 0.0,
        pixels: 0.0,
        photo_bytes: PHOTO,
        tile_bits: 11.0,
        geometry_bytes: 44.0,
        sh_bytes: 192.0,
        sh_state_bytes: 576.0,
        state_bytes: 728.0,
    };

    #[test]
    fn a_dense_update_reads_and_writes_the_whole_state() {
        // 59 values with two moments each, read and written, make 1416 bytes; filter and statistics are the rest.
        let moved = bytes("update", &EXACT).unwrap();
        assert!((moved / 1e6 - (1416.0 + 40.0 + 0.125)).abs() < 1e-6, "{moved}");
    }

    #[test]
    fn a_deferred_update_leaves_colours_out_of_view_alone() {
        let seen = |visible| {
            let sizes = Sizes {
                visible,
                sh_state_bytes: 580.0,
                state_bytes: 732.0,
                ..EXACT
            };
            bytes("update.deferred", &sizes).unwrap() / 1e6
        };
        assert!((seen(0.0) - 304.125).abs() < 1e-6, "{}", seen(0.0));
        assert!((seen(1e6) - seen(0.0) - 1160.0 - RECORD).abs() < 1e-6, "{}", seen(1e6));
    }

    #[test]
    fn variants_share_a_row_and_the_rest_is_unknown() {
        let seen = Sizes {
            visible: 1e5,
            intersections: 1e6,
            ..EXACT
        };
        // two rounds over tiles of eleven bits
        assert_eq!(bytes("sort_scatter.subgroup", &seen), Some(16.0 * (4e5 + 2e6) - 4e5));
        assert!(bytes("rasterize_backward.column", &seen) > bytes("rasterize_backward.atomic", &seen));
        assert_eq!(bytes("prepare_args", &seen), None);
    }
}
