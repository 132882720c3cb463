#version 450
#extension GL_GOOGLE_include_directive : require
// The greatest depth of a Gaussian: what depth maps are blended over where distances from surfaces are compared.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Centers { vec4 centers[]; };
layout(set = 0, binding = 3, std430) restrict buffer Farthest { uint farthest[]; };  // bits of a positive float

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};

shared uint greatest;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || (u.flags & FLAG_DENSITY) == 0u) {
        return;
    }
    if (gl_LocalInvocationIndex == 0u) {
        greatest = 0u;
    }
    barrier();
    if (i < count) {
        float z = dot(u.view_row2.xyz, centers[first + i].xyz) + u.view_row2.w;
        if (z > 0.0) {
            atomicMax(greatest, floatBitsToUint(z));
        }
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        atomicMax(farthest[0], greatest);
    }
}
