#version 450
#extension GL_GOOGLE_include_directive : require
// Starts a re-sort: the group counts of its passes over all Gaussians. A stalled run gets none.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 1) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Args { uvec4 args[]; };

layout(push_constant) uniform Push {
    uint sort_block;  // keys a group of the sort takes
};

void main() {
    uint n = counters.stalled == 0u ? counters.gaussians : 0u;
    args[ARGS_GAUSSIANS] = uvec4(fold_groups((n + 255u) / 256u), 0u);
    // The tile sort of a step writes its own counts.
    args[ARGS_INTERSECTION_SORT] = uvec4(fold_groups((n + sort_block - 1u) / sort_block), 0u);
}
