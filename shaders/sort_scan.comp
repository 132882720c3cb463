#version 450
#extension GL_GOOGLE_include_directive : require
// Radix sort, second pass: each group scans one digit's row of block counts and stores the row's total behind the rows.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint BITS = 4u;
layout(constant_id = 1) const uint COUNTER = 2u;
layout(constant_id = 2) const uint SORT_BLOCK = 4096u;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { uint counters[]; };
layout(set = 0, binding = 1, std430) restrict buffer Histogram { uint histogram[]; };

layout(push_constant) uniform Push {
    uint shift;
    uint block_cap;
};

void main() {
    uint digit = gl_WorkGroupID.x;
    uint lane = gl_LocalInvocationIndex;
    uint blocks = (counters[COUNTER] + SORT_BLOCK - 1u) / SORT_BLOCK;
    uint carry = 0u;
    for (uint base = 0u; base < blocks; base += 256u) {
        uint at = digit * block_cap + base + lane;
        uint value = base + lane < blocks ? histogram[at] : 0u;
        uint total;
        uint offset = carry + group_exclusive_scan(value, total);
        if (base + lane < blocks) {
            histogram[at] = offset;
        }
        carry += total;
    }
    if (lane == 0u) {
        histogram[(1u << BITS) * block_cap + digit] = carry;
    }
}
