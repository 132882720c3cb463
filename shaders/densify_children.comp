#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the copies of split parents, and the parents themselves, into children: samples of the parent, centre = mean +
// R (s * normal), log scale = ln s - ln divisor. New Gaussians and split parents start with zero moments and statistics.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"
#include "common/rng.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 2, std430) readonly restrict buffer From { uint from[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer To { uint to[]; };
layout(set = 0, binding = 4, std430) restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer GeometryM { uint geometry_m[]; };
layout(set = 0, binding = 6, std430) writeonly restrict buffer GeometryV { uint geometry_v[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer ShM { uint sh_m[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer ShV { uint sh_v[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer Statistics { float statistics[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float log_divisor;
    uint geometry_m_planes;
    uint geometry_v_planes;
    uint sh_m_planes;
    uint sh_v_planes;
};

#include "common/clear_state.glsl"
#include "common/rotate.glsl"

// Slot `i` of this chunk holds the values of Gaussian `parent` and becomes its child 0 or 1.
void sample_child(uint i, uint parent, uint child) {
    vec3 s;
    for (uint c = 0u; c < 3u; ++c) {
        uint at = (PLANE_SCALES + c) * stride + i;
        float log_scale = geometry[at];
        s[c] = exp(log_scale) * rng_normal(u.seed, u.iteration, parent, 3u * child + c);
        geometry[at] = log_scale - log_divisor;
    }
    vec3 offset = rotate_by(i, s);
    for (uint c = 0u; c < 3u; ++c) {
        geometry[c * stride + i] += offset[c];
    }
}

void bear(uint i, uint parent, uint child) {
    sample_child(i, parent, child);
    clear_state(i);
}

void main() {
    uint k = group_index() * 256u + gl_LocalInvocationIndex;
    if (k >= control.entries) {
        return;
    }
    bool split = (from[k] & MARK) != 0u;
    uint parent = from[k] & ~MARK;
    uint born = to[k];
    // Differences wrap around below `first`, so one comparison tests both ends of the chunk.
    if (split && parent - first < stride) {
        bear(parent - first, parent, 0u);
    }
    if (born - first < stride) {
        if (split) {
            bear(born - first, parent, 1u);
        } else {
            clear_state(born - first);
        }
    }
}
