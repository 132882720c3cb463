#version 450
#extension GL_GOOGLE_include_directive : require
// What the Gaussians of a triangle, and the normals of the triangles around it, owe to its corners: a thread a triangle.
// Forces on centres go to corners by the places; torques turn the triangle's axes. The term of normals is
// `flatness` sum over edges (1 - n . n'), whose gradient by n is a torque n x dL/dn as well.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Vertices { float vertices[]; };      // three a vertex
layout(set = 0, binding = 2, std430) readonly restrict buffer Triangles { uint triangles[]; };     // three a triangle
layout(set = 0, binding = 3, std430) readonly restrict buffer Across { uint across[]; };           // neighbours, three a triangle
layout(set = 0, binding = 4, std430) readonly restrict buffer Pulls { float pulls[]; };            // planes: force, torque
layout(set = 0, binding = 5, std430) writeonly restrict buffer GradientA { float gradient_a[]; };  // by the first corner
layout(set = 0, binding = 6, std430) writeonly restrict buffer GradientB { float gradient_b[]; };  // by the second
layout(set = 0, binding = 7, std430) writeonly restrict buffer GradientC { float gradient_c[]; };  // by the third

layout(push_constant) uniform Push {
    uint stride;
    uint first_triangle;
    uint count;          // triangles of the chunk
    uint per_triangle;   // 1, 3, 4 or 6
    float flatness;      // weight of the normals' term for an edge
};
#include "common/bound.glsl"

const uint TURNED = 1u << 31;     // the neighbour's normal is on the other side
const uint ALONE = 0xffffffffu;   // no triangle, or several

void main() {
    uint local = group_index() * 256u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || local >= count) {
        return;
    }
    uint t = first_triangle + local;
    Triangle triangle = load_triangle(t);
    Frame f = frame_of(triangle);
    vec3 gradient[3] = vec3[](vec3(0.0), vec3(0.0), vec3(0.0));
    vec3 torque = vec3(0.0);
    for (uint slot = 0u; slot < per_triangle; ++slot) {
        uint i = local * per_triangle + slot;
        vec3 force = vec3(pulls[i], pulls[stride + i], pulls[2u * stride + i]);
        torque += vec3(pulls[3u * stride + i], pulls[4u * stride + i], pulls[5u * stride + i]);
        vec3 at = place(per_triangle, slot);
        for (uint k = 0u; k < 3u; ++k) {
            gradient[k] += at[k] * force;
        }
    }
    if (f.sound) {
        if (flatness != 0.0) {
            vec3 others = vec3(0.0);
            for (uint k = 0u; k < 3u; ++k) {
                uint other = across[3u * t + k];
                if (other != ALONE) {
                    Frame g = frame_of(load_triangle(other & ~TURNED));
                    others += g.sound ? (other & TURNED) != 0u ? -g.normal : g.normal : vec3(0.0);
                }
            }
            torque -= flatness * cross(f.normal, others);
        }
        // The first side turns with a and b, about it the third corner lifts the plane at its height.
        vec3 to_c = triangle.c - triangle.a;
        float height = dot(to_c, f.third);
        float foot = -dot(to_c, f.side) / f.reach;
        vec3 by_side = (dot(torque, f.normal) * f.third - dot(torque, f.third) * f.normal) / f.reach;
        vec3 by_lift = dot(torque, f.side) / height * f.normal;
        gradient[0] += by_side - (1.0 - foot) * by_lift;
        gradient[1] -= by_side + foot * by_lift;
        gradient[2] += by_lift;
    }
    for (uint c = 0u; c < 3u; ++c) {
        gradient_a[3u * t + c] = gradient[0][c];
        gradient_b[3u * t + c] = gradient[1][c];
        gradient_c[3u * t + c] = gradient[2][c];
    }
}
