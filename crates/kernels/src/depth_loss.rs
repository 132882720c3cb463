//! Loss of depth maps: `w mean t rho(1 / (u z) - m)`, the disagreement between a render's inverse depth and a map's m, in the photo's
//! unit u, as far as the map is trusted. `rho(r) = c |r| / (c + |r|)` bounds what wrong parts of a map can pull.
//!
//! The depth z is where rays meet blended planes, as in [`super::plane_loss`]; the gradient goes to these planes.

use super::counters::Args;
use super::fading::FadingWeight;
use super::generated::depth_loss;
use super::views::{Pixels, Shared, Surface};
use kiln_program::{Program, Span};

/// Appends all passes behind those of [`super::surface_depth`], and of [`super::plane_loss`] unless `alone`; `sums` has a word a tile,
/// and the photo's words of depth lie behind its colours and mask. Images fit a binding.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    pixels: &Pixels,
    surface: &Surface,
    sums: Span,
    weight: FadingWeight,
    alone: bool,
) {
    if alone {
        // This loss wants nothing of normals and of the coverage.
        program.fill(surface.normal_gradient, 0);
    }
    let push = depth_loss::Push {
        start_weight: weight.start,
        decay: weight.decay,
        from: weight.from,
        alone: alone.into(),
    };
    program.pass(
        &depth_loss::KERNEL,
        depth_loss::Spec {
            masked: pixels.masked.into(),
        },
        depth_loss::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            target: pixels.target,
            surface_plane: surface.plane,
            depth_map: surface.map,
            surface_gradient: surface.gradient,
            depth_sums: sums,
        },
        push,
        shared.groups(Args::Tiles),
    );
    program.pass(
        &depth_loss::REDUCE,
        (),
        depth_loss::ReduceBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            depth_sums: sums,
        },
        push,
        shared.groups(Args::One),
    );
}
