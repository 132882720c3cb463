#version 450
#extension GL_GOOGLE_include_directive : require
// Lists the parents in id order: entry k is the Gaussian that is copied to slot count + k, and whether it is split.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Gradients { uint gradients[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Keys { uint keys[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer GroupCounts { uvec2 group_counts[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer From { uint from[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer To { uint to[]; };

void main() {
    uint group = group_index();
    uint i = group * 256u + gl_LocalInvocationIndex;
    uint n = control.count;
    if (group * 256u >= n) {
        return;
    }
    uint key = i < n ? keys[i] : 0u;
    bool above = key > control.threshold;
    bool tied = key > 0u && key == control.threshold;
    uint total;
    uint packed = group_exclusive_scan(above ? 1u : (tied ? 0x10000u : 0u), total);
    uvec2 before = group_counts[group] + uvec2(packed & 0xffffu, packed >> 16);
    bool split = false;
    if (above || (tied && before.y < control.ties)) {
        uint slot = before.x + min(before.y, control.ties);
        uint mark = gradients[i] & MARK;
        split = mark != 0u;
        from[slot] = i | mark;
        to[slot] = n + slot;
    }
    group_exclusive_scan(split ? 1u : 0u, total);
    if (gl_LocalInvocationIndex == 0u && total > 0u) {
        atomicAdd(control.splits, total);
    }
}
