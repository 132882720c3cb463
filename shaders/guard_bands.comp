#version 450
#extension GL_GOOGLE_include_directive : require
// Looks at bands of memory that no pass may write: how many words of each are no longer the pattern, which is the first of
// them, and what it is now. A group looks at one band; groups share nothing, so the result does not depend on their order.
#include "common/group.glsl"

layout(local_size_x = 64) in;

// The first word of a band in `words`, and its length in words.
layout(set = 0, binding = 0, std430) readonly restrict buffer Bands { uvec2 bands[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Words { uint words[]; };
// Overwritten words, the first of them counted from the start of the band (all ones without any), what it is, and zero.
layout(set = 0, binding = 2, std430) writeonly restrict buffer Reports { uvec4 reports[]; };

layout(push_constant) uniform Push {
    uint pattern;
    uint count; // bands
};

shared uint overwritten[64];
shared uint firsts[64];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint band = group_index();
    uvec2 range = band < count ? bands[band] : uvec2(0u);
    uint n = 0u;
    uint first = 0xffffffffu;
    for (uint i = lane; i < range.y; i += 64u) {
        if (words[range.x + i] != pattern) {
            n += 1u;
            first = min(first, i);
        }
    }
    overwritten[lane] = n;
    firsts[lane] = first;
    barrier();
    for (uint half_size = 32u; half_size > 0u; half_size >>= 1) {
        if (lane < half_size) {
            overwritten[lane] += overwritten[lane + half_size];
            firsts[lane] = min(firsts[lane], firsts[lane + half_size]);
        }
        barrier();
    }
    if (lane == 0u && band < count) {
        n = overwritten[0];
        first = firsts[0];
        uint found = n > 0u ? words[range.x + first] : pattern;
        reports[band] = uvec4(n, first, found, 0u);
    }
}
