#version 450
#extension GL_GOOGLE_include_directive : require
// Starts a step: clears the counters and writes the group counts that depend only on the number of Gaussians. A stalled
// run gets zero groups everywhere, so no later pass writes anything.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Args { uvec4 args[]; };

layout(push_constant) uniform Push {
    uint chunks;
    uint chunk_gaussians;
};

void main() {
    uint lane = gl_LocalInvocationIndex;
    bool live = counters.stalled == 0u;
    uint n = counters.gaussians;
    for (uint c = lane; c < chunks; c += 64u) {
        uint first = c * chunk_gaussians;
        uint count = n > first ? min(n - first, chunk_gaussians) : 0u;
        args[ARGS_CHUNKS + c] = uvec4(fold_groups(live ? (count + 255u) / 256u : 0u), 0u);
    }
    if (lane == 0u) {
        args[ARGS_TILES] = uvec4(fold_groups(live ? u.tiles_x * u.tiles_y : 0u), 0u);
        args[ARGS_LISTS] = uvec4(fold_groups(live ? u.lists_x * u.lists_y : 0u), 0u);
        args[ARGS_HALVES] = uvec4(fold_groups(live ? 2u * u.tiles_x * u.tiles_y : 0u), 0u);
        args[ARGS_ONE] = uvec4(live ? 1u : 0u, 1u, 1u, 0u);
        if (live) {
            counters.visible = 0u;
            counters.intersections = 0u;
            counters.nonfinite = 0u;
            counters.nonfinite_index = 0xffffffffu;
            counters.iteration = u.iteration;
        }
    }
}
