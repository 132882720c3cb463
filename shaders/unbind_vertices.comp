#version 450
#extension GL_GOOGLE_include_directive : require
// Adam (Kingma & Ba 2015) on the vertices that Gaussians hang on: each gathers what its triangles owe to it, in their order,
// so that equal runs give equal bytes. A thread a vertex; one whose gradient is not finite stays.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer FirstCorner { uint first_corner[]; };   // one more than vertices
layout(set = 0, binding = 3, std430) readonly restrict buffer Corners { uint corners[]; };            // 3 triangle + place in it
layout(set = 0, binding = 4, std430) readonly restrict buffer GradientA { float gradient_a[]; };      // by first corners
layout(set = 0, binding = 5, std430) readonly restrict buffer GradientB { float gradient_b[]; };      // by second ones
layout(set = 0, binding = 6, std430) readonly restrict buffer GradientC { float gradient_c[]; };      // by third ones
layout(set = 0, binding = 7, std430) restrict buffer Vertices { float vertices[]; };                  // three a vertex
layout(set = 0, binding = 8, std430) restrict buffer VerticesM { float vertices_m[]; };
layout(set = 0, binding = 9, std430) restrict buffer VerticesV { float vertices_v[]; };

layout(push_constant) uniform Push {
    uint count;  // vertices
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    bool runs = (u.flags & FLAG_UPDATE) != 0u && (u.adam_skip_mask & (1u << GROUP_MEANS)) == 0u;
    if (counters.stalled != 0u || i >= count || !runs) {
        return;
    }
    vec3 gradient = vec3(0.0);
    for (uint k = first_corner[i]; k < first_corner[i + 1u]; ++k) {
        uint at = 3u * (corners[k] / 3u), place = corners[k] % 3u;
        if (place == 0u) {
            gradient += vec3(gradient_a[at], gradient_a[at + 1u], gradient_a[at + 2u]);
        } else if (place == 1u) {
            gradient += vec3(gradient_b[at], gradient_b[at + 1u], gradient_b[at + 2u]);
        } else {
            gradient += vec3(gradient_c[at], gradient_c[at + 1u], gradient_c[at + 2u]);
        }
    }
    // The second moment holds squares.
    if ((floatBitsToUint(dot(gradient, gradient)) & 0x7f800000u) == 0x7f800000u) {
        atomicAdd(counters.skipped, 1u);
        return;
    }
    for (uint c = 0u; c < 3u; ++c) {
        uint at = 3u * i + c;
        float m = u.beta1 * vertices_m[at] + (1.0 - u.beta1) * gradient[c];
        float v = u.beta2 * vertices_v[at] + (1.0 - u.beta2) * gradient[c] * gradient[c];
        vertices[at] -= u.adam_rate[GROUP_MEANS] * m / (sqrt(v) * u.adam_scale[GROUP_MEANS] + u.epsilon);
        vertices_m[at] = m;
        vertices_v[at] = v;
    }
}
