#version 450
#extension GL_GOOGLE_include_directive : require
// First and one-past-last sorted intersection of every tile. Tiles without any keep the zeros written before.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileKeys { uint tile_keys[]; };
layout(set = 0, binding = 3, std430) restrict buffer TileRanges { uvec2 tile_ranges[]; };

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    uint n = counters.intersections;
    if (at >= n) {
        return;
    }
    uint tile = tile_keys[at];
    if (tile >= u.lists_x * u.lists_y) {
        return;
    }
    if (at == 0u || tile_keys[at - 1u] != tile) {
        tile_ranges[tile].x = at;
    }
    if (at + 1u == n || tile_keys[at + 1u] != tile) {
        tile_ranges[tile].y = at + 1u;
    }
}
