//! Blends the sorted splats of each tile front to back: `C = sum c_i a_i T_i`, `T_i = prod (1 - a_j)`.
//!
//! A splat counts where its exponent is not positive and its alpha is at least 1/255; alpha is capped at 0.99, and a
//! pixel stops before the splat that would take its transmittance below 1e-4. Where surfaces are drawn, planes and depths of
//! splats are blended like their colours.

use super::counters::Args;
use super::generated::{rasterize, rasterize_lanes};
use super::views::{IMAGE_BYTES, Intersections, Pixels, Shared, Splats, Threads, Variants};
use kiln_program::{Program, Shader};

/// Appends the pass.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    variants: &Variants,
) {
    let spec = rasterize::Spec {
        owners: variants.owners(),
    };
    let by_columns = rasterize::ColumnSpec {
        base: spec,
        unrolled: variants.unrolled(),
    };
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        let bind = rasterize::ColumnBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            tile_ranges: intersections.tile_ranges,
            payloads: intersections.payloads,
            owners: intersections.owners,
            splat_position: splats.position,
            splat_conic: splats.conic,
            splat_color: splats.color,
            image: swath.part(pixels.image, IMAGE_BYTES),
            last_contributor: swath.part(pixels.last_contributor, 4),
        };
        let push = rasterize::Push {
            swath_begin: swath.begin,
            swath_end: swath.end,
            swath_base: swath.base,
        };
        let groups = shared.groups(Args::Tiles);
        if let Some((splat_plane, surface)) = splats.plane.zip(pixels.surface) {
            let bind = rasterize::ColumnSurfaceBind {
                base: bind,
                splat_plane,
                surface_plane: swath.part(surface.plane, 16),
                surface_depth: swath.part(surface.depth, 8),
            };
            if variants.threads == Threads::Pixels {
                let tile_order = intersections.tile_order;
                let bind = rasterize::SurfaceBind { base: bind, tile_order };
                program.pass(&rasterize::SURFACE, spec, bind, push, groups);
            } else {
                program.pass(&rasterize::COLUMN_SURFACE, by_columns, bind, push, groups);
            }
            continue;
        }
        match variants.threads {
            Threads::Lanes => program.pass(&rasterize_lanes::KERNEL, by_columns, bind, push, groups),
            Threads::Columns => program.pass(&rasterize::COLUMN, by_columns, bind, push, groups),
            Threads::Pixels => {
                let bind = rasterize::Bind {
                    base: bind,
                    tile_order: intersections.tile_order,
                };
                program.pass(&rasterize::KERNEL, spec, bind, push, groups);
            }
        }
    }
}

/// The shader that blends.
#[must_use]
pub fn shader(variants: &Variants) -> &'static Shader {
    match variants.threads {
        Threads::Lanes => &rasterize_lanes::KERNEL.shader,
        Threads::Columns => &rasterize::COLUMN.shader,
        Threads::Pixels => &rasterize::KERNEL.shader,
    }
}
