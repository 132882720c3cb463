#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: histogram HISTOGRAM=1
// Plain variant: tiles each visible splat touches inside the band. Histogram variant: splats of every tile, from which
// the host packs bands.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
#ifdef HISTOGRAM
layout(set = 0, binding = 4, std430) restrict buffer TileHistogram { uint tile_histogram[]; };
#else
layout(set = 0, binding = 4, std430) writeonly restrict buffer TileCounts { uint tile_counts[]; };
#endif

#include "common/tiles.glsl"

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v >= counters.visible) {
        return;
    }
    vec4 a = splat_position[v];
    Footprint f = footprint(a.xy, splat_conic[v].xyz, a.w, a.z, uvec2(u.tiles_x, u.tiles_y));
#ifdef HISTOGRAM
    for (int row = f.rect.y; row < f.rect.w; ++row) {
        ivec2 span = row_span(f, row);
        for (int x = span.x; x < span.y; ++x) {
            atomicAdd(tile_histogram[uint(row) * u.tiles_x + uint(x)], 1u);
        }
    }
#else
    uint tiles = 0u;
    for (int row = f.rect.y; row < f.rect.w; ++row) {
        ivec2 span = clip_to_band(row_span(f, row), row);
        tiles += uint(max(span.y - span.x, 0));
    }
    tile_counts[v] = tiles;
#endif
}
