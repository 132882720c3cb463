//! Loss of surfaces: `w mean g (A - N . n)`, the disagreement between blended normals N and the normals n of the depth map
//! (2DGS, Huang et al. 2024, eq. 14). The weight `g = (1 - e)^2` of a pixel forgets edges of the photo: e is the gradient of its
//! grey over the steepest one (as PGSR has it, Chen et al. 2024). The coverage A is that of the
//! planes: its gradient keeps N . n from growing by mere opacity.
//!
//! Planes and depth map are those of [`super::surface_depth`]. The gradient reaches N directly, and N and the blended distance
//! D through the depths that n is made of; `plane_gather` collects for each pixel what the normals next to it owe to its depth.

use super::counters::Args;
use super::generated::{plane_gather, plane_loss};
use super::surface_depth::{DepthKind, Depths};
use super::views::{Pixels, Shared, Surface};
use crate::program::{Program, Span};

/// The depths that normals are made of: those of blended planes, however far and slanted.
pub const PLANES: Depths = Depths {
    kind: DepthKind::Plane,
    far: f32::MAX,
    least_cosine: -1.0,
};

/// Tensors of the loss beside those of [`Surface`].
#[derive(Clone, Copy, Debug)]
pub struct PlaneLossIo {
    /// One word: the photo's steepest gradient.
    pub steepest: Span,
    /// One word a tile.
    pub sums: Span,
}

/// Appends all passes; the image losses are reduced already, images fit a binding, and depths are [`PLANES`].
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, surface: &Surface, io: &PlaneLossIo) {
    let (edges, loss) = if pixels.masked {
        (&plane_loss::MASKED_EDGES, &plane_loss::MASKED)
    } else {
        (&plane_loss::EDGES, &plane_loss::KERNEL)
    };
    program.fill(io.steepest, 0);
    program.pass(
        edges,
        (),
        plane_loss::EdgesBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            steepest: io.steepest,
        },
        (),
        shared.groups(Args::Tiles),
    );
    program.pass(
        loss,
        (),
        plane_loss::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            steepest: io.steepest,
            image: pixels.image,
            surface_plane: surface.plane,
            depth_map: surface.map,
            normal_gradient: surface.normal_gradient,
            plane_sums: io.sums,
        },
        (),
        shared.groups(Args::Tiles),
    );
    program.pass(
        &plane_loss::REDUCE,
        (),
        plane_loss::ReduceBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            plane_sums: io.sums,
        },
        (),
        shared.groups(Args::One),
    );
    program.pass(
        &plane_gather::KERNEL,
        (),
        plane_gather::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            surface_plane: surface.plane,
            depth_map: surface.map,
            normal_gradient: surface.normal_gradient,
            surface_gradient: surface.gradient,
        },
        (),
        shared.groups(Args::Tiles),
    );
}
