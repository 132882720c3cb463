#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-variant: -
// kiln-variant: exact EXACT=1
// From the gradients of what a view shows of vertices to those of their values, and the optimiser's step: positions, weights,
// colours. `exact` adds colour by the direction it is seen from.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Geometry { float geometry[]; };  // planes x, y, z, weight
layout(set = 0, binding = 3, std430) restrict buffer GeometryM { float geometry_m[]; };
layout(set = 0, binding = 4, std430) restrict buffer GeometryV { float geometry_v[]; };
layout(set = 0, binding = 5, std430) restrict buffer Sh { float sh[]; };
layout(set = 0, binding = 6, std430) restrict buffer ShM { float sh_m[]; };
layout(set = 0, binding = 7, std430) restrict buffer ShV { float sh_v[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer VertexGradient { vec4 vertex_gradient[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer VertexTotal { vec4 vertex_total[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;            // number of the chunk's first vertex
    uint sh_coefficients;  // stored, not active
};

#include "common/triangles.glsl"
#include "common/vertex_depth.glsl"
#include "common/unproject.glsl"
#include "common/sh.glsl"

bool bad(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u;
}

float adam(float value, float gradient, inout float m, inout float v, uint group) {
    m = u.beta1 * m + (1.0 - u.beta1) * gradient;
    v = u.beta2 * v + (1.0 - u.beta2) * gradient * gradient;
    return value - u.adam_rate[group] * m / (sqrt(v) * u.adam_scale[group] + u.epsilon);
}

bool runs(uint group) {
    return (u.flags & FLAG_UPDATE) != 0u && (u.adam_skip_mask & (1u << group)) == 0u;
}

void step_geometry(uint i, uint plane, float gradient, uint group) {
    uint at = plane * stride + i;
    float m = geometry_m[at], v = geometry_v[at];
    geometry[at] = adam(geometry[at], gradient, m, v, group);
    geometry_m[at] = m;
    geometry_v[at] = v;
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || i >= stride || first + i >= tri.vertices) {
        return;
    }
    vec4 by_place = vertex_gradient[2u * i];
    vec4 by_color = vertex_gradient[2u * i + 1u];
    vec4 screen = vertex_screen[first + i];
    vec4 total = vertex_total[0];
    vec3 x = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]);
    vec3 p = camera_point(x);
    float off;
    if (by_color.w > 0.0 && depth_off(screen, off)) {
        by_place.z += sign(off) * tri.depth_weight / total.z;
    }
    by_place.w += tri.opacity_weight * by_color.w / total.w;

    vec3 by_camera = vec3(0.0, 0.0, by_place.z);
    // A vertex behind the camera is corner of nothing that is drawn.
    if (by_place.xy != vec2(0.0)) {
        vec2 by = by_place.xy * lens().xy / p.z;
        by_camera += vec3(by, -dot(by, p.xy / p.z));
    }
    vec3 by_position =
        by_camera.x * u.view_row0.xyz + by_camera.y * u.view_row1.xyz + by_camera.z * u.view_row2.xyz;

    vec3 away = x - u.camera_position.xyz;
    float far = length(away);
    vec3 direction = away / far;
    float basis[16];
    sh_basis(direction, basis);
    uint coefficients = (u.sh_degree + 1u) * (u.sh_degree + 1u);
    vec3 color = vec3(0.5);
    for (uint k = 0u; k < 16u; ++k) {
        if (k < coefficients) {
            uint at = 3u * k * stride + i;
            color += basis[k] * vec3(sh[at], sh[at + stride], sh[at + 2u * stride]);
        }
    }
    vec3 g = mix(by_color.rgb, vec3(0.0), lessThan(color, vec3(0.0)));
#ifdef EXACT
    vec3 slopes[16];
    sh_basis_gradient(direction, slopes);
    vec3 by_direction = vec3(0.0);
    for (uint k = 0u; k < 16u; ++k) {
        if (k < coefficients) {
            uint at = 3u * k * stride + i;
            by_direction += slopes[k] * dot(g, vec3(sh[at], sh[at + stride], sh[at + 2u * stride]));
        }
    }
    by_position += (by_direction - direction * dot(direction, by_direction)) / far;
#endif
    float s = 1.0 / (1.0 + exp(-geometry[3u * stride + i]));
    float by_weight = by_place.w * (1.0 - tri.opacity_floor) * s * (1.0 - s);

    if (bad(by_position.x) || bad(by_position.y) || bad(by_position.z) || bad(by_weight) || bad(g.r) || bad(g.g) ||
        bad(g.b)) {
        atomicAdd(counters.skipped, 1u);
        return;
    }
    if (runs(GROUP_MEANS)) {
        step_geometry(i, 0u, by_position.x, GROUP_MEANS);
        step_geometry(i, 1u, by_position.y, GROUP_MEANS);
        step_geometry(i, 2u, by_position.z, GROUP_MEANS);
    }
    if (runs(GROUP_OPACITY)) {
        step_geometry(i, 3u, by_weight, GROUP_OPACITY);
    }
    [[unroll]] for (uint k = 0u; k < 16u; ++k) {
        uint group = k == 0u ? GROUP_SH0 : GROUP_SH_REST;
        if (k < sh_coefficients && runs(group)) {
            float weight = k < coefficients ? basis[k] : 0.0;
            for (uint c = 0u; c < 3u; ++c) {
                uint at = (3u * k + c) * stride + i;
                float m = sh_m[at], v = sh_v[at];
                sh[at] = adam(sh[at], weight * g[c], m, v, group);
                sh_m[at] = m;
                sh_v[at] = v;
            }
        }
    }
}
