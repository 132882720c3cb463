//! Gradients of the visible splats' position, conic, opacity and colour, and the absolute-gradient statistic.
//!
//! `segmented`: each tile stores its sums at the splat's emission slot, `gradient_fold` adds a splat's slots in order.
//! `atomic`: subgroup sums go to the splat's record with float atomics. `compare_exchange`: the same with integer
//! atomics alone. All end with `gradient_check`, which stalls the step when anything is not finite.

use super::counters::Args;
use super::generated::{gradient_check, gradient_fold, rasterize_backward, rasterize_backward_lanes, splat_clear};
use super::views::{IMAGE_BYTES, Intersections, Pixels, Reduction, Shared, Splats, Threads, Variants};
use crate::program::{Program, Shader, Span};

/// Appends all passes: [`record_clear`], [`record_sums`], [`record_check`].
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &[Span; 3],
    variants: &Variants,
) {
    record_clear(program, shared, splats);
    record_sums(program, shared, splats, intersections, pixels, partials, variants);
    record_check(program, shared, splats);
}

/// Appends the clear of the visible splats' gradient records.
pub fn record_clear(program: &mut Program, shared: &Shared, splats: &Splats) {
    program.pass(
        &splat_clear::KERNEL,
        (),
        splat_clear::Bind {
            counters: shared.counters,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
        },
        (),
        shared.groups(Args::Visible),
    );
}

/// Appends what adds the gradients of the tiles in the band to the records: [`record_tiles`], [`record_fold`].
pub fn record_sums(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &[Span; 3],
    variants: &Variants,
) {
    record_tiles(program, shared, splats, intersections, pixels, partials, variants);
    record_fold(program, shared, splats, intersections, partials, variants);
}

/// Appends the sums of the tiles in the band; `partials` are three 16-byte streams per intersection, where they go with the
/// segmented reduction, and to the records without.
pub fn record_tiles(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &[Span; 3],
    variants: &Variants,
) {
    let spec = rasterize_backward::Spec {
        owners: variants.owners(),
        scores: u32::from(pixels.scores),
        statistic: u32::from(pixels.statistic),
    };
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        let bind = rasterize_backward::ColumnBind {
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
            image_gradient: swath.part(pixels.gradient, IMAGE_BYTES),
            gradient_a: partials[0],
            gradient_b: partials[1],
            gradient_c: partials[2],
        };
        let push = rasterize_backward::Push {
            swath_begin: swath.begin,
            swath_end: swath.end,
            swath_base: swath.base,
        };
        let kernel = match variants.reduction {
            Reduction::Segmented if variants.threads == Threads::Lanes => {
                program.pass(
                    &rasterize_backward_lanes::KERNEL,
                    spec,
                    bind,
                    push,
                    shared.groups(Args::Tiles),
                );
                continue;
            }
            Reduction::Segmented => {
                program.pass(
                    &rasterize_backward::COLUMN,
                    spec,
                    bind,
                    push,
                    shared.groups(Args::Tiles),
                );
                continue;
            }
            Reduction::Atomic => &rasterize_backward::ATOMIC,
            Reduction::CompareExchange => &rasterize_backward::COMPARE_EXCHANGE,
        };
        let bind = rasterize_backward::AtomicBind {
            uniforms: bind.uniforms,
            counters: bind.counters,
            tile_ranges: bind.tile_ranges,
            payloads: bind.payloads,
            owners: bind.owners,
            splat_position: bind.splat_position,
            splat_conic: bind.splat_conic,
            splat_color: bind.splat_color,
            image: bind.image,
            last_contributor: bind.last_contributor,
            image_gradient: bind.image_gradient,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
            tile_order: intersections.tile_order,
        };
        program.pass(kernel, spec, bind, push, shared.groups(Args::Halves));
    }
}

/// Appends what adds the partial sums to the records, with the segmented reduction.
pub fn record_fold(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    [a, b, c]: &[Span; 3],
    variants: &Variants,
) {
    if variants.reduction != Reduction::Segmented {
        return;
    }
    program.pass(
        &gradient_fold::KERNEL,
        (),
        gradient_fold::Bind {
            counters: shared.counters,
            emission_start: splats.emission_start,
            tile_counts: splats.tile_counts,
            partial_a: *a,
            partial_b: *b,
            partial_c: *c,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
            owners: intersections.owners,
        },
        (),
        shared.groups(Args::Visible),
    );
}

/// The shader that makes the sums of a tile.
#[must_use]
pub fn sums(variants: &Variants) -> &'static Shader {
    match variants.reduction {
        Reduction::Segmented if variants.threads == Threads::Lanes => &rasterize_backward_lanes::KERNEL.shader,
        Reduction::Segmented => &rasterize_backward::COLUMN.shader,
        Reduction::Atomic => &rasterize_backward::ATOMIC.shader,
        Reduction::CompareExchange => &rasterize_backward::COMPARE_EXCHANGE.shader,
    }
}

/// Appends the search for values that are not finite.
pub fn record_check(program: &mut Program, shared: &Shared, splats: &Splats) {
    program.pass(
        &gradient_check::KERNEL,
        (),
        gradient_check::Bind {
            counters: shared.counters,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
        },
        (),
        shared.groups(Args::Visible),
    );
}
