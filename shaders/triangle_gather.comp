#version 450
#extension GL_GOOGLE_include_directive : require
// Sums of what the drawn triangles owe to each vertex of a chunk, triangles in their order: a gather, so nothing races.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer AdjacencyStarts { uint adjacency_starts[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Adjacency0 { uint adjacency_0[]; };  // three times a triangle, plus its corner
layout(set = 0, binding = 4, std430) readonly restrict buffer Adjacency1 { uint adjacency_1[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Adjacency2 { uint adjacency_2[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer Record { uvec4 record[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer GradientC { vec4 gradient_c[]; };
layout(set = 0, binding = 12, std430) readonly restrict buffer GradientD { vec4 gradient_d[]; };
layout(set = 0, binding = 13, std430) readonly restrict buffer GradientE { vec4 gradient_e[]; };
// Two vectors a vertex: d place on the image x, y; d depth; d opacity     d colour; triangles that have the vertex
layout(set = 0, binding = 14, std430) writeonly restrict buffer VertexGradient { vec4 vertex_gradient[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;         // number of the chunk's first vertex
    uint triangle_cap;  // entries of a tensor of the adjacency
};

#include "common/triangles.glsl"

uint entry(uint e) {
    if (e < triangle_cap) {
        return adjacency_0[e];
    }
    return e < 2u * triangle_cap ? adjacency_1[e - triangle_cap] : adjacency_2[e - 2u * triangle_cap];
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || i >= stride || first + i >= tri.vertices) {
        return;
    }
    uint from = adjacency_starts[first + i], to = adjacency_starts[first + i + 1u];
    vec4 place = vec4(0.0);
    vec3 color = vec3(0.0);
    for (uint e = from; e < to; ++e) {
        uint corner = entry(e);
        uint t = corner / 3u;
        corner -= 3u * t;
        uint word = visible_mask[t >> 5];
        if ((word & (1u << (t & 31u))) == 0u) {
            continue;
        }
        uint v = group_visible[t >> 8] + uint(bitCount(word & ((1u << (t & 31u)) - 1u)));
        for (uint w = t >> 8 << 3; w < t >> 5; ++w) {
            v += uint(bitCount(visible_mask[w]));
        }
        vec4 at = corner == 0u ? gradient_a[v] : (corner == 1u ? gradient_b[v] : gradient_c[v]);
        vec4 d = gradient_d[v], e_sums = gradient_e[v];
        bool is_faintest = record[v].x >> FAINTEST_SHIFT == corner;
        place += vec4(at.xyz, is_faintest ? e_sums.z : 0.0);
        color += vec3(at.w, corner == 0u ? d.xy : (corner == 1u ? d.zw : e_sums.xy));
    }
    vertex_gradient[2u * i] = place;
    vertex_gradient[2u * i + 1u] = vec4(color, float(to - from));
}
