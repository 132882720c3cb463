#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: fill FILL=1
// Turns the lists of neighbours round. Plain variant: how many Gaussians have each one among their neighbours. `fill`: their
// ids, at places that a cursor of each one hands out; `neighbor_rows` brings each list into order afterwards.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Neighbors { uint neighbors[]; };  // of this part's Gaussians
layout(set = 0, binding = 2, std430) restrict buffer Cursors { uint cursors[]; };
#ifdef FILL
layout(set = 0, binding = 3, std430) writeonly restrict buffer NeighborOf { uint neighbor_of[]; };
#endif

layout(push_constant) uniform Push {
    uint first;  // id of the part's first Gaussian
    uint count;  // Gaussians of the part
    uint k;      // neighbours of each
};

const uint NONE = 0xffffffffu;

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || at >= count * k || first + at / k >= counters.gaussians) {
        return;
    }
    uint id = neighbors[at];
    if (id == NONE) {
        return;
    }
#ifdef FILL
    neighbor_of[atomicAdd(cursors[id], 1u)] = first + at / k;
#else
    atomicAdd(cursors[id], 1u);
#endif
}
