#version 450
#extension GL_GOOGLE_include_directive : require
// Starts a densification: clears its control block, says how many births there may be, and writes the group counts for the
// Gaussians there are. A stalled run counts none.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Args { uvec4 args[]; };

layout(push_constant) uniform Push {
    uint chunks;
    uint chunk_gaussians;
    uint capacity;
    uint from;     // iterations between which the way to the capacity lies,
    uint last;
    float ramp;    // its shape, or 0 where there is none
    float growth;  // most births on it, as a share of the Gaussians there are
};
#include "common/chunk_args.glsl"

// Room that the way to the capacity leaves to `n` Gaussians, see `twins/error_guided.rs`.
uint room_on_the_way(uint n) {
    float gone = clamp(float(u.iteration - min(from, u.iteration)) / float(max(last - from, 1u)), 0.0, 1.0);
    precise float goal = float(capacity) * (1.0 - pow(1.0 - gone, ramp));
    uint most = min(uint(goal), capacity);
    return min(most > n ? most - n : 0u, uint(growth * float(n)));
}

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
        control.free = ramp > 0.0 ? room_on_the_way(n) : (capacity > n ? capacity - n : 0u);
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
