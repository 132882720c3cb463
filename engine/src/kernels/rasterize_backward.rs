//! Gradients of the visible splats' position, conic, opacity and colour, and the absolute-gradient statistic.
//!
//! `segmented`: each tile stores its sums at the splat's emission slot, `gradient_fold` adds a splat's slots in order.
//! `atomic`: subgroup sums go to the splat's record with float atomics. `compare_exchange`: the same with integer
//! atomics alone. All end with `gradient_check`, which stalls the step when anything is not finite.

use super::counters::Args;
use super::views::{Intersections, Pixels, Reduction, Shared, Splats, Variants};
use crate::program::{Program, Shader, View};
use crate::shader;

/// Segmented.
pub static COLUMN: Shader = shader!(
    "rasterize_backward.column", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position,
    r splat_conic, r splat_color, r image, r last_contributor, r image_gradient, w gradient_a, w gradient_b, w gradient_c
);
/// Segmented, for subgroups of eight lanes on CPU drivers.
pub static LANES: Shader = shader!(
    "rasterize_backward_lanes", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position,
    r splat_conic, r splat_color, r image, r last_contributor, r image_gradient, w gradient_a, w gradient_b, w gradient_c
);
/// With float atomics.
pub static ATOMIC: Shader = shader!(
    "rasterize_backward.atomic", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position,
    r splat_conic, r splat_color, r image, r last_contributor, r image_gradient, rw gradient_a, rw gradient_b,
    rw gradient_c, r tile_order
);
/// With compare-exchange loops on the bits of the sums.
pub static COMPARE_EXCHANGE: Shader = shader!(
    "rasterize_backward.compare_exchange", r uniforms, rw counters, r tile_ranges, r payloads, r owners,
    r splat_position, r splat_conic, r splat_color, r image, r last_contributor, r image_gradient, rw gradient_a,
    rw gradient_b, rw gradient_c, r tile_order
);
/// Zeroes the records.
pub static CLEAR: Shader = shader!("splat_clear", r counters, w gradient_a, w gradient_b, w gradient_c);
/// Adds up the segments.
pub static FOLD: Shader = shader!(
    "gradient_fold", r counters, r emission_start, r tile_counts, r partial_a, r partial_b, r partial_c, rw gradient_a,
    rw gradient_b, rw gradient_c, r owners
);
/// Finds non-finite values.
pub static CHECK: Shader = shader!("gradient_check", rw counters, r gradient_a, r gradient_b, r gradient_c);

/// Appends all passes: [`record_clear`], [`record_sums`], [`record_check`].
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &[View; 3],
    variants: &Variants,
) {
    record_clear(program, shared, splats);
    record_sums(program, shared, splats, intersections, pixels, partials, variants);
    record_check(program, shared, splats);
}

/// Appends the clear of the visible splats' gradient records.
pub fn record_clear(program: &mut Program, shared: &Shared, splats: &Splats) {
    let views = [shared.counters, splats.gradient_a, splats.gradient_b, splats.gradient_c];
    program.pass(&CLEAR, &[], &views, &(), shared.groups(Args::Visible));
}

/// Appends what adds the gradients of the tiles in the band to the records: [`record_tiles`], [`record_fold`].
pub fn record_sums(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    partials: &[View; 3],
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
    partials: &[View; 3],
    variants: &Variants,
) {
    let segmented = variants.reduction == Reduction::Segmented;
    let [a, b, c] = if segmented {
        *partials
    } else {
        [splats.gradient_a, splats.gradient_b, splats.gradient_c]
    };
    let views = [
        shared.uniforms,
        shared.counters,
        intersections.tile_ranges,
        intersections.payloads,
        intersections.owners,
        splats.position,
        splats.conic,
        splats.color,
        pixels.image,
        pixels.last_contributor,
        pixels.gradient,
        a,
        b,
        c,
        intersections.tile_order,
    ];
    let shader = sums(variants);
    let views = if segmented { &views[..14] } else { &views[..] };
    let [owners, jitter] = variants.raster_spec();
    let spec = [owners, jitter, u32::from(pixels.scores)];
    program.pass(shader, &spec, views, &(), shared.groups(Args::Tiles));
}

/// Appends what adds the partial sums to the records, with the segmented reduction.
pub fn record_fold(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    [a, b, c]: &[View; 3],
    variants: &Variants,
) {
    if variants.reduction != Reduction::Segmented {
        return;
    }
    let views = [
        shared.counters,
        splats.emission_start,
        splats.tile_counts,
        *a,
        *b,
        *c,
        splats.gradient_a,
        splats.gradient_b,
        splats.gradient_c,
        intersections.owners,
    ];
    program.pass(&FOLD, &[], &views, &(), shared.groups(Args::Visible));
}

/// The shader that makes the sums of a tile.
#[must_use]
pub fn sums(variants: &Variants) -> &'static Shader {
    match variants.reduction {
        Reduction::Segmented if variants.lanes => &LANES,
        Reduction::Segmented => &COLUMN,
        Reduction::Atomic => &ATOMIC,
        Reduction::CompareExchange => &COMPARE_EXCHANGE,
    }
}

/// Appends the search for values that are not finite.
pub fn record_check(program: &mut Program, shared: &Shared, splats: &Splats) {
    let views = [shared.counters, splats.gradient_a, splats.gradient_b, splats.gradient_c];
    program.pass(&CHECK, &[], &views, &(), shared.groups(Args::Visible));
}
