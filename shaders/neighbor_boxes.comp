#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: upper UPPER=1
// Boxes of 32 consecutive centres in Morton order, or of 32 boxes of the level below, with the lowest id in each.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/box_tree.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
#ifdef UPPER
layout(set = 0, binding = 1, std430) readonly restrict buffer Lower { uvec4 lower[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Boxes { uvec4 boxes[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CentersX { float centers_x[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer CentersY { float centers_y[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer CentersZ { float centers_z[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Order { uint order[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer Boxes { uvec4 boxes[]; };
#endif

layout(push_constant) uniform Push {
    uint level;  // of the boxes that are made, from 0
};

void main() {
    uint box = group_index() * 64u + gl_LocalInvocationIndex;
    uint n = counters.stalled == 0u ? counters.gaussians : 0u;
    if (box >= boxes_of(n, level)) {
        return;
    }
    uint end = min((box + 1u) * BOX_WIDTH, level == 0u ? n : boxes_of(n, level - 1u));
    vec3 low = vec3(3.4e38);
    vec3 high = vec3(-3.4e38);
    uint lowest = 0xffffffffu;
    for (uint at = box * BOX_WIDTH; at < end; ++at) {
#ifdef UPPER
        uvec4 from = lower[2u * at];
        low = min(low, uintBitsToFloat(from.xyz));
        high = max(high, uintBitsToFloat(lower[2u * at + 1u].xyz));
        lowest = min(lowest, from.w);
#else
        vec3 center = vec3(centers_x[at], centers_y[at], centers_z[at]);
        low = min(low, center);
        high = max(high, center);
        lowest = min(lowest, order[at]);
#endif
    }
    boxes[2u * box] = uvec4(floatBitsToUint(low), lowest);
    boxes[2u * box + 1u] = uvec4(floatBitsToUint(high), 0u);
}
