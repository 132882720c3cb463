//! Depth and normal of every pixel, from the planes and depths that [`super::rasterize`] blended.

use super::generated::{common, surface_depth};
use super::views::{Pixels, Shared, Surface};
use kiln_program::{Groups, Program};

/// What the depth of a pixel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum DepthKind {
    /// Where the pixel's ray meets the blended plane.
    #[default]
    Plane = common::DEPTH_PLANE,
    /// Where half the light is blocked.
    Median = common::DEPTH_MEDIAN,
    /// Mean of the splats' depths by their blending weights.
    Expected = common::DEPTH_EXPECTED,
    /// Sum of the splats' depths by their blending weights; for planes whose fourth value is a depth.
    Blended = common::DEPTH_BLENDED,
}

/// Which depths count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Depths {
    /// What they are.
    pub kind: DepthKind,
    /// Depths beyond it are none, world units.
    pub far: f32,
    /// Cosine of the angle between ray and normal below which a depth is none; -1 takes all.
    pub least_cosine: f32,
}

/// Appends the pass for images of at most `max_pixels`. A stalled view has no depths.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    pixels: &Pixels,
    surface: &Surface,
    depths: Depths,
    max_pixels: u32,
) {
    program.pass(
        &surface_depth::KERNEL,
        (),
        surface_depth::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            image: pixels.image,
            surface_plane: surface.plane,
            surface_depth: surface.depth,
            depth_map: surface.map,
        },
        surface_depth::Push {
            kind: depths.kind as u32,
            far: depths.far,
            least_cosine: depths.least_cosine,
        },
        Groups::cover(max_pixels, 256),
    );
}
