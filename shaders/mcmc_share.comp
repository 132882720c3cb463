#version 450
#extension GL_GOOGLE_include_directive : require
// Shares opacity and scales of each Gaussian that is copied among it and its copies, before they are made; clears moments
// and statistics of both.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/mcmc.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Copies { uint copies[]; };
layout(set = 0, binding = 2, std430) restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer GeometryM { uint geometry_m[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer GeometryV { uint geometry_v[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ShM { uint sh_m[]; };
layout(set = 0, binding = 6, std430) writeonly restrict buffer ShV { uint sh_v[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer Statistics { float statistics[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float least_opacity;
    uint geometry_m_planes;
    uint geometry_v_planes;
    uint sh_m_planes;
    uint sh_v_planes;
};
#include "common/clear_state.glsl"

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.grown > first ? min(control.grown - first, stride) : 0u;
    if (i >= count) {
        return;
    }
    uint made = first + i < control.count ? copies[i] : MARK;
    if (made == 0u) {
        return;
    }
    if (made != MARK) {
        uint at = PLANE_OPACITY * stride + i;
        vec2 share = share_among(geometry[at], float(made + 1u));
        float opacity = max(share.x, least_opacity);
        geometry[at] = log(opacity / (1.0 - opacity));
        for (uint p = PLANE_SCALES; p < PLANE_OPACITY; ++p) {
            geometry[p * stride + i] += share.y;
        }
    }
    clear_state(i);
}
