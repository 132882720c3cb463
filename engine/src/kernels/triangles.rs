//! Triangles with shared vertices: projection of vertices, culling, lists of tiles, rasterisation and its gradients, and the
//! update of vertices. Depth order, sorts and tile ranges are those of splats.
//!
//! A step goes `project` (vertices) -> `cull`, `records` (triangles) -> depth sort -> `emit` -> tile sort -> `rasterize` -> losses ->
//! `backward` -> `fold` -> `gather` (vertices, over their triangles) -> `update`. Sums of a tile go to a triangle's emission slot
//! and are folded in order, and vertices gather in the order of their triangles: the same bytes every time, on any device.

use super::counters::Args;
use super::generated::{
    common, gradient_check, intersection_scan, prepare_args, tile_sum, triangle_backward, triangle_band, triangle_cull,
    triangle_emit, triangle_finish, triangle_fold, triangle_gather, triangle_normals, triangle_project,
    triangle_rasterize, triangle_terms, triangle_update, visible_scan,
};
use super::radix_sort::sort_block;
use super::tile_intersect::EmitIo;
use super::views::{IMAGE_BYTES, Intersections, Pixels, Shared, Surface, Variants};
use crate::program::{Groups, Program, Span};

pub use common::TriangleUniforms;

/// Bits of [`TriangleUniforms::flags`].
pub mod flags {
    pub use super::common::TRIANGLES_MAXIMA as MAXIMA;
}

/// Persistent state of one chunk of vertices, planes of `stride` words.
#[derive(Clone, Copy, Debug)]
pub struct VertexChunk {
    /// Number of the first vertex.
    pub first: u32,
    /// Vertices it can hold, a multiple of 256; also the plane length.
    pub stride: u32,
    /// Position and weight: 4 planes.
    pub geometry: Span,
    /// First moments of the geometry.
    pub geometry_m: Span,
    /// Second moments of the geometry.
    pub geometry_v: Span,
    /// SH coefficients, plane `3 k + channel`.
    pub sh: Span,
    /// First moments of SH.
    pub sh_m: Span,
    /// Second moments of SH.
    pub sh_v: Span,
}

/// Which vertices make triangles, and which triangles have a vertex.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// Triangles there is room for.
    pub cap: u32,
    /// Corners 0, 1, 2 of every triangle, a word each.
    pub corners: [Span; 3],
    /// Bits of the largest blending weight of every triangle since it was cleared.
    pub importance: Span,
    /// Bits of the largest size on an image since it was cleared, samples.
    pub size: Span,
    /// First entry of every vertex in the list of rows, and one past the last of all.
    pub adjacency_starts: Span,
    /// The list of rows: entry e is word `e % cap` of tensor `e / cap`. An entry is three times a triangle plus its corner, rows
    /// ascend.
    pub adjacency: [Span; 3],
    /// One bit a triangle: drawn in this view.
    pub visible_mask: Span,
    /// Drawn triangles per 256, then offsets.
    pub group_visible: Span,
}

/// A vertex as the view sees it.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Place on the image in samples, depth, opacity.
    pub screen: Span,
    /// Colour, three words.
    pub color: Span,
}

/// Records of drawn triangles, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// Number and faintest corner; box in tiles.
    pub record: Span,
    /// The vertices; bits of the opacity.
    pub corners: Span,
    /// Bits of the centre's depth.
    pub depth_keys: Span,
    /// Tiles of the box in the band.
    pub tile_counts: Span,
    /// First emission index.
    pub emission_start: Span,
    /// Gradients: of corners 0, 1, 2 place, depth and red; the other colours, opacity, radius.
    pub gradients: [Span; 5],
    /// Gradient of the normal; only where gradients are exact.
    pub gradient_normal: Option<Span>,
}

/// Sums of one tile each by emission slot, laid out as the gradients of [`Records`].
#[derive(Clone, Copy, Debug)]
pub struct Partials {
    /// Five vectors.
    pub sums: [Span; 5],
    /// Of the normal; only where gradients are exact.
    pub normal: Option<Span>,
}

/// What losses over vertices and normals add up in.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A vector per 256 vertices.
    pub vertex_sums: Span,
    /// Their sum.
    pub vertex_total: Span,
    /// A word a tile.
    pub normal_sums: Span,
    /// Gradients of vertices as the view sees them: two vectors each.
    pub vertex_gradient: Span,
}

/// Appends the start of a step: counters cleared, group counts that follow from the number of triangles.
pub fn record_prepare(program: &mut Program, shared: &Shared, topology: &Topology) {
    program.pass(
        &prepare_args::KERNEL,
        (),
        prepare_args::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            args: shared.args,
        },
        prepare_args::Push {
            chunks: 1,
            chunk_gaussians: topology.cap,
        },
        Groups::Direct([1, 1, 1]),
    );
}

/// Appends the projection of all vertices.
pub fn record_project(program: &mut Program, shared: &Shared, chunks: &[VertexChunk], screen: &Screen) {
    for chunk in chunks {
        program.pass(
            &triangle_project::KERNEL,
            (),
            triangle_project::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                geometry: chunk.geometry,
                sh: chunk.sh,
                vertex_screen: screen.screen,
                vertex_color: screen.color,
            },
            triangle_project::Push {
                stride: chunk.stride,
                first: chunk.first,
            },
            Groups::cover(chunk.stride, 256),
        );
    }
}

/// Appends what decides which triangles are drawn, and makes a record of each, of at most `visible_cap`.
pub fn record_cull(
    program: &mut Program,
    shared: &Shared,
    topology: &Topology,
    screen: &Screen,
    records: &Records,
    visible_cap: u32,
    variants: &Variants,
) {
    let [corner_0, corner_1, corner_2] = topology.corners;
    let groups = shared.groups(Args::Chunk(0));
    program.pass(
        &triangle_cull::KERNEL,
        (),
        triangle_cull::Bind {
            uniforms: shared.rates,
            counters: shared.counters,
            corner_0,
            corner_1,
            corner_2,
            vertex_screen: screen.screen,
            visible_mask: topology.visible_mask,
            group_visible: topology.group_visible,
            size: topology.size,
        },
        (),
        groups.clone(),
    );
    program.pass(
        &visible_scan::KERNEL,
        visible_scan::Spec {
            sort_block: sort_block(Args::VisibleSort, variants),
        },
        visible_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_visible: topology.group_visible,
        },
        visible_scan::Push { visible_cap },
        Groups::Direct([1, 1, 1]),
    );
    program.pass(
        &triangle_cull::RECORDS,
        (),
        triangle_cull::RecordsBind {
            uniforms: shared.rates,
            counters: shared.counters,
            corner_0,
            corner_1,
            corner_2,
            vertex_screen: screen.screen,
            visible_mask: topology.visible_mask,
            group_visible: topology.group_visible,
            record: records.record,
            record_corners: records.corners,
            depth_keys: records.depth_keys,
            tile_counts: records.tile_counts,
        },
        (),
        groups,
    );
}

/// Appends one (tile, triangle) pair for each tile in the band of a triangle's box, in depth order.
pub fn record_emit(
    program: &mut Program,
    shared: &Shared,
    screen: &Screen,
    records: &Records,
    io: &EmitIo,
    variants: &Variants,
) {
    program.pass(
        &tile_sum::KERNEL,
        (),
        tile_sum::Bind {
            counters: shared.counters,
            depth_order: io.depth_order,
            tile_counts: records.tile_counts,
            group_tiles: io.group_tiles,
            tiles_before: io.tiles_before,
        },
        (),
        shared.groups(Args::Visible),
    );
    program.pass(
        &intersection_scan::KERNEL,
        intersection_scan::Spec {
            sort_block: sort_block(Args::IntersectionSort, variants),
        },
        intersection_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_tiles: io.group_tiles,
        },
        intersection_scan::Push {
            intersection_cap: io.intersection_cap,
        },
        Groups::Direct([1, 1, 1]),
    );
    program.pass(
        &triangle_emit::KERNEL,
        (),
        triangle_emit::Bind {
            uniforms: shared.rates,
            counters: shared.counters,
            depth_order: io.depth_order,
            tile_counts: records.tile_counts,
            group_tiles: io.group_tiles,
            tiles_before: io.tiles_before,
            record: records.record,
            record_corners: records.corners,
            vertex_screen: screen.screen,
            tile_keys: io.tile_keys,
            payloads: io.payloads,
            owners: io.owners,
            emission_start: records.emission_start,
        },
        (),
        shared.groups(Args::Emission),
    );
}

/// Appends the count of each triangle's tiles inside the band; it replaces the counts over the whole image.
pub fn record_band_count(program: &mut Program, shared: &Shared, records: &Records) {
    program.pass(
        &triangle_band::KERNEL,
        (),
        triangle_band::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            record: records.record,
            tile_counts: records.tile_counts,
        },
        (),
        shared.groups(Args::Visible),
    );
}

/// Appends the clear and the count of triangles per tile, one word a tile of the image.
pub fn record_histogram(program: &mut Program, shared: &Shared, records: &Records, tile_histogram: Span) {
    program.fill(tile_histogram, 0);
    program.pass(
        &triangle_band::HISTOGRAM,
        (),
        triangle_band::HistogramBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            record: records.record,
            tile_histogram,
        },
        (),
        shared.groups(Args::Visible),
    );
}

/// Appends the picture of the band.
pub fn record_rasterize(
    program: &mut Program,
    shared: &Shared,
    topology: &Topology,
    screen: &Screen,
    records: &Records,
    lists: &Intersections,
    (pixels, surface): (&Pixels, &Surface),
) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        program.pass(
            &triangle_rasterize::KERNEL,
            (),
            triangle_rasterize::Bind {
                uniforms: shared.rates,
                counters: shared.counters,
                tile_ranges: lists.tile_ranges,
                payloads: lists.payloads,
                owners: lists.owners,
                record: records.record,
                record_corners: records.corners,
                vertex_screen: screen.screen,
                vertex_color: screen.color,
                importance: topology.importance,
                image: swath.part(pixels.image, IMAGE_BYTES),
                surface_plane: swath.part(surface.plane, 16),
                surface_depth: swath.part(surface.depth, 8),
            },
            triangle_rasterize::Push {
                swath_begin: swath.begin,
                swath_end: swath.end,
                swath_base: swath.base,
            },
            shared.groups(Args::Tiles),
        );
    }
}

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
pub fn record_sums(
    program: &mut Program,
    shared: &Shared,
    screen: &Screen,
    records: &Records,
    lists: &Intersections,
    (pixels, surface): (&Pixels, &Surface),
    partials: &Partials,
) {
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
        let groups = shared.groups(Args::Tiles);
        match partials.normal {
            None => program.pass(&triangle_backward::KERNEL, (), bind, push, groups),
            Some(partial_f) => {
                let bind = triangle_backward::ExactBind { base: bind, partial_f };
                program.pass(&triangle_backward::EXACT, (), bind, push, groups);
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
