//! Projection backward, densification statistics and Adam in one pass per chunk; no parameter gradient reaches memory.

use super::counters::Args;
use super::cull::group_window;
use super::generated::update;
use super::views::{Chunk, Shared, Splats};
use crate::gaussians::layout::Storage;
use crate::program::{Program, Span};

/// Appends one pass per chunk. Gradients of planes are taken on where records have them, and those of the density's terms where
/// there are `terms`, one for each chunk; no colours of such models wait, and none of
/// bound ones, which have no gradients of planes either.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: Span,
    splats: &Splats,
    sh_coefficients: u32,
    terms: impl Fn(&Chunk) -> Option<Span>,
) {
    let spec = update::Spec { lens: shared.lens };
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let seen_plane = chunk.planes.seen_plane();
        let bind = update::Bind {
            uniforms: seen_plane.map_or(shared.uniforms, |_| shared.rates),
            counters: shared.counters,
            geometry: chunk.geometry,
            geometry_m: chunk.geometry_m,
            geometry_v: chunk.geometry_v,
            sh: chunk.sh,
            sh_m: chunk.sh_m,
            sh_v: chunk.sh_v,
            filter_3d: chunk.filter_3d,
            statistics: chunk.statistics,
            visible_mask: chunk.visible_mask,
            group_visible: groups,
            splat_color: splats.color,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
        };
        let push = update::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
            sh_coefficients,
        };
        let at = shared.groups(Args::Chunk(chunk.index));
        if chunk.planes.bound {
            let kernel = match chunk.storage {
                Storage::Exact => &update::BOUND,
                Storage::Half => &update::HALF_BOUND,
                Storage::Compact => &update::COMPACT_BOUND,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        let term_gradient = terms(chunk);
        if let Some((gradient_d, term_gradient)) = splats.gradient_d.zip(term_gradient) {
            let bind = update::SurfaceDenseBind {
                base: update::SurfaceBind { base: bind, gradient_d },
                term_gradient,
            };
            let kernel = match chunk.storage {
                Storage::Exact => &update::SURFACE_DENSE,
                Storage::Half => &update::HALF_SURFACE_DENSE,
                Storage::Compact => &update::COMPACT_SURFACE_DENSE,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        if let Some(term_gradient) = term_gradient {
            let bind = update::DenseBind {
                base: bind,
                term_gradient,
            };
            let kernel = match chunk.storage {
                Storage::Exact => &update::DENSE,
                Storage::Half => &update::HALF_DENSE,
                Storage::Compact => &update::COMPACT_DENSE,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        if let Some(gradient_d) = splats.gradient_d {
            let bind = update::SurfaceBind { base: bind, gradient_d };
            let kernel = match chunk.storage {
                Storage::Exact => &update::SURFACE,
                Storage::Half => &update::HALF_SURFACE,
                Storage::Compact => &update::COMPACT_SURFACE,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        let waiting = match chunk.storage {
            Storage::Exact => Some(&update::DEFERRED),
            Storage::Half => Some(&update::HALF_DEFERRED),
            Storage::Compact => None,
        };
        let Some((seen_plane, kernel)) = seen_plane.zip(waiting) else {
            let kernel = match chunk.storage {
                Storage::Exact => &update::KERNEL,
                Storage::Half => &update::HALF,
                Storage::Compact => &update::COMPACT,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        };
        let push = update::DeferredPush { base: push, seen_plane };
        program.pass(kernel, spec, bind, push, at);
    }
}
