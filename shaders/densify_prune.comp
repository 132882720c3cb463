#version 450
#extension GL_GOOGLE_include_directive : require
// Prunes: key 1 for Gaussians that stay, 0 for the others. Clears the statistics of every Gaussian.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Statistics { float statistics[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float opacity_min;
    float scale_max;   // world units, infinite when unlimited
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.grown > first ? min(control.grown - first, stride) : 0u;
    if (i >= count) {
        return;
    }
    float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
    vec3 scale = exp(vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                          geometry[(PLANE_SCALES + 2u) * stride + i]));
    bool dead = opacity < opacity_min || max(max(scale.x, scale.y), scale.z) > scale_max;
    keys[i] = dead ? 0u : 1u;
    for (uint p = 0u; p < 3u; ++p) {
        statistics[p * stride + i] = 0.0;
    }
}
