#version 450
#extension GL_GOOGLE_include_directive : require
// How often each Gaussian is copied, and where to. Copies lie evenly in the running sum of weights (systematic resampling,
// Kitagawa 1996): Gaussian i has as many as lie in its part of it, copy k being the k-th of all. The first copies fill the
// slots of the dead in id order, the rest is appended.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer GroupCounts { uvec2 group_counts[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Copies { uint copies[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer From { uint from[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer To { uint to[]; };

// Copies below a running sum: whole numbers, so that neighbours agree and all add up.
uint copies_below(uint sum) {
    if (sum >= control.weight) {
        return control.entries;
    }
    uint high, low, carry;
    umulExtended(sum, control.rate, high, low);
    uaddCarry(low, control.offset, carry);
    return min(high + carry, control.entries);
}

void main() {
    uint group = group_index();
    uint i = group * 256u + gl_LocalInvocationIndex;
    uint n = control.count;
    if (group * 256u >= n) {
        return;
    }
    uint key = i < n ? keys[i] : 0u;
    bool dead = key == MARK;
    uint weight = dead ? 0u : key;
    uint total;
    uint below = group_counts[group].x + group_exclusive_scan(weight, total);
    uint hole = group_counts[group].y + group_exclusive_scan(dead ? 1u : 0u, total);
    if (i >= n) {
        return;
    }
    uint begin = 0u, end = 0u;
    if (weight > 0u) {
        begin = copies_below(below);
        end = copies_below(below + weight);
    }
    bool reused = dead && hole < control.entries;
    copies[i] = reused ? MARK : end - begin;
    if (reused) {
        to[hole] = i;
    }
    for (uint k = begin; k < end; ++k) {
        from[k] = i;
        if (k >= control.dead) {
            to[k] = n + k - control.dead;
        }
    }
}
