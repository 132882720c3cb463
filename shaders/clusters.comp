#version 450
#extension GL_GOOGLE_include_directive : require
// Bounds the clusters of a chunk after something other than the update moved, resized or filtered its Gaussians.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 3, std430) restrict buffer VisibleMask { uint visible_mask[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};
#define STRIDE stride

#include "common/cluster.glsl"
#include "common/bound_cluster.glsl"

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    // The whole group alike.
    if (counters.stalled != 0u || group * 256u >= count) {
        return;
    }
    bound_cluster(group, lane, group * 256u + lane, count);
}
