#version 450
#extension GL_GOOGLE_include_directive : require
// Centres and rotations of Gaussians on triangles (SuGaR, Guedon & Lepetit 2024): the place is fixed in the triangle, the
// first axis is its normal, and the other two are turned in its plane by a learned complex number. One thread a Gaussian.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Vertices { float vertices[]; };    // three a vertex
layout(set = 0, binding = 2, std430) readonly restrict buffer Triangles { uint triangles[]; };   // three a triangle
layout(set = 0, binding = 3, std430) restrict buffer Geometry { float geometry[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint per_triangle;  // 1, 3, 4 or 6
};
#include "common/bound.glsl"

// From the largest component, so that nothing cancels (Shepperd 1978).
vec4 quaternion(mat3 m) {
    float trace = m[0][0] + m[1][1] + m[2][2];
    vec4 squares = vec4(trace, 2.0 * m[0][0] - trace, 2.0 * m[1][1] - trace, 2.0 * m[2][2] - trace) + 1.0;
    float a = m[1][2] - m[2][1], b = m[2][0] - m[0][2], c = m[0][1] - m[1][0];
    float xy = m[1][0] + m[0][1], xz = m[2][0] + m[0][2], yz = m[2][1] + m[1][2];
    vec4 quat = vec4(squares.x, a, b, c);
    float best = squares.x;
    if (squares.y >= best) {
        best = squares.y;
        quat = vec4(a, squares.y, xy, xz);
    }
    if (squares.z >= best) {
        best = squares.z;
        quat = vec4(b, xy, squares.z, yz);
    }
    if (squares.w >= best) {
        quat = vec4(c, xz, yz, squares.w);
    }
    return quat / max(length(quat), 1e-12);
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    Triangle t = load_triangle((first + i) / per_triangle);
    vec3 at = place(per_triangle, (first + i) % per_triangle);
    vec3 mean = at.x * t.a + at.y * t.b + at.z * t.c;
    Frame f = frame_of(t);
    vec2 turn = vec2(geometry[PLANE_TURN * stride + i], geometry[(PLANE_TURN + 1u) * stride + i]);
    float size = length(turn);
    turn = size > 0.0 ? turn / size : vec2(1.0, 0.0);
    vec4 quat = quaternion(mat3(f.normal, turn.x * f.side + turn.y * f.third, turn.x * f.third - turn.y * f.side));
    for (uint c = 0u; c < 3u; ++c) {
        geometry[(PLANE_MEANS + c) * stride + i] = mean[c];
    }
    for (uint c = 0u; c < 4u; ++c) {
        geometry[(PLANE_QUATS + c) * stride + i] = quat[c];
    }
}
