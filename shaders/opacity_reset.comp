#version 450
#extension GL_GOOGLE_include_directive : require
// Lowers every effective opacity to at most `ceiling` and zeroes the opacity moments.
//
// Effective means after the 3D filter: new raw opacity = min(sigma(o) c3, ceiling) / c3, stored as a logit.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer GeometryM { uint geometry_m[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer GeometryV { uint geometry_v[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Filter3d { float filter_3d[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float ceiling;
    uint moment_plane;  // that has nothing but the opacity's moments
};
#define STRIDE stride
#include "common/gaussian.glsl"

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    Gaussian g = load_gaussian(i);
    vec3 raw = exp(g.log_scale);
    // Without a filter there is nothing to divide out, and squares of tiny scales would underflow.
    vec3 ratio = g.filter_3d != 0.0 ? raw / sqrt(raw * raw + g.filter_3d * g.filter_3d) : vec3(1.0);
    float compensation = max(ratio.x * ratio.y * ratio.z, 1e-12);
    float opacity = 1.0 / (1.0 + exp(-g.logit));
    uint at = PLANE_OPACITY * stride + i;
    // Those already below keep their bits: dividing the filter out again would round.
    if (opacity * compensation > ceiling) {
        // A hair away from 1, which the quotient may round to: the logit stays finite.
        float target = clamp(ceiling / compensation, 1e-7, 1.0 - 1e-6);
        geometry[at] = log(target / (1.0 - target));
    }
    uint moment_at = moment_plane * stride + i;
    geometry_m[moment_at] = 0u;
    geometry_v[moment_at] = 0u;
}
