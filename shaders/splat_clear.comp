#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: surface SURFACE=1
// Zeroes the 2D gradient records of the visible splats before atomics add to them.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer GradientC { vec4 gradient_c[]; };
#ifdef SURFACE
layout(set = 0, binding = 4, std430) writeonly restrict buffer GradientD { vec4 gradient_d[]; };
#endif

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v < counters.visible) {
        gradient_a[v] = vec4(0.0);
        gradient_b[v] = vec4(0.0);
        gradient_c[v] = vec4(0.0);
#ifdef SURFACE
        gradient_d[v] = vec4(0.0);
#endif
    }
}
