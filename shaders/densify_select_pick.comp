#version 450
#extension GL_GOOGLE_include_directive : require
// Radix select, second pass of a digit: the digit whose keys hold the wanted rank. One group.
//
// Quantile: with `a` of `n` Gaussians above the gradient threshold, q = 1 - a / n lies at (n - 1) q = (n - a) - (n - a) / n,
// between the ranks n - a - 1 and n - a. Ration: of the selected, the `free` highest stay, so the lowest of these has rank
// selected - free.
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };

layout(push_constant) uniform Push {
    uint mode;
    uint shift;
};

uint first_rank(uint r, uint free) {
    if (mode == SELECT_RATION) {
        return control.selected - free;
    }
    uint below = control.count - control.above;
    uint low = below == 0u ? 0u : below - 1u;
    return r == 0u || below == 0u || below == control.count ? low : below;
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint free = control.free;
    bool ration = mode == SELECT_RATION;
    if (ration && (free == 0u || control.selected <= free)) {
        if (lane == 0u && free == 0u) {
            control.threshold = 0xffffffffu;
        }
        return;
    }
    for (uint r = 0u; r < (ration ? 1u : 2u); ++r) {
        uint rank = shift == 24u ? first_rank(r, free) : control.rank[r];
        uint prefix = shift == 24u ? 0u : control.prefix[r];
        uint bin = control.bins[256u * r + lane];
        control.bins[256u * r + lane] = 0u;
        uint total;
        uint before = group_exclusive_scan(bin, total);
        if (before <= rank && rank - before < bin) {
            prefix |= lane << shift;
            control.prefix[r] = prefix;
            control.rank[r] = rank - before;
            if (ration && shift == 0u) {
                control.threshold = prefix;
                control.ties = bin - (rank - before);
            }
        }
    }
}
