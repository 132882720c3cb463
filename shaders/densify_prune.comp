#version 450
#extension GL_GOOGLE_include_directive : require
// Lowers opacities and scales where they decay, then who stays alive: key 1, or 0 for the dead. Clears the statistics of every Gaussian;
// by now only the last two mattered, which the newborn do not have.
#include "common/group.glsl"
#include "common/densify.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) restrict buffer Statistics { float statistics[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float opacity_min;
    float scale_max;   // world units, infinite when unlimited
    float radius_max;  // pixels, infinite when unlimited
    float weight_min;  // of the largest weight in a view, which then is in the radius' place; 0 when unlimited
    float decay;
    float log_shrink;  // what log scales change by, at most 0
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.grown > first ? min(control.grown - first, stride) : 0u;
    if (i >= count) {
        return;
    }
    float opacity = 1.0 / (1.0 + exp(-geometry[10u * stride + i]));
    if (decay > 0.0) {
        opacity = max(opacity - decay, 1e-6);
        geometry[10u * stride + i] = log(opacity / (1.0 - opacity));
    }
    vec3 log_scale = vec3(geometry[7u * stride + i], geometry[8u * stride + i], geometry[9u * stride + i]);
    if (log_shrink < 0.0) {
        log_scale += log_shrink;
        for (uint c = 0u; c < 3u; ++c) {
            geometry[(7u + c) * stride + i] = log_scale[c];
        }
    }
    vec3 scale = exp(log_scale);
    bool dead = opacity < opacity_min || max(max(scale.x, scale.y), scale.z) > scale_max ||
                statistics[3u * stride + i] > radius_max ||
                (statistics[2u * stride + i] > 0.0 && statistics[3u * stride + i] < weight_min);
    keys[i] = dead ? 0u : 1u;
    for (uint p = 0u; p < 4u; ++p) {
        statistics[p * stride + i] = 0.0;
    }
}
