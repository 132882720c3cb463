#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: blocks BLOCKS=1
// kiln-variant: before BEFORE=1
// kiln-variant: clear CLEAR=1
// Where the list of each Gaussian starts: sums of all counts before its own, in blocks of 2048. `clear`: no counts yet; `blocks`: the sum of each
// block; `before`, one group: sums of the blocks before each; plain variant: the starts, in the counts' place and as cursors.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
#ifdef CLEAR
layout(set = 0, binding = 1, std430) writeonly restrict buffer Starts { uint starts[]; };
#elif defined(BEFORE)
layout(set = 0, binding = 1, std430) restrict buffer BlockSums { uint block_sums[]; };
#elif defined(BLOCKS)
layout(set = 0, binding = 1, std430) writeonly restrict buffer BlockSums { uint block_sums[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Starts { uint starts[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer BlockSums { uint block_sums[]; };
layout(set = 0, binding = 2, std430) restrict buffer Starts { uint starts[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Cursors { uint cursors[]; };
#endif

layout(push_constant) uniform Push {
    uint count;  // words, or blocks of them
};

const uint ITEMS = 8u;

void main() {
    if (counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
#ifdef CLEAR
    for (uint k = 0u; k < ITEMS; ++k) {
        uint at = (group_index() * ITEMS + k) * 256u + lane;
        if (at < count) {
            starts[at] = 0u;
        }
    }
#else
    uint values[ITEMS];
    uint total;
#ifdef BEFORE
    uint carry = 0u;
    for (uint base = 0u; base < count; base += 256u * ITEMS) {
        uint sum = 0u;
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            values[k] = at < count ? block_sums[at] : 0u;
            sum += values[k];
        }
        uint before = carry + group_exclusive_scan(sum, total);
        for (uint k = 0u; k < ITEMS; ++k) {
            uint at = base + lane * ITEMS + k;
            if (at < count) {
                block_sums[at] = before;
            }
            before += values[k];
        }
        carry += total;
    }
#else
    uint base = group_index() * 256u * ITEMS;
    if (base >= count) {
        return;
    }
    uint sum = 0u;
    for (uint k = 0u; k < ITEMS; ++k) {
        uint at = base + lane * ITEMS + k;
        values[k] = at < count ? starts[at] : 0u;
        sum += values[k];
    }
    uint before = group_exclusive_scan(sum, total);
#ifdef BLOCKS
    if (lane == 0u) {
        block_sums[group_index()] = total;
    }
#else
    before += block_sums[group_index()];
    for (uint k = 0u; k < ITEMS; ++k) {
        uint at = base + lane * ITEMS + k;
        if (at < count) {
            starts[at] = before;
            cursors[at] = before;
        }
        before += values[k];
    }
#endif
#endif
#endif
}
