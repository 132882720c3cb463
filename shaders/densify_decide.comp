#version 450
#extension GL_GOOGLE_include_directive : require
// Selects Gaussians, with a score: selected means g >= threshold or ga >= Q; the score is the larger of g / threshold
// and ga / Q. The key of a selected Gaussian is its score's bits plus one, of every other 0.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Gradients { uint gradients[]; };
layout(set = 0, binding = 2, std430) restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    float threshold;
    uint use_abs;
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    bool selected = false;
    if (i < control.count) {
        float low = uintBitsToFloat(control.prefix[0]);
        float high = uintBitsToFloat(control.prefix[1]);
        // Equal ranks make `high - low` zero, so that the fraction does not matter there.
        float fraction = float(control.above) / float(control.count);
        precise float q = low + (high - low) * fraction;
        float gradient = uintBitsToFloat(gradients[i] & ~MARK);
        float score = gradient / threshold;
        selected = gradient >= threshold;
        if (use_abs != 0u) {
            float abs_mean = uintBitsToFloat(keys[i]);
            selected = selected || abs_mean >= q;
            if (q > 0.0) {
                score = max(score, abs_mean / q);
            }
        }
        keys[i] = selected ? floatBitsToUint(score) + 1u : 0u;
    }
    uint total;
    group_exclusive_scan(selected ? 1u : 0u, total);
    if (gl_LocalInvocationIndex == 0u && total > 0u) {
        atomicAdd(control.selected, total);
    }
}
