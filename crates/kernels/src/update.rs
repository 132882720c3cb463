//! Projection backward, densification statistics and Adam in one pass per chunk; no parameter gradient reaches memory.

use super::counters::Args;
use super::cull::group_window;
use super::generated::update;
use super::views::{Chunk, Shared, Splats};
use kiln_gaussians::layout::Storage;
use kiln_program::{Program, Span};

/// Appends one pass per chunk. Gradients of planes are taken on where records have them, and those of the density's terms where
/// there are `terms`, one for each chunk. Colours wait in [`Storage::Exact`] alone, and not in such models; bound ones have no gradients
/// of planes either.
///
/// # Panics
/// Where a model in [`Storage::Half`] is bound, or has gradients of planes or terms: there is no kernel for it, and profiles that ask for
/// it are refused.
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
        let storage = chunk.storage;
        if chunk.planes.bound {
            let kernel = special(storage, &update::BOUND, &update::COMPACT_BOUND);
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        match (splats.gradient_d, terms(chunk)) {
            (Some(gradient_d), Some(term_gradient)) => {
                let base = update::SurfaceBind { base: bind, gradient_d };
                let bind = update::SurfaceDenseBind { base, term_gradient };
                let kernel = special(storage, &update::SURFACE_DENSE, &update::COMPACT_SURFACE_DENSE);
                program.pass(kernel, spec, bind, push, at);
            }
            (None, Some(term_gradient)) => {
                let bind = update::DenseBind {
                    base: bind,
                    term_gradient,
                };
                let kernel = special(storage, &update::DENSE, &update::COMPACT_DENSE);
                program.pass(kernel, spec, bind, push, at);
            }
            (Some(gradient_d), None) => {
                let bind = update::SurfaceBind { base: bind, gradient_d };
                let kernel = special(storage, &update::SURFACE, &update::COMPACT_SURFACE);
                program.pass(kernel, spec, bind, push, at);
            }
            (None, None) => match (storage, seen_plane) {
                (Storage::Exact, Some(seen_plane)) => {
                    let push = update::DeferredPush { base: push, seen_plane };
                    program.pass(&update::DEFERRED, spec, bind, push, at);
                }
                (Storage::Exact, None) => program.pass(&update::KERNEL, spec, bind, push, at),
                (Storage::Half, _) => program.pass(&update::HALF, spec, bind, push, at),
                (Storage::Compact, _) => program.pass(&update::COMPACT, spec, bind, push, at),
            },
        }
    }
}

/// The kernel of a special model, which no [`Storage::Half`] has.
fn special<K>(storage: Storage, exact: &'static K, compact: &'static K) -> &'static K {
    assert!(
        storage != Storage::Half,
        "a model in half storage is neither bound nor trained by planes or terms"
    );
    if storage == Storage::Exact { exact } else { compact }
}
