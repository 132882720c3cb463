#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the sorted list of ids around: where each Gaussian goes.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Order { uint order[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Places { uint places[]; };

void main() {
    uint k = group_index() * 256u + gl_LocalInvocationIndex;
    if (k < counters.gaussians) {
        places[order[k]] = k;
    }
}
