#version 450
#extension GL_GOOGLE_include_directive : require
// Gives the spherical harmonics of every Gaussian of a chunk the optimiser steps that they missed out of view, before others
// than `project` and `update` read them.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; vec4 rates[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Sh { float sh[]; };
layout(set = 0, binding = 3, std430) restrict buffer ShM { float sh_m[]; };
layout(set = 0, binding = 4, std430) restrict buffer ShV { float sh_v[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint sh_coefficients;
    uint seen_plane;
};
#define STRIDE stride
#define SEEN seen_plane

#include "common/missed.glsl"
#include "common/catch_up.glsl"

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled == 0u && i < count) {
        catch_up(i, sh_coefficients);
    }
}
