#version 450
#extension GL_GOOGLE_include_directive : require
// Orders the band's tiles by the number of their splats, most first, so that no tile that takes long starts last. Tiles
// of about the same number come in any order.
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer TileOrder { uint tile_order[]; };

// Four classes for every doubling, the fullest first.
const uint CLASSES = 128u;

shared uint places[CLASSES];

uint class_of(uint tile) {
    uvec2 range = tile_ranges[tile];
    uint scaled = min(range.y - range.x, 1u << 28) * 4u + 4u;
    uint top = uint(findMSB(scaled));
    return CLASSES - 1u - min(4u * (top - 2u) + (scaled >> (top - 2u) & 3u), CLASSES - 1u);
}

void main() {
    if (counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    if (lane < CLASSES) {
        places[lane] = 0u;
    }
    barrier();
    for (uint tile = u.band_begin + lane; tile < u.band_end; tile += 256u) {
        atomicAdd(places[class_of(tile)], 1u);
    }
    barrier();
    if (lane == 0u) {
        uint sum = 0u;
        for (uint k = 0u; k < CLASSES; ++k) {
            uint count = places[k];
            places[k] = sum;
            sum += count;
        }
    }
    barrier();
    for (uint tile = u.band_begin + lane; tile < u.band_end; tile += 256u) {
        tile_order[atomicAdd(places[class_of(tile)], 1u)] = tile;
    }
}
