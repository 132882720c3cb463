#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: total TOTAL=1
// Sums of the density's terms over samples, in a fixed order. Plain variant: those of 256 samples a group. `total`, one group:
// means into the counters, and weighted to the loss.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef TOTAL
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Sums { vec4 sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Sums { vec4 sums[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer SampleValue { vec4 sample_value[]; };
#endif

layout(push_constant) uniform Push {
    uint count;  // samples, or groups of them
    float weight;
    float normal_weight;
};

shared vec4 joined[256];

void main() {
    uint lane = gl_LocalInvocationIndex;
    bool on = (u.flags & FLAG_DENSITY) != 0u;
    if (counters.stalled != 0u) {
        return;
    }
    vec4 sum = vec4(0.0);
#ifdef TOTAL
    for (uint at = lane; at < count && on; at += 256u) {
        sum += sums[at];
    }
#else
    uint at = group_index() * 256u + lane;
    if (on && at < count) {
        sum = sample_value[at];
    }
#endif
    joined[lane] = sum;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            joined[lane] += joined[lane + half_size];
        }
        barrier();
    }
    if (lane == 0u) {
#ifdef TOTAL
        vec4 whole = joined[0];
        counters.density_samples = uint(whole.w);
        float inverse = whole.w > 0.0 ? 1.0 / whole.w : 0.0;
        counters.density = inverse * whole.y;
        counters.density_normals = inverse * whole.z;
        if (on) {
            counters.loss += weight * counters.density + normal_weight * counters.density_normals;
        }
#else
        sums[group_index()] = joined[0];
#endif
    }
}
