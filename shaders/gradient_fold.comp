#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: surface SURFACE=1
// Adds each splat's partial gradients to its record in the order its tiles were emitted: same bytes whatever the
// scheduling, and whatever bands the tiles came in.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer EmissionStart { uint emission_start[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileCounts { uint tile_counts[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer PartialA { vec4 partial_a[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer PartialB { vec4 partial_b[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer PartialC { vec4 partial_c[]; };
layout(set = 0, binding = 6, std430) restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 7, std430) restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 8, std430) restrict buffer GradientC { vec4 gradient_c[]; };
#ifdef SURFACE
layout(set = 0, binding = 10, std430) readonly restrict buffer PartialD { vec4 partial_d[]; };
layout(set = 0, binding = 11, std430) restrict buffer GradientD { vec4 gradient_d[]; };
#endif

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v >= counters.visible) {
        return;
    }
    uint start = emission_start[v];
    uint count = tile_counts[v];
    vec4 a = gradient_a[v];
    vec4 b = gradient_b[v];
    vec4 c = gradient_c[v];
#ifdef SURFACE
    vec4 d = gradient_d[v];
#endif
    for (uint k = 0u; k < count; ++k) {
        // A slot without a tile belongs to no Gaussian and was never written.
        if (owners[start + k] == v) {
            a += partial_a[start + k];
            b += partial_b[start + k];
            c += partial_c[start + k];
#ifdef SURFACE
            d += partial_d[start + k];
#endif
        }
    }
    gradient_a[v] = a;
    gradient_b[v] = b;
    gradient_c[v] = c;
#ifdef SURFACE
    gradient_d[v] = d;
#endif
}
