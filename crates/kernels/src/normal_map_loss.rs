//! Loss of normal maps: `w mean t (1 - n . m)`, the angle between a pixel's blended normal N, made n = N / |N| of length 1, and the
//! map's m, as far as the map is trusted.
//!
//! Pixels that block no more than half the light have none, and neither have those whose normals cancel out. The gradient goes to N
//! alone.

use super::counters::Args;
use super::fading::FadingWeight;
use super::generated::normal_map_loss;
use super::views::{Pixels, Shared, Surface};
use kiln_program::{Program, Span};

/// What a step records of the loss.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Its weight.
    pub weight: FadingWeight,
    /// No loss before it has written gradients of planes.
    pub alone: bool,
    /// Photos have words of depth before those of normals.
    pub behind_depths: bool,
}

/// Appends all passes, behind those of [`super::plane_loss`] and [`super::depth_loss`] unless `alone`; `sums` has a word a tile, and
/// images fit a binding.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    pixels: &Pixels,
    surface: &Surface,
    sums: Span,
    recorded: Recorded,
) {
    if recorded.alone {
        // This loss wants nothing of normals of depths and of the coverage.
        program.fill(surface.normal_gradient, 0);
    }
    let push = normal_map_loss::Push {
        start_weight: recorded.weight.start,
        decay: recorded.weight.decay,
        from: recorded.weight.from,
        alone: recorded.alone.into(),
        behind_depths: recorded.behind_depths.into(),
    };
    program.pass(
        &normal_map_loss::KERNEL,
        normal_map_loss::Spec {
            masked: pixels.masked.into(),
        },
        normal_map_loss::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            image: pixels.image,
            surface_plane: surface.plane,
            surface_gradient: surface.gradient,
            normal_sums: sums,
        },
        push,
        shared.groups(Args::Tiles),
    );
    program.pass(
        &normal_map_loss::REDUCE,
        (),
        normal_map_loss::ReduceBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            normal_sums: sums,
        },
        push,
        shared.groups(Args::One),
    );
}
