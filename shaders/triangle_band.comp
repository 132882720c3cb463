#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: histogram HISTOGRAM=1
// Plain variant: tiles of each drawn triangle's box inside the band. Histogram variant: triangles of every tile, from which the
// host packs bands.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Record { uvec4 record[]; };
#ifdef HISTOGRAM
layout(set = 0, binding = 3, std430) restrict buffer TileHistogram { uint tile_histogram[]; };
#else
layout(set = 0, binding = 3, std430) writeonly restrict buffer TileCounts { uint tile_counts[]; };
#endif

#include "common/triangle_band.glsl"

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v >= counters.visible) {
        return;
    }
    uvec4 rect = rect_of(record[v]);
#ifdef HISTOGRAM
    for (uint row = rect.y; row < rect.w; ++row) {
        for (uint x = rect.x; x < rect.z; ++x) {
            atomicAdd(tile_histogram[row * u.lists_x + x], 1u);
        }
    }
#else
    tile_counts[v] = band_tiles(rect);
#endif
}
