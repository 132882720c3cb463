#version 450
#extension GL_GOOGLE_include_directive : require
// Writes which Gaussian each visible record is of.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer RecordIds { uint record_ids[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;        // id of the chunk's first Gaussian
    uint first_group;  // groups of earlier chunks
};

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    uint word = visible_mask[group * 8u + (lane >> 5)];
    if ((word & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_visible[first_group + group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
    for (uint w = 0u; w < (lane >> 5); ++w) {
        v += uint(bitCount(visible_mask[group * 8u + w]));
    }
    record_ids[v] = first + i;
}
