#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: surface SURFACE=1
// Stalls the step when a 2D gradient or the loss is not finite: nothing of such a step may reach the model.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer GradientC { vec4 gradient_c[]; };
#ifdef SURFACE
layout(set = 0, binding = 4, std430) readonly restrict buffer GradientD { vec4 gradient_d[]; };
#endif

bool bad(float x) {
    // Exponent bits all set: infinity or NaN. Bits, because compilers may assume that NaN does not occur.
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u;
}

void main() {
    // Gradients of a step that was cut short mean nothing.
    if (counters.stalled == STALL_LOOPS) {
        return;
    }
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    bool wrong = false;
    if (v == 0u) {
        wrong = bad(counters.loss);
    }
    if (v < counters.visible) {
        vec4 a = gradient_a[v];
        vec4 b = gradient_b[v];
        vec4 c = gradient_c[v];
        wrong = wrong || bad(a.x) || bad(a.y) || bad(a.z) || bad(a.w) || bad(b.x) || bad(b.y) || bad(b.z) ||
                bad(b.w) || bad(c.x) || bad(c.y) || bad(c.z);
#ifdef SURFACE
        vec4 d = gradient_d[v];
        wrong = wrong || bad(d.x) || bad(d.y) || bad(d.z) || bad(d.w);
#endif
    }
    if (wrong) {
        atomicAdd(counters.nonfinite, 1u);
        atomicMin(counters.nonfinite_index, v);
        counters.stall_iteration = counters.iteration;
        counters.stalled = STALL_NONFINITE;
    }
}
