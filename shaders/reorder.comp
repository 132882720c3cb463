#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: take
// kiln-variant: put PUT=1
// Moves planes of a chunk's Gaussians to their places in staging rows, and what the rows then hold for the chunk back into
// its planes.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
#ifdef PUT
layout(set = 0, binding = 1, std430) readonly restrict buffer Staging { uint staging[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Values { uint values[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer Places { uint places[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Values { uint values[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Staging { uint staging[]; };
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_plane;
    uint planes;
    uint row;  // Gaussians a staging row has room for
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (i >= count) {
        return;
    }
#ifdef PUT
    uint place = first + i;
#else
    uint place = places[i];
#endif
    for (uint p = 0u; p < planes; ++p) {
        uint at = (first_plane + p) * stride + i;
#ifdef PUT
        values[at] = staging[p * row + place];
#else
        staging[p * row + place] = values[at];
#endif
    }
}
