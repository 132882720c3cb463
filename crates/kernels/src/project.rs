//! Records of the visible Gaussians: EWA projection with the 3D and the 2D Mip filter, colour from SH, tile count.

use super::counters::Args;
use super::cull::group_window;
pub use super::generated::common::DEPTH_KEY_BITS;
use super::generated::project;
use super::views::{Chunk, Shared, Splats};
use kiln_gaussians::layout::Storage;
use kiln_program::{Program, Span};

/// Appends one pass per chunk. Chunks write disjoint records of the same streams; the streams are declared written, so
/// the recorder puts a barrier between chunks. Planes are written where there is room for them; no colours of such
/// models wait.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], group_visible: Span, splats: &Splats) {
    let spec = project::Spec { lens: shared.lens };
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let seen_plane = chunk.planes.seen_plane();
        let bind = project::Bind {
            uniforms: seen_plane.map_or(shared.uniforms, |_| shared.rates),
            counters: shared.counters,
            geometry: chunk.geometry,
            filter_3d: chunk.filter_3d,
            sh: chunk.sh,
            visible_mask: chunk.visible_mask,
            group_visible: groups,
            splat_position: splats.position,
            splat_conic: splats.conic,
            splat_color: splats.color,
            depth_keys: splats.depth_keys,
            tile_counts: splats.tile_counts,
        };
        let push = project::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
        };
        let at = shared.groups(Args::Chunk(chunk.index));
        if let Some(splat_plane) = splats.plane {
            let bind = project::SurfaceBind {
                base: bind,
                splat_plane,
            };
            let kernel = match chunk.storage {
                Storage::Exact => &project::SURFACE,
                Storage::Half | Storage::Compact => &project::HALF_SURFACE,
            };
            program.pass(kernel, spec, bind, push, at);
            continue;
        }
        let seen_plane = match chunk.storage {
            Storage::Exact => seen_plane,
            Storage::Half | Storage::Compact => {
                program.pass(&project::HALF, spec, bind, push, at);
                continue;
            }
        };
        let Some(seen_plane) = seen_plane else {
            program.pass(&project::KERNEL, spec, bind, push, at);
            continue;
        };
        let bind = project::DeferredBind {
            base: bind,
            sh_m: chunk.sh_m,
            sh_v: chunk.sh_v,
        };
        let push = project::DeferredPush { base: push, seen_plane };
        program.pass(&project::DEFERRED, spec, bind, push, at);
    }
}
