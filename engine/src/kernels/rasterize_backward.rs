//! Gradients of the visible splats' position, conic, opacity and colour, and the absolute-gradient statistic.
//!
//! `segmented`: each tile stores its sums at the splat's emission slot, `gradient_fold` adds a splat's slots in order.
//! `atomic`: subgroup sums go to the splat's record with float atomics. `compare_exchange`: the same with integer
//! atomics alone. All end with `gradient_check`, which stalls the step when anything is not finite.
//!
//! Records with room for gradients of planes get them from those of the blended planes, and what those say about opacity,
//! position and conic.

use super::counters::Args;
use super::generated::{gradient_check, gradient_fold, rasterize_backward, rasterize_backward_lanes, splat_clear};
use super::views::{IMAGE_BYTES, Intersections, Partials, Pixels, Reduction, Shared, Splats, Threads, Variants};
use crate::program::{Kernel, Program, Shader, Span};

/// Appends all passes: [`record_clear`], [`record_sums`], [`record_check`].
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &Partials,
    variants: &Variants,
) {
    record_clear(program, shared, splats);
    record_sums(program, shared, splats, intersections, pixels, partials, variants);
    record_check(program, shared, splats);
}

/// Appends the clear of the visible splats' gradient records.
pub fn record_clear(program: &mut Program, shared: &Shared, splats: &Splats) {
    let bind = splat_clear::Bind {
        counters: shared.counters,
        gradient_a: splats.gradient_a,
        gradient_b: splats.gradient_b,
        gradient_c: splats.gradient_c,
    };
    let groups = shared.groups(Args::Visible);
    let Some(gradient_d) = splats.gradient_d else {
        program.pass(&splat_clear::KERNEL, (), bind, (), groups);
        return;
    };
    let bind = splat_clear::SurfaceBind { base: bind, gradient_d };
    program.pass(&splat_clear::SURFACE, (), bind, (), groups);
}

/// Appends what adds the gradients of the tiles in the band to the records: [`record_tiles`], [`record_fold`].
pub fn record_sums(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &Partials,
    variants: &Variants,
) {
    record_tiles(program, shared, splats, intersections, pixels, partials, variants);
    record_fold(program, shared, splats, intersections, partials, variants);
}

/// Appends the sums of the tiles in the band, which go to `partials` with the segmented reduction, and to the records without.
pub fn record_tiles(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &Partials,
    variants: &Variants,
) {
    let spec = rasterize_backward::AtomicSpec {
        owners: variants.owners(),
        scores: u32::from(pixels.scores),
        statistic: u32::from(pixels.statistic),
    };
    let by_columns = rasterize_backward::ColumnSpec {
        base: spec,
        unrolled: variants.unrolled(),
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
            gradient_a: partials.a,
            gradient_b: partials.b,
            gradient_c: partials.c,
        };
        let push = rasterize_backward::Push {
            swath_begin: swath.begin,
            swath_end: swath.end,
            swath_base: swath.base,
        };
        let planes = planes(splats, pixels).map(|planes| Planes {
            by_pixel: swath.part(planes.by_pixel, IMAGE_BYTES),
            by_coverage: swath.part(planes.by_coverage, IMAGE_BYTES),
            ..planes
        });
        if variants.reduction == Reduction::Segmented {
            let planes = planes.zip(partials.d);
            record_columns(program, shared, by_columns, (bind, push), planes, variants);
        } else {
            record_atomics(
                program,
                shared,
                spec,
                (bind, push),
                planes,
                (splats, intersections),
                variants,
            );
        }
    }
}

/// Appends the sums of a swath to partial sums, with the place of those of planes.
fn record_columns(
    program: &mut Program,
    shared: &Shared,
    spec: rasterize_backward::ColumnSpec,
    (bind, push): (rasterize_backward::ColumnBind, rasterize_backward::Push),
    planes: Option<(Planes, Span)>,
    variants: &Variants,
) {
    let groups = shared.groups(Args::Tiles);
    if let Some((planes, gradient_d)) = planes {
        let bind = rasterize_backward::ColumnSurfaceBind {
            base: bind,
            splat_plane: planes.of_splats,
            surface_gradient: planes.by_pixel,
            gradient_d,
            normal_gradient: planes.by_coverage,
        };
        program.pass(&rasterize_backward::COLUMN_SURFACE, spec, bind, push, groups);
    } else if let Some(kernel) = lanes(variants) {
        program.pass(kernel, spec, bind, push, groups);
    } else {
        program.pass(&rasterize_backward::COLUMN, spec, bind, push, groups);
    }
}

/// Appends the sums of a swath to the records themselves.
fn record_atomics(
    program: &mut Program,
    shared: &Shared,
    spec: rasterize_backward::AtomicSpec,
    (bind, push): (rasterize_backward::ColumnBind, rasterize_backward::Push),
    planes: Option<Planes>,
    (splats, intersections): (&Splats, &Intersections),
    variants: &Variants,
) {
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
    let groups = shared.groups(Args::Halves);
    let atomic = variants.reduction == Reduction::Atomic;
    if let Some(planes) = planes {
        let bind = rasterize_backward::AtomicSurfaceBind {
            base: bind,
            splat_plane: planes.of_splats,
            surface_gradient: planes.by_pixel,
            gradient_d: planes.gradient,
            normal_gradient: planes.by_coverage,
        };
        let kernel = if atomic {
            &rasterize_backward::ATOMIC_SURFACE
        } else {
            &rasterize_backward::COMPARE_EXCHANGE_SURFACE
        };
        program.pass(kernel, spec, bind, push, groups);
    } else {
        let kernel = if atomic {
            &rasterize_backward::ATOMIC
        } else {
            &rasterize_backward::COMPARE_EXCHANGE
        };
        program.pass(kernel, spec, bind, push, groups);
    }
}

/// What the sums of planes are made of, and where they go.
#[derive(Clone, Copy)]
struct Planes {
    of_splats: Span,
    by_pixel: Span,
    by_coverage: Span,
    gradient: Span,
}

/// None where surfaces are not trained.
fn planes(splats: &Splats, pixels: &Pixels) -> Option<Planes> {
    let surface = pixels.surface?;
    Some(Planes {
        of_splats: splats.plane?,
        by_pixel: surface.gradient,
        by_coverage: surface.normal_gradient,
        gradient: splats.gradient_d?,
    })
}

/// Appends what adds the partial sums to the records, with the segmented reduction.
pub fn record_fold(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    partials: &Partials,
    variants: &Variants,
) {
    if variants.reduction != Reduction::Segmented {
        return;
    }
    let bind = gradient_fold::Bind {
        counters: shared.counters,
        emission_start: splats.emission_start,
        tile_counts: splats.tile_counts,
        partial_a: partials.a,
        partial_b: partials.b,
        partial_c: partials.c,
        gradient_a: splats.gradient_a,
        gradient_b: splats.gradient_b,
        gradient_c: splats.gradient_c,
        owners: intersections.owners,
    };
    let groups = shared.groups(Args::Visible);
    let Some((partial_d, gradient_d)) = partials.d.zip(splats.gradient_d) else {
        program.pass(&gradient_fold::KERNEL, (), bind, (), groups);
        return;
    };
    let bind = gradient_fold::SurfaceBind {
        base: bind,
        partial_d,
        gradient_d,
    };
    program.pass(&gradient_fold::SURFACE, (), bind, (), groups);
}

/// The kernel that takes a tile a subgroup of eight lanes, where `variants` want one.
fn lanes(
    variants: &Variants,
) -> Option<&'static Kernel<rasterize_backward::ColumnBind, rasterize_backward::Push, rasterize_backward::ColumnSpec>> {
    match variants.threads {
        Threads::Lanes => Some(&rasterize_backward_lanes::KERNEL),
        Threads::Columns | Threads::Pixels => None,
    }
}

/// The shader that makes the sums of a tile.
#[must_use]
pub fn sums(variants: &Variants) -> &'static Shader {
    match variants.reduction {
        Reduction::Segmented if let Some(kernel) = lanes(variants) => &kernel.shader,
        Reduction::Segmented => &rasterize_backward::COLUMN.shader,
        Reduction::Atomic => &rasterize_backward::ATOMIC.shader,
        Reduction::CompareExchange => &rasterize_backward::COMPARE_EXCHANGE.shader,
    }
}

/// Appends the search for values that are not finite.
pub fn record_check(program: &mut Program, shared: &Shared, splats: &Splats) {
    let bind = gradient_check::Bind {
        counters: shared.counters,
        gradient_a: splats.gradient_a,
        gradient_b: splats.gradient_b,
        gradient_c: splats.gradient_c,
    };
    let groups = shared.groups(Args::Visible);
    let Some(gradient_d) = splats.gradient_d else {
        program.pass(&gradient_check::KERNEL, (), bind, (), groups);
        return;
    };
    let bind = gradient_check::SurfaceBind { base: bind, gradient_d };
    program.pass(&gradient_check::SURFACE, (), bind, (), groups);
}
