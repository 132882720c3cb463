#version 450
#extension GL_GOOGLE_include_directive : require
// Sorts the list of each Gaussian of a chunk, because atomics filled it in any order. A heap, because one Gaussian may be a
// neighbour of thousands at its own place.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Starts { uint starts[]; };
layout(set = 0, binding = 2, std430) restrict buffer NeighborOf { uint neighbor_of[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};

// Lets the value at `root` of a heap of `size` words from `from` on sink to its place.
void sink(uint from, uint root, uint size) {
    uint value = neighbor_of[from + root];
    for (uint child = 2u * root + 1u; child < size; child = 2u * root + 1u) {
        child += child + 1u < size && neighbor_of[from + child] < neighbor_of[from + child + 1u] ? 1u : 0u;
        if (neighbor_of[from + child] <= value) {
            break;
        }
        neighbor_of[from + root] = neighbor_of[from + child];
        root = child;
    }
    neighbor_of[from + root] = value;
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    uint from = starts[first + i];
    uint size = starts[first + i + 1u] - from;
    for (uint root = size / 2u; root-- > 0u;) {
        sink(from, root, size);
    }
    for (uint last = size; last-- > 1u;) {
        uint largest = neighbor_of[from];
        neighbor_of[from] = neighbor_of[from + last];
        neighbor_of[from + last] = largest;
        sink(from, 0u, last);
    }
}
