#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// Radix sort, first of three passes: how often each digit occurs in each block of keys.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint BITS = 4u;
layout(constant_id = 1) const uint COUNTER = 2u;  // which counter holds the number of keys
layout(constant_id = 2) const uint SORT_BLOCK = 4096u;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { uint counters[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Histogram { uint histogram[]; };

layout(push_constant) uniform Push {
    uint shift;
    uint block_cap;  // blocks a digit's row has room for
};

shared uint bins[256];

void main() {
    uint n = counters[COUNTER];
    uint block = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint digits = 1u << BITS;
    if (block * SORT_BLOCK >= n) {
        return;
    }
    bins[lane] = 0u;
    barrier();
    for (uint k = 0u; k < SORT_BLOCK / 256u; ++k) {
        uint at = block * SORT_BLOCK + k * 256u + lane;
        if (at < n) {
            atomicAdd(bins[(keys[at] >> shift) & (digits - 1u)], 1u);
        }
    }
    barrier();
    if (lane < digits) {
        histogram[lane * block_cap + block] = bins[lane];
    }
}
