#version 450
#extension GL_GOOGLE_include_directive : require
// Second pass of the 3D smoothing filter: distance to standard deviation, d / f_max * sqrt(0.2).
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Farthest { uint farthest; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float scale;  // sqrt(0.2) / f_max
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    float distance = filter_3d[i];
    filter_3d[i] = (distance < 0.0 ? uintBitsToFloat(farthest) : distance) * scale;
}
