#version 450
#extension GL_GOOGLE_include_directive : require
// Gaussians of a chunk as the density reads them, at their ids: centre and opacity, rotation, inverse standard deviations. The
// 3D filter is in opacity and deviations. What is not finite has no opacity.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Centers { vec4 centers[]; };      // centre; opacity
layout(set = 0, binding = 4, std430) writeonly restrict buffer Rotations { vec4 rotations[]; };  // (w, x, y, z) of length 1
layout(set = 0, binding = 5, std430) writeonly restrict buffer Inverses { vec4 inverses[]; };    // 1 / deviations; 0

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};
#define STRIDE stride

#include "common/gaussian.glsl"

// Deviations below it count as this, world units.
const float LEAST_DEVIATION = 1e-8;

bool is_finite(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    Gaussian g = load_gaussian(i);
    float length2 = dot(g.quat, g.quat);
    vec3 raw = exp(g.log_scale);
    vec3 deviation = raw;
    float opacity = 1.0 / (1.0 + exp(-g.logit));
    if (g.filter_3d != 0.0) {
        deviation = sqrt(raw * raw + g.filter_3d * g.filter_3d);
        vec3 ratio = raw / deviation;
        opacity *= ratio.x * ratio.y * ratio.z;
    }
    vec3 inverse = 1.0 / max(deviation, vec3(LEAST_DEVIATION));
    float all = dot(g.mean, g.mean) + dot(inverse, inverse) + opacity;
    bool counts = is_finite(all) && is_finite(length2) && length2 > 0.0;
    centers[first + i] = counts ? vec4(g.mean, opacity) : vec4(0.0);
    rotations[first + i] = counts ? g.quat * inversesqrt(length2) : vec4(1.0, 0.0, 0.0, 0.0);
    inverses[first + i] = counts ? vec4(inverse, 0.0) : vec4(1.0);
}
