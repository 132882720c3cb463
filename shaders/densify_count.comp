#version 450
#extension GL_GOOGLE_include_directive : require
// Per 256 Gaussians, how many keys are above the threshold and how many equal it: parents with their ties, or the living.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer GroupCounts { uvec2 group_counts[]; };

layout(push_constant) uniform Push {
    uint stage;
};

void main() {
    uint group = group_index();
    uint i = group * 256u + gl_LocalInvocationIndex;
    bool births = stage == STAGE_BIRTHS;
    uint n = births ? control.count : control.grown;
    uint threshold = births ? control.threshold : 0u;
    if (group * 256u >= n) {
        return;
    }
    uint key = i < n ? keys[i] : 0u;
    uint packed = key > threshold ? 1u : (key > 0u && key == threshold ? 0x10000u : 0u);
    uint total;
    group_exclusive_scan(packed, total);
    if (gl_LocalInvocationIndex == 0u) {
        group_counts[group] = uvec2(total & 0xffffu, total >> 16);
    }
}
