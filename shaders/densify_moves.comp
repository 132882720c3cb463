#version 450
#extension GL_GOOGLE_include_directive : require
// Lists the moves that close the holes: the j-th dead slot below the live count receives the j-th live slot at or above it.
// With A(i) the living below slot i, a hole has index i - A(i) and a mover A(i) - A(live).
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer GroupCounts { uvec2 group_counts[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer From { uint from[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer To { uint to[]; };

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint n = control.grown;
    uint live = control.live;
    if (live == n || group * 256u >= n) {
        return;
    }
    bool alive = i < n && keys[i] > 0u;
    uint total;
    uint before = group_counts[group].x + group_exclusive_scan(alive ? 1u : 0u, total);
    // Every group counts the living in front of slot `live` inside that slot's group.
    uint edge = live - live % 256u;
    uint inside;
    group_exclusive_scan(edge + lane < live && keys[edge + lane] > 0u ? 1u : 0u, inside);
    uint kept = group_counts[live / 256u].x + inside;
    if (i == 0u) {
        control.entries = live - kept;
    }
    if (i < live && !alive) {
        to[i - before] = i;
    }
    if (i >= live && alive) {
        from[before - kept] = i;
    }
}
