#version 450
#extension GL_GOOGLE_include_directive : require
// Centres of a chunk to their places in Morton order.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Places { uint places[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer CentersX { float centers_x[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer CentersY { float centers_y[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer CentersZ { float centers_z[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};

// Where a centre counts as being that is nowhere: at no distance from others like it, infinitely far from all else.
const float NOWHERE = 1e38;

bool is_finite(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    vec3 center = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]);
    if (!is_finite(center.x) || !is_finite(center.y) || !is_finite(center.z)) {
        center = vec3(NOWHERE);
    }
    uint place = places[i];
    centers_x[place] = center.x;
    centers_y[place] = center.y;
    centers_z[place] = center.z;
}
