#version 450
#extension GL_GOOGLE_include_directive : require
// Keys of a re-sort: the Morton code of each centre of a chunk.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/morton.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float center_x;  // of the scene, world units
    float center_y;
    float center_z;
    float inverse_extent;
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (i >= count) {
        return;
    }
    precise vec3 offset = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]) -
                          vec3(center_x, center_y, center_z);
    keys[i] = morton_code(offset, inverse_extent);
}
