//! From vertices to the picture.

use super::{Records, Screen, Topology, VertexChunk};
use crate::counters::Args;
use crate::generated::{
    intersection_scan, prepare_args, tile_sum, triangle_band, triangle_cull, triangle_emit, triangle_project,
    triangle_rasterize, visible_scan,
};
use crate::radix_sort::sort_block;
use crate::tile_intersect::EmitIo;
use crate::views::{IMAGE_BYTES, Intersections, Pixels, Shared, Surface, Variants};
use kiln_program::{Groups, Program, Span};

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
#[expect(clippy::too_many_arguments, reason = "everything that a step left for it")]
pub fn record_rasterize(
    program: &mut Program,
    shared: &Shared,
    topology: &Topology,
    screen: &Screen,
    records: &Records,
    lists: &Intersections,
    (pixels, surface): (&Pixels, &Surface),
    variants: &Variants,
) {
    for swath in pixels.swaths.of(IMAGE_BYTES) {
        program.pass(
            &triangle_rasterize::KERNEL,
            triangle_rasterize::Spec {
                unrolled: variants.unrolled(),
            },
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
            shared.groups(Args::Lists),
        );
    }
}
