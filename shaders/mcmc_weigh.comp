#version 450
#extension GL_GOOGLE_include_directive : require
// Finds dead Gaussians, and the weight with which the others are copied: their opacity in whole steps, rounded at random so that its mean
// is the opacity. Sums of weights and numbers of dead per 256 Gaussians.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"
#include "common/rng.glsl"
#include "common/scan.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer GroupCounts { uvec2 group_counts[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float dead_opacity;
};

const uint CHANNEL_WEIGHT = 72u;  // channel that rounds weights up or down

void main() {
    uint group = group_index();
    uint i = group * 256u + gl_LocalInvocationIndex;
    uint n = control.count;
    uint count = n > first ? min(n - first, stride) : 0u;
    if (group * 256u >= count) {
        return;
    }
    uint weight = 0u;
    bool dead = false;
    if (i < count) {
        // Opacity 1 in steps: the sum over all stays below 2^32.
        float steps = float(min(32767u, 0xffffffffu / n - 1u));
        float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
        dead = !(opacity > dead_opacity);
        weight = dead ? 0u : uint(opacity * steps + rng_uniform(u.seed, u.iteration, first + i, CHANNEL_WEIGHT));
        keys[i] = dead ? MARK : weight;
    }
    uint weights, deaths;
    group_exclusive_scan(weight, weights);
    group_exclusive_scan(dead ? 1u : 0u, deaths);
    if (gl_LocalInvocationIndex == 0u) {
        group_counts[first / 256u + group] = uvec2(weights, deaths);
    }
}
