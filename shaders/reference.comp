#version 450
#extension GL_GOOGLE_include_directive : require
// Work that never changes, for `kernels/reference.rs`: every thread reads a vector, multiplies and adds 256 times, each time
// waiting for the last, and writes it back.
#include "common/group.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Values { vec4 values[]; };

layout(push_constant) uniform Push {
    uint count;  // vectors
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    if (i >= count) {
        return;
    }
    vec4 x = values[i];
    // Comes to rest at 1, whatever number it began with.
    for (uint round = 0u; round < 256u; ++round) {
        x = fma(x, vec4(0.5, 0.25, 0.75, 0.125), vec4(0.5, 0.75, 0.25, 0.875));
    }
    values[i] = x;
}
