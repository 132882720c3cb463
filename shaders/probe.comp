#version 450
#extension GL_GOOGLE_include_directive : require
// Reads runs of 16 KiB that lie `stride` units apart and leaves the exclusive or of each run's words: as little work as
// possible for as many bytes, so that the time it takes is that of the memory.
#include "common/group.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Source { uvec4 source[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Sums { uint sums[]; };

layout(push_constant) uniform Push {
    uint stride; // units of 16 bytes
    uint runs;
};

shared uint words[256];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint run = group_index();
    uint word = 0u;
    if (run < runs) {
        uint at = run * stride + lane;
        // Four loads of each thread are under way at once.
        uvec4 a = source[at];
        uvec4 b = source[at + 256u];
        uvec4 c = source[at + 512u];
        uvec4 d = source[at + 768u];
        uvec4 all = (a ^ b) ^ (c ^ d);
        word = (all.x ^ all.y) ^ (all.z ^ all.w);
    }
    words[lane] = word;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1) {
        if (lane < half_size) {
            words[lane] ^= words[lane + half_size];
        }
        barrier();
    }
    if (lane == 0u && run < runs) {
        sums[run] = words[0];
    }
}
