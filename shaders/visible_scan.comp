#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the groups' visible counts into offsets and writes the group counts of everything that runs once per visible
// Gaussian. One group; the counts are few (one per 256 Gaussians).
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint SORT_BLOCK = 4096u;  // keys a group of the sort takes

layout(set = 0, binding = 0, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Args { uvec4 args[]; };
layout(set = 0, binding = 2, std430) restrict buffer GroupVisible { uint group_visible[]; };

layout(push_constant) uniform Push {
    uint visible_cap;
};

const uint ITEMS = 8u;

void main() {
    uint lane = gl_LocalInvocationIndex;
    bool live = counters.stalled == 0u;
    uint n = live ? (counters.gaussians + 255u) / 256u : 0u;
    uint carry = 0u;
    for (uint base = 0u; base < n; base += 256u * ITEMS) {
        uint values[ITEMS];
        uint sum = 0u;
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            values[k] = at < n ? group_visible[at] : 0u;
            sum += values[k];
        }
        uint total;
        uint offset = carry + group_exclusive_scan(sum, total);
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            if (at < n) {
                group_visible[at] = offset;
            }
            offset += values[k];
        }
        carry += total;
    }
    barrier();
    if (lane == 0u) {
        if (live) {
            counters.visible_wanted = max(counters.visible_wanted, carry);
            if (carry > visible_cap) {
                counters.stalled = STALL_VISIBLE;
                counters.stall_iteration = counters.iteration;
                carry = 0u;
                live = false;
                args[ARGS_TILES] = uvec4(0u, 1u, 1u, 0u);
                args[ARGS_HALVES] = uvec4(0u, 1u, 1u, 0u);
                args[ARGS_ONE] = uvec4(0u, 1u, 1u, 0u);
            }
            counters.visible = carry;
        }
        args[ARGS_VISIBLE] = uvec4(fold_groups((carry + 255u) / 256u), 0u);
        args[ARGS_VISIBLE_SORT] = uvec4(fold_groups((carry + SORT_BLOCK - 1u) / SORT_BLOCK), 0u);
    }
}
