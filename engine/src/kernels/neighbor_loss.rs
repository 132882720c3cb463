//! Loss of two views: what a trained view shows is consistent with a neighbouring one (PGSR, Chen et al. 2024, sec. 3.3).
//!
//! - Geometric term: the point that a pixel p shows, at depth z = D / (-N . r) on its ray r, goes to the neighbour's camera, is moved
//!   along the ray there to the depth that the neighbour shows, and comes back to the pixel p'. With e = |p' - p| in pixels the term is
//!   the mean over pixels with e < 1 of exp(-e) e.
//! - Photometric term: the plane N . x + D = 0 takes the 7 x 7 pixels around p to the neighbour by the homography
//!   K' (R - t n^T / d) K^-1, n and d being N and D over the coverage, which cancels. The term is the mean over patches of exp(-e)
//!   (1 - NCC), NCC the normalised correlation of the greys. At most [`MOST_PATCHES`] pixels have a patch, drawn anew in each step.
//!
//! exp(-e) is a constant of the step. The gradient reaches N and D of the trained view, where it adds to that of other losses of
//! planes; the neighbour is as it is. Sums are in a fixed order.

use super::counters::Args;
use super::generated::{neighbor_gather, neighbor_loss, neighbor_map, neighbor_patches};
use super::views::{Pixels, Shared, Surface};
use crate::program::{Groups, Program, Span};

pub use super::generated::common::{CHANNEL_PATCH, MOST_PATCHES};

/// Weights of the two terms in the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairWeights {
    /// Of the geometric one.
    pub geometry: f32,
    /// Of the photometric one.
    pub photometric: f32,
}

/// Weights come from checked settings: none is NaN.
impl Eq for PairWeights {}

/// What a neighbouring view leaves for the step that compares with it.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// [`super::uniforms::StepUniforms`] that it was drawn with.
    pub uniforms: Span,
    /// Depth, 0 for none, and grey of its photo, -1 for none: `vec2` a pixel.
    pub map: Span,
}

/// Tensors of the loss beside those of [`Surface`].
#[derive(Clone, Copy, Debug)]
pub struct PairIo {
    /// What it compares with.
    pub neighbor: Neighbor,
    /// exp(-e) and its product with the derivative of e by the depth, 0 where a pixel is not consistent: `vec2` a pixel.
    pub pixels: Span,
    /// Gradients of patches by N and D: `vec4` each.
    pub patches: Span,
    /// Sums and counts, of tiles and behind them of groups of patches; see [`sums_bytes`].
    pub sums: Span,
    /// One `vec4`: each weight over its count, then both means.
    pub means: Span,
    /// Weights.
    pub weights: PairWeights,
}

/// Pixels that share a patch in images of `pixels`.
#[must_use]
pub const fn patch_share(pixels: u32) -> u32 {
    pixels.div_ceil(MOST_PATCHES)
}

/// Most patches of images with at most `max_pixels`.
#[must_use]
pub const fn most_patches(max_pixels: u32) -> u32 {
    // Of larger images fewer pixels have one, but never more than there is room for.
    if max_pixels < MOST_PATCHES {
        max_pixels
    } else {
        MOST_PATCHES
    }
}

/// Bytes of the sums of images with at most `max_tiles` and `max_pixels`.
#[must_use]
pub fn sums_bytes(max_tiles: u32, max_pixels: u32) -> u64 {
    8 * u64::from(max_tiles + most_patches(max_pixels).div_ceil(256))
}

/// Appends the pass that leaves a drawn view in `neighbor`, for images of at most `max_pixels`; its photo is the target.
pub fn record_neighbor(
    program: &mut Program,
    shared: &Shared,
    pixels: &Pixels,
    surface: &Surface,
    neighbor: &Neighbor,
    max_pixels: u32,
) {
    program.pass(
        &neighbor_map::KERNEL,
        neighbor_map::Spec {
            masked: pixels.masked.into(),
        },
        neighbor_map::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            image: pixels.image,
            surface_plane: surface.plane,
            neighbor_map: neighbor.map,
        },
        (),
        Groups::cover(max_pixels, 256),
    );
    program.copy(shared.uniforms, neighbor.uniforms);
}

/// Appends all passes behind those of [`super::surface_depth`], and of other losses of planes unless `alone`; images fit a binding and
/// have at most `max_pixels`.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    pixels: &Pixels,
    surface: &Surface,
    io: &PairIo,
    max_pixels: u32,
    alone: bool,
) {
    if alone {
        program.fill(surface.gradient, 0);
        program.fill(surface.normal_gradient, 0);
    }
    geometry(program, shared, pixels, surface, io);
    program.pass(
        &neighbor_patches::KERNEL,
        neighbor_patches::Spec {
            masked: pixels.masked.into(),
        },
        neighbor_patches::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            neighbor: io.neighbor.uniforms,
            target: pixels.target,
            surface_plane: surface.plane,
            neighbor_map: io.neighbor.map,
            pair_pixels: io.pixels,
            pair_patches: io.patches,
            pair_sums: io.sums,
        },
        (),
        Groups::cover(most_patches(max_pixels), 256),
    );
    program.pass(
        &neighbor_loss::REDUCE,
        (),
        neighbor_loss::ReduceBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            pair_sums: io.sums,
            pair_means: io.means,
        },
        neighbor_loss::Push {
            geometry: io.weights.geometry,
            photometric: io.weights.photometric,
        },
        shared.groups(Args::One),
    );
    program.pass(
        &neighbor_gather::KERNEL,
        (),
        neighbor_gather::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            surface_plane: surface.plane,
            pair_pixels: io.pixels,
            pair_patches: io.patches,
            pair_means: io.means,
            surface_gradient: surface.gradient,
        },
        (),
        shared.groups(Args::Tiles),
    );
}

fn geometry(program: &mut Program, shared: &Shared, pixels: &Pixels, surface: &Surface, io: &PairIo) {
    program.pass(
        &neighbor_loss::KERNEL,
        neighbor_loss::Spec {
            masked: pixels.masked.into(),
        },
        neighbor_loss::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            neighbor: io.neighbor.uniforms,
            depth_map: surface.map,
            neighbor_map: io.neighbor.map,
            pair_pixels: io.pixels,
            pair_sums: io.sums,
            target: pixels.target,
        },
        (),
        shared.groups(Args::Tiles),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_patches_than_room() {
        for pixels in [1_u32, 7, 102_399, 102_400, 102_401, 204_801, 1_700_800, 8_388_608] {
            let patches = pixels.div_ceil(patch_share(pixels));
            assert!(patches <= most_patches(pixels) && patches <= MOST_PATCHES, "{pixels}");
            // And more than half of what there may be.
            assert!(2 * patches > most_patches(pixels), "{pixels}");
        }
        assert_eq!(sums_bytes(6700, 1_700_800), 8 * (6700 + 400));
    }
}
