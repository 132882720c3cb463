#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the groups' sums into offsets, decides how many copies are made and publishes the new number of Gaussians. One
// group; the sums are few (one per 256 Gaussians).
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"
#include "common/rng.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Args { uvec4 args[]; };
layout(set = 0, binding = 4, std430) restrict buffer GroupCounts { uvec2 group_counts[]; };

layout(push_constant) uniform Push {
    uint chunks;
    uint chunk_gaussians;
    float growth;
    uint row;  // entries the list has room for
};
#include "common/chunk_args.glsl"

const uint CHANNEL_OFFSET = 73u;  // channel of where the first copy lies

// floor(2^32 copies / weight), for copies < weight.
uint rate_of(uint copies, uint weight) {
    uint quotient = 0u;
    uint rest = copies;
    for (uint k = 0u; k < 32u; ++k) {
        bool carry = (rest & 0x80000000u) != 0u;
        rest <<= 1;
        quotient <<= 1;
        if (carry || rest >= weight) {
            rest -= weight;
            quotient |= 1u;
        }
    }
    return quotient;
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    if (counters.stalled != 0u) {
        return;
    }
    uint n = control.count;
    uint groups = (n + 255u) / 256u;
    uvec2 carry = uvec2(0u);
    for (uint base = 0u; base < groups; base += 256u) {
        uint at = base + lane;
        uvec2 sums = at < groups ? group_counts[at] : uvec2(0u);
        uvec2 total;
        uvec2 before;
        before.x = group_exclusive_scan(sums.x, total.x);
        before.y = group_exclusive_scan(sums.y, total.y);
        if (at < groups) {
            group_counts[at] = carry + before;
        }
        carry += total;
    }
    uint weight = carry.x, dead = carry.y;
    uint copies = dead + min(control.free, uint(growth * float(n)));
    copies = min(copies, min(row, max(weight, 1u) - 1u));
    uint grown = n + (copies > dead ? copies - dead : 0u);
    write_chunk_args(grown);
    if (lane == 0u) {
        control.grown = grown;
        control.live = grown;
        control.entries = copies;
        control.dead = dead;
        control.weight = weight;
        control.rate = copies > 0u ? rate_of(copies, weight) : 0u;
        control.offset = rng_bits(u.seed, u.iteration, 0u, CHANNEL_OFFSET);
        args[ARGS_MOVES] = uvec4(fold_groups((copies + 255u) / 256u), 0u);
        counters.gaussians = grown;
        counters.births = copies;
        counters.deaths = min(dead, copies);
        counters.clones = copies;
        counters.splits = 0u;
        counters.capped = 0u;
    }
}
