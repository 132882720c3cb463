#version 450
#extension GL_GOOGLE_include_directive : require
// Starts a densification: clears its control block and writes the group counts for the Gaussians there are. A stalled run
// counts none.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Args { uvec4 args[]; };

layout(push_constant) uniform Push {
    uint chunks;
    uint chunk_gaussians;
};
#include "common/chunk_args.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint n = counters.stalled == 0u ? counters.gaussians : 0u;
    write_chunk_args(n);
    control.bins[lane] = 0u;
    control.bins[256u + lane] = 0u;
    if (lane == 0u) {
        args[ARGS_GAUSSIANS] = uvec4(fold_groups((n + 255u) / 256u), 0u);
        args[ARGS_MOVES] = uvec4(0u, 1u, 1u, 0u);
        control.count = n;
        control.grown = n;
        control.live = n;
        control.entries = 0u;
        control.above = 0u;
        control.selected = 0u;
        control.splits = 0u;
        control.threshold = 0u;
        control.ties = 0u;
        control.prefix[0] = 0u;
        control.prefix[1] = 0u;
    }
}
