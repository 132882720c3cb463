#version 450
#extension GL_GOOGLE_include_directive : require
// Radix select, first of two passes a digit: how often each value of the next digit occurs among the keys that share the
// digits found so far. A fixed grid strides over all keys.
#include "common/densify.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint mode;
    uint shift;
};

shared uint bins[512];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint n = control.count;
    uint free = control.free;
    bool ration = mode == SELECT_RATION;
    if (ration && (free == 0u || control.selected <= free)) {
        return;
    }
    bins[lane] = 0u;
    bins[256u + lane] = 0u;
    uint ranks = ration ? 1u : 2u;
    uint prefix[2] = uint[2](control.prefix[0], control.prefix[1]);
    barrier();
    for (uint i = gl_WorkGroupID.x * 256u + lane; i < n; i += gl_NumWorkGroups.x * 256u) {
        uint key = keys[i];
        if (ration && key == 0u) {
            continue;
        }
        for (uint r = 0u; r < ranks; ++r) {
            if (shift == 24u || (key >> (shift + 8u)) == (prefix[r] >> (shift + 8u))) {
                atomicAdd(bins[256u * r + ((key >> shift) & 255u)], 1u);
            }
        }
    }
    barrier();
    for (uint k = lane; k < 512u; k += 256u) {
        if (bins[k] > 0u) {
            atomicAdd(control.bins[k], bins[k]);
        }
    }
}
