#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the groups' tile counts into offsets, checks the intersection capacity and writes the group counts of everything
// that runs once per intersection.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint SORT_BLOCK = 4096u;  // keys a group of the sort takes

layout(set = 0, binding = 0, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Args { uvec4 args[]; };
layout(set = 0, binding = 2, std430) restrict buffer GroupTiles { uint group_tiles[]; };

layout(push_constant) uniform Push {
    uint intersection_cap;
};

const uint ITEMS = 8u;
shared uint overflow;

void main() {
    uint lane = gl_LocalInvocationIndex;
    bool live = counters.stalled == 0u;
    uint n = live ? (counters.visible + 255u) / 256u : 0u;
    if (lane == 0u) {
        overflow = 0u;
    }
    barrier();
    uint carry = 0u;
    for (uint base = 0u; base < n; base += 256u * ITEMS) {
        uint values[ITEMS];
        uint sum = 0u;
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            values[k] = at < n ? group_tiles[at] : 0u;
            // A sum that would pass 2^31 saturates instead of wrapping round. Beyond 2^23 tiles in 2048 consecutive splats, which
            // takes many of them over a tenth of a picture of 8 megapixels, the step counts as one without room and is done in
            // bands: slower, and the same bytes.
            sum = min(sum + min(values[k], 0x10000000u), 0x10000000u);
        }
        uint total;
        uint offset = carry + group_exclusive_scan(min(sum, 0x00800000u), total);
        if (sum > 0x00800000u || total > 0x40000000u || carry > 0x40000000u) {
            overflow = 1u;
        }
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            if (at < n) {
                group_tiles[at] = offset;
            }
            offset += values[k];
        }
        carry = min(carry + total, 0x7fffffffu);
    }
    barrier();
    if (lane == 0u) {
        uint emitting = 4u * n;
        if (live) {
            counters.intersections_wanted = max(counters.intersections_wanted, carry);
            if (carry > intersection_cap || overflow != 0u) {
                counters.stalled = STALL_INTERSECTIONS;
                counters.stall_iteration = counters.iteration;
                carry = 0u;
                emitting = 0u;
                args[ARGS_TILES] = uvec4(0u, 1u, 1u, 0u);
                args[ARGS_HALVES] = uvec4(0u, 1u, 1u, 0u);
                args[ARGS_ONE] = uvec4(0u, 1u, 1u, 0u);
                args[ARGS_VISIBLE] = uvec4(0u, 1u, 1u, 0u);
            }
            counters.intersections = carry;
        }
        args[ARGS_EMISSION] = uvec4(fold_groups(emitting), 0u);
        args[ARGS_INTERSECTIONS] = uvec4(fold_groups((carry + 255u) / 256u), 0u);
        args[ARGS_INTERSECTION_SORT] = uvec4(fold_groups((carry + SORT_BLOCK - 1u) / SORT_BLOCK), 0u);
    }
}
