//! Loss of surfaces: `w mean g (A - N . n)`, the disagreement between blended normals N and the normals n of the depth map
//! (2DGS, Huang et al. 2024, eq. 14). The weight `g = (1 - e)^2` of a pixel forgets edges of the photo: e is the gradient of its
//! grey over the steepest one (as PGSR has it, Chen et al. 2024). The coverage A is that of the
//! planes: its gradient keeps N . n from growing by mere opacity.
//!
//! [`Kind::Plain`] is the depth-normal consistency of SuGaR: `w mean (1 - M . n)`, M of length 1 with the blended x and y, n of the
//! depth that is blended whatever the coverage.
//!
//! Planes and depth map are those of [`super::surface_depth`]. The gradient reaches N directly, and N and the blended distance
//! D through the depths that n is made of; `plane_gather` collects for each pixel what the normals next to it owe to its depth.

use super::counters::Args;
use super::generated::{plane_gather, plane_loss};
use super::surface_depth::{DepthKind, Depths};
use super::views::{Pixels, Shared, Surface};
use kiln_program::{Program, Span};

/// The depths that normals are made of: those of blended planes, however far and slanted.
pub const PLANES: Depths = Depths {
    kind: DepthKind::Plane,
    far: f32::MAX,
    least_cosine: -1.0,
};

/// The depths of [`Kind::Plain`].
pub const BLENDED: Depths = Depths {
    kind: DepthKind::Blended,
    far: f32::MAX,
    least_cosine: -1.0,
};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Blended normals with those of blended planes, away from edges of the photo.
    Weighted,
    /// Normals made of the blended x and y with those of blended depths, everywhere; uniforms have `FLAG_PLANE_DEPTHS`.
    Plain,
}

impl Kind {
    /// The depths that it is about.
    #[must_use]
    pub const fn depths(self) -> Depths {
        match self {
            Self::Weighted => PLANES,
            Self::Plain => BLENDED,
        }
    }
}

/// Tensors of the loss beside those of [`Surface`].
#[derive(Clone, Copy, Debug)]
pub struct PlaneLossIo {
    /// What is compared.
    pub kind: Kind,
    /// One word: the photo's steepest gradient.
    pub steepest: Span,
    /// One word a tile.
    pub sums: Span,
}

/// Appends all passes; the image losses are reduced already, images fit a binding, and depths are those of the kind.
pub fn record(program: &mut Program, shared: &Shared, pixels: &Pixels, surface: &Surface, io: &PlaneLossIo) {
    match io.kind {
        Kind::Weighted => record_weighted(program, shared, pixels, surface, io),
        Kind::Plain => record_plain(program, shared, pixels, surface, io),
    }
}

fn spec(pixels: &Pixels) -> plane_loss::Spec {
    plane_loss::Spec {
        masked: pixels.masked.into(),
    }
}

fn record_plain(program: &mut Program, shared: &Shared, pixels: &Pixels, surface: &Surface, io: &PlaneLossIo) {
    program.pass(
        &plane_loss::PLAIN,
        spec(pixels),
        plane_loss::PlainBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            surface_gradient: surface.gradient,
            surface_plane: surface.plane,
            depth_map: surface.map,
            normal_gradient: surface.normal_gradient,
            plane_sums: io.sums,
        },
        (),
        shared.groups(Args::Tiles),
    );
    reduce(program, shared, io);
    program.pass(
        &plane_gather::PLAIN,
        (),
        plane_gather::PlainBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            surface_gradient: surface.gradient,
            depth_map: surface.map,
            normal_gradient: surface.normal_gradient,
        },
        (),
        shared.groups(Args::Tiles),
    );
}

fn reduce(program: &mut Program, shared: &Shared, io: &PlaneLossIo) {
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
}

fn record_weighted(program: &mut Program, shared: &Shared, pixels: &Pixels, surface: &Surface, io: &PlaneLossIo) {
    program.fill(io.steepest, 0);
    program.pass(
        &plane_loss::EDGES,
        spec(pixels),
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
        &plane_loss::KERNEL,
        spec(pixels),
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
    reduce(program, shared, io);
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
