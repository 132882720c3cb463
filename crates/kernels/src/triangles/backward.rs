//! From losses to vertices.

use super::{Partials, Records, Screen, Terms, Topology, VertexChunk};
use crate::counters::Args;
use crate::generated::{
    gradient_check, triangle_backward, triangle_finish, triangle_fold, triangle_gather, triangle_normals,
    triangle_terms, triangle_update,
};
use crate::views::{IMAGE_BYTES, Intersections, Pixels, Shared, Surface, Variants};
use kiln_program::{Groups, Program, Span};

/// Appends the agreement of blended normals with those of the median depth, which writes the gradient by both whether or not it
/// has a weight.
pub fn record_normals(
    program: &mut Program,
    shared: &Shared,
    (pixels, surface): (&Pixels, &Surface),
    normal_sums: Span,
) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        program.pass(
            &triangle_normals::KERNEL,
            (),
            triangle_normals::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                image: swath.part(pixels.image, IMAGE_BYTES),
                surface_plane: swath.part(surface.plane, 16),
                surface_depth: swath.part(surface.depth, 8),
                surface_gradient: swath.part(surface.gradient, 16),
                normal_sums,
            },
            triangle_normals::Push {
                swath_begin: swath.begin,
                swath_end: swath.end,
                swath_base: swath.base,
            },
            shared.groups(Args::Tiles),
        );
    }
    program.pass(
        &triangle_normals::REDUCE,
        (),
        triangle_normals::ReduceBind {
            uniforms: shared.rates,
            counters: shared.counters,
            normal_sums,
        },
        (),
        shared.groups(Args::One),
    );
}

/// Appends losses over vertices.
pub fn record_terms(
    program: &mut Program,
    shared: &Shared,
    (topology, n_vertices): (&Topology, u32),
    screen: &Screen,
    surface: &Surface,
    terms: &Terms,
) {
    program.pass(
        &triangle_terms::KERNEL,
        (),
        triangle_terms::Bind {
            uniforms: shared.rates,
            counters: shared.counters,
            vertex_screen: screen.screen,
            adjacency_starts: topology.adjacency_starts,
            surface_depth: surface.depth,
            vertex_sums: terms.vertex_sums,
        },
        (),
        Groups::cover(n_vertices, 256),
    );
    program.pass(
        &triangle_terms::REDUCE,
        (),
        triangle_terms::ReduceBind {
            uniforms: shared.rates,
            counters: shared.counters,
            vertex_sums: terms.vertex_sums,
            vertex_total: terms.vertex_total,
        },
        (),
        shared.groups(Args::One),
    );
}

/// Appends the clear of the gradients.
pub fn record_clear(program: &mut Program, records: &Records) {
    for gradient in records.gradients.into_iter().chain(records.gradient_normal) {
        program.fill(gradient, 0);
    }
}

/// Appends what adds the gradients of the tiles in the band to the records.
#[expect(clippy::too_many_arguments, reason = "everything that a step left for it")]
pub fn record_sums(
    program: &mut Program,
    shared: &Shared,
    screen: &Screen,
    records: &Records,
    lists: &Intersections,
    (pixels, surface): (&Pixels, &Surface),
    partials: &Partials,
    variants: &Variants,
) {
    let spec = triangle_backward::Spec {
        unrolled: variants.unrolled(),
    };
    let [partial_a, partial_b, partial_c, partial_d, partial_e] = partials.sums;
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        let bind = triangle_backward::Bind {
            uniforms: shared.rates,
            counters: shared.counters,
            tile_ranges: lists.tile_ranges,
            payloads: lists.payloads,
            owners: lists.owners,
            record_corners: records.corners,
            vertex_screen: screen.screen,
            vertex_color: screen.color,
            image_gradient: swath.part(pixels.gradient, IMAGE_BYTES),
            surface_gradient: swath.part(surface.gradient, 16),
            partial_a,
            partial_b,
            partial_c,
            partial_d,
            partial_e,
        };
        let push = triangle_backward::Push {
            swath_begin: swath.begin,
            swath_end: swath.end,
            swath_base: swath.base,
        };
        let groups = shared.groups(Args::Lists);
        match partials.normal {
            None => program.pass(&triangle_backward::KERNEL, spec, bind, push, groups),
            Some(partial_f) => {
                let bind = triangle_backward::ExactBind { base: bind, partial_f };
                program.pass(&triangle_backward::EXACT, spec, bind, push, groups);
            }
        }
    }
    let [gradient_a, gradient_b, gradient_c, gradient_d, gradient_e] = records.gradients;
    let bind = triangle_fold::Bind {
        counters: shared.counters,
        emission_start: records.emission_start,
        tile_counts: records.tile_counts,
        owners: lists.owners,
        partial_a,
        partial_b,
        partial_c,
        partial_d,
        partial_e,
        gradient_a,
        gradient_b,
        gradient_c,
        gradient_d,
        gradient_e,
    };
    let groups = shared.groups(Args::Visible);
    match partials.normal.zip(records.gradient_normal) {
        None => program.pass(&triangle_fold::KERNEL, (), bind, (), groups),
        Some((partial_f, gradient_f)) => {
            let bind = triangle_fold::ExactBind {
                base: bind,
                partial_f,
                gradient_f,
            };
            program.pass(&triangle_fold::EXACT, (), bind, (), groups);
        }
    }
}

/// Appends what ends the gradients of the records: what the radius and the normal owe to corners where gradients are exact, and the
/// stall when anything is not finite.
pub fn record_check(program: &mut Program, shared: &Shared, screen: &Screen, records: &Records) {
    let [gradient_a, gradient_b, gradient_c, gradient_d, gradient_e] = records.gradients;
    let groups = || shared.groups(Args::Visible);
    if let Some(gradient_f) = records.gradient_normal {
        program.pass(
            &triangle_finish::KERNEL,
            (),
            triangle_finish::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                record_corners: records.corners,
                vertex_screen: screen.screen,
                gradient_e,
                gradient_f,
                gradient_a,
                gradient_b,
                gradient_c,
            },
            (),
            groups(),
        );
    }
    let base = gradient_check::Bind {
        counters: shared.counters,
        gradient_a,
        gradient_b,
        // Of the third it looks at three values, and e has three that vertices get.
        gradient_c: gradient_e,
    };
    let bind = gradient_check::SurfaceBind {
        base,
        gradient_d: gradient_c,
    };
    program.pass(&gradient_check::SURFACE, (), bind, (), groups());
    let base = gradient_check::Bind {
        gradient_b: gradient_d,
        ..base
    };
    program.pass(&gradient_check::KERNEL, (), base, (), groups());
}

/// Appends the update of all vertices; `exact` says which derivatives there are, `coefficients` how many SH coefficients are stored.
#[expect(clippy::too_many_arguments, reason = "everything that a step left for it")]
pub fn record_update(
    program: &mut Program,
    shared: &Shared,
    chunks: &[VertexChunk],
    topology: &Topology,
    screen: &Screen,
    records: &Records,
    (surface, terms): (&Surface, &Terms),
    coefficients: u32,
    exact: bool,
) {
    let [adjacency_0, adjacency_1, adjacency_2] = topology.adjacency;
    let [gradient_a, gradient_b, gradient_c, gradient_d, gradient_e] = records.gradients;
    for chunk in chunks {
        let from = 32 * u64::from(chunk.first);
        let vertex_gradient = terms.vertex_gradient.slice(from, 32 * u64::from(chunk.stride));
        program.pass(
            &triangle_gather::KERNEL,
            (),
            triangle_gather::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                adjacency_starts: topology.adjacency_starts,
                adjacency_0,
                adjacency_1,
                adjacency_2,
                visible_mask: topology.visible_mask,
                group_visible: topology.group_visible,
                record: records.record,
                gradient_a,
                gradient_b,
                gradient_c,
                gradient_d,
                gradient_e,
                vertex_gradient,
            },
            triangle_gather::Push {
                stride: chunk.stride,
                first: chunk.first,
                triangle_cap: topology.cap,
            },
            Groups::cover(chunk.stride, 256),
        );
        let kernel = if exact {
            &triangle_update::EXACT
        } else {
            &triangle_update::KERNEL
        };
        program.pass(
            kernel,
            (),
            triangle_update::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                geometry: chunk.geometry,
                geometry_m: chunk.geometry_m,
                geometry_v: chunk.geometry_v,
                sh: chunk.sh,
                sh_m: chunk.sh_m,
                sh_v: chunk.sh_v,
                vertex_gradient,
                vertex_screen: screen.screen,
                surface_depth: surface.depth,
                vertex_total: terms.vertex_total,
            },
            triangle_update::Push {
                stride: chunk.stride,
                first: chunk.first,
                sh_coefficients: coefficients,
            },
            Groups::cover(chunk.stride, 256),
        );
    }
}
