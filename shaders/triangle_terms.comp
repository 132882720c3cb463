#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Losses that look at vertices and not at pixels: mean opacity of all triangles' corners, and mean distance of vertices in view
// from the median depth where they lie. Plain variant, 256 vertices a group: the group's sums. `reduce`, one group: adds them in
// a fixed order, and both terms to the loss.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer VertexSums { vec4 vertex_sums[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer VertexTotal { vec4 vertex_total[]; };  // as the sums of a group
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer AdjacencyStarts { uint adjacency_starts[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };
// Corners' opacities; distances from the median depth; vertices that these are of; corners.
layout(set = 0, binding = 5, std430) writeonly restrict buffer VertexSums { vec4 vertex_sums[]; };
#include "common/vertex_depth.glsl"
#endif

#define SUMMED vec4
#include "common/group_sum.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
#ifdef REDUCE
    uint groups = counters.stalled == 0u ? (tri.vertices + 255u) / 256u : 0u;
    vec4 sum = vec4(0.0);
    for (uint group = lane; group < groups; group += 256u) {
        sum += vertex_sums[group];
    }
    sum = group_sum(sum);
    if (lane == 0u && groups > 0u) {
        sum.zw = max(sum.zw, vec2(1.0));
        vertex_total[0] = sum;
        counters.loss += tri.opacity_weight * sum.x / sum.w + tri.depth_weight * sum.y / sum.z;
    }
#else
    uint group = group_index();
    uint v = group * 256u + lane;
    if (counters.stalled != 0u || group * 256u >= tri.vertices) {
        return;
    }
    vec4 sum = vec4(0.0);
    if (v < tri.vertices) {
        vec4 screen = vertex_screen[v];
        float corners = float(adjacency_starts[v + 1u] - adjacency_starts[v]);
        sum.xw = vec2(corners * screen.w, corners);
        float off;
        if (corners > 0.0 && depth_off(screen, off)) {
            sum.yz = vec2(abs(off), 1.0);
        }
    }
    sum = group_sum(sum);
    if (lane == 0u) {
        vertex_sums[group] = sum;
    }
#endif
}
