#version 450
#extension GL_GOOGLE_include_directive : require
// Adds the groups' loss sums in a fixed order and stores loss, L1 and SSIM as means in the counters.
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Sums { vec2 sums[]; };

shared vec2 reduce[256];

void main() {
    if (counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint groups = u.tiles_x * u.tiles_y;
    vec2 sum = vec2(0.0);
    for (uint k = lane; k < groups; k += 256u) {
        sum += sums[k];
    }
    reduce[lane] = sum;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            reduce[lane] += reduce[lane + half_size];
        }
        barrier();
    }
    if (lane == 0u) {
        vec2 mean = reduce[0] * u.weights.z;
        counters.l1 = mean.x;
        counters.ssim = mean.y;
        counters.loss = u.weights.x * mean.x + u.weights.y * (1.0 - mean.y);
    }
}
