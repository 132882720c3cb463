#version 450
#extension GL_GOOGLE_include_directive : require
// Vertices of a chunk as a view sees them: place on the image, depth, opacity, colour.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };  // planes x, y, z, weight
layout(set = 0, binding = 3, std430) readonly restrict buffer Sh { float sh[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer VertexScreen { vec4 vertex_screen[]; };  // samples x, y; z; opacity
layout(set = 0, binding = 5, std430) writeonly restrict buffer VertexColor { float vertex_color[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;  // number of the chunk's first vertex
};

#include "common/triangles.glsl"
#include "common/unproject.glsl"
#include "common/sh.glsl"

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || i >= stride || first + i >= tri.vertices) {
        return;
    }
    vec3 x = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]);
    float weight = geometry[3u * stride + i];
    vec3 p = camera_point(x);
    vec4 l = lens();
    float opacity = tri.opacity_floor + (1.0 - tri.opacity_floor) / (1.0 + exp(-weight));
    float basis[16];
    sh_basis(normalize(x - u.camera_position.xyz), basis);
    uint coefficients = (u.sh_degree + 1u) * (u.sh_degree + 1u);
    vec3 color = vec3(0.5);
    for (uint k = 0u; k < 16u; ++k) {
        if (k < coefficients) {
            uint at = 3u * k * stride + i;
            color += basis[k] * vec3(sh[at], sh[at + stride], sh[at + 2u * stride]);
        }
    }
    uint v = first + i;
    vertex_screen[v] = vec4(l.xy * (p.xy / p.z) + l.zw, p.z, opacity);
    // Not max(): a colour that is no number must reach the loss and stall the step.
    color = mix(color, vec3(0.0), lessThan(color, vec3(0.0)));
    vertex_color[3u * v] = color.r;
    vertex_color[3u * v + 1u] = color.g;
    vertex_color[3u * v + 2u] = color.b;
}
