#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: gather
// kiln-variant: scatter SCATTER=1
// Copies planes of listed Gaussians between a chunk and staging rows, entry k of the list at place k of each row.
#include "common/group.glsl"
#include "common/densify.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Ids { uint ids[]; };
#ifdef SCATTER
layout(set = 0, binding = 2, std430) readonly restrict buffer Staging { uint staging[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Values { uint values[]; };
#else
layout(set = 0, binding = 2, std430) readonly restrict buffer Values { uint values[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Staging { uint staging[]; };
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_plane;
    uint planes;
    uint row;  // entries a staging row has room for
};

void main() {
    uint k = group_index() * 256u + gl_LocalInvocationIndex;
    if (k >= control.entries) {
        return;
    }
    // Wraps around below `first`: one comparison tests both ends of the chunk.
    uint i = (ids[k] & ~MARK) - first;
    if (i >= stride) {
        return;
    }
    for (uint p = 0u; p < planes; ++p) {
        uint at = (first_plane + p) * stride + i;
#ifdef SCATTER
        values[at] = staging[p * row + k];
#else
        staging[p * row + k] = values[at];
#endif
    }
}
