#version 450
#extension GL_GOOGLE_include_directive : require
// Tiles touched by each run of 256 splats in depth order, and by the splats of the run before each.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer DepthOrder { uint depth_order[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileCounts { uint tile_counts[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer GroupTiles { uint group_tiles[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer TilesBefore { uint tiles_before[]; };

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint s = group * 256u + lane;
    if (group * 256u >= counters.visible) {
        return;
    }
    uint total;
    uint before = group_exclusive_scan(s < counters.visible ? tile_counts[depth_order[s]] : 0u, total);
    if (s < counters.visible) {
        tiles_before[s] = before;
    }
    if (lane == 0u) {
        group_tiles[group] = total;
    }
}
