#version 450
#extension GL_GOOGLE_include_directive : require
// Turns the groups' counts into offsets, then says how many Gaussians there are now and how many groups the next passes
// need. After the deaths it also publishes the result. One group; the counts are few (one per 256 Gaussians).
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Args { uvec4 args[]; };
layout(set = 0, binding = 3, std430) restrict buffer GroupCounts { uvec2 group_counts[]; };

layout(push_constant) uniform Push {
    uint chunks;
    uint chunk_gaussians;
    uint stage;
};
#include "common/chunk_args.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    if (counters.stalled != 0u) {
        return;
    }
    uint n = stage == STAGE_BIRTHS ? control.count : control.grown;
    uint groups = (n + 255u) / 256u;
    uvec2 carry = uvec2(0u);
    for (uint base = 0u; base < groups; base += 256u) {
        uint at = base + lane;
        uvec2 counts = at < groups ? group_counts[at] : uvec2(0u);
        uvec2 total;
        uvec2 before;
        before.x = group_exclusive_scan(counts.x, total.x);
        before.y = group_exclusive_scan(counts.y, total.y);
        if (at < groups) {
            group_counts[at] = carry + before;
        }
        carry += total;
    }
    if (stage == STAGE_BIRTHS) {
        uint births = carry.x + min(carry.y, control.ties);
        write_chunk_args(n + births);
        if (lane == 0u) {
            control.entries = births;
            control.grown = n + births;
            args[ARGS_GAUSSIANS] = uvec4(fold_groups((n + births + 255u) / 256u), 0u);
            args[ARGS_MOVES] = uvec4(fold_groups((births + 255u) / 256u), 0u);
        }
    } else {
        uint live = carry.x;
        write_chunk_args(live);
        if (lane == 0u) {
            uint births = n - control.count;
            control.live = live;
            control.entries = 0u;
            // There are no more moves than deaths.
            args[ARGS_MOVES] = uvec4(fold_groups((n - live + 255u) / 256u), 0u);
            counters.gaussians = live;
            if (stage == STAGE_CULL) {
                counters.culled = n - live;
                return;
            }
            counters.births = births;
            counters.deaths = n - live;
            counters.clones = births - control.splits;
            counters.splits = control.splits;
            counters.capped = control.selected - births;
        }
    }
}
