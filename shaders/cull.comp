#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: band BAND=1
// Decides which Gaussians of a chunk touch a tile: one bit each, and the number of set bits of every group of 256. What a
// training step leaves out is not visible in it. Band variant: which of the visible ones touch a tile of the band.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LENS = 0u;  // 1: some cameras have one

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer GroupVisible { uint group_visible[]; };
#ifdef BAND
layout(set = 0, binding = 6, std430) readonly restrict buffer WholeMask { uint whole_mask[]; };
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;        // id of the chunk's first Gaussian
    uint first_group;  // groups of earlier chunks
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/tiles.glsl"
#ifndef BAND
#include "common/rng.glsl"
#include "common/dropout.glsl"
#endif

shared uint words[8];

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (group * 256u >= count) {
        return;
    }
    if (lane < 8u) {
        words[lane] = 0u;
    }
    barrier();
#ifdef BAND
    bool wanted = i < count && (whole_mask[group * 8u + (lane >> 5)] & (1u << (lane & 31u))) != 0u;
#else
    // Whoever reads the mask later, bands among them, knows nothing of what a step leaves out.
    bool wanted = i < count && !dropped(first + i);
#endif
    if (wanted) {
        Projection p = project(load_gaussian(i));
        if (p.visible) {
            Footprint f = footprint(p.mean_px, p.conic, p.opacity, p.radius, uvec2(u.tiles_x, u.tiles_y));
            bool touched = false;
            for (int row = f.rect.y; row < f.rect.w && !touched; ++row) {
#ifdef BAND
                ivec2 span = clip_to_band(row_span(f, row), row);
#else
                ivec2 span = row_span(f, row);
#endif
                touched = span.x < span.y;
            }
            if (touched) {
                atomicOr(words[lane >> 5], 1u << (lane & 31u));
            }
        }
    }
    barrier();
    if (lane < 8u) {
        visible_mask[group * 8u + lane] = words[lane];
    }
    if (lane == 0u) {
        uint total = 0u;
        for (uint w = 0u; w < 8u; ++w) {
            total += uint(bitCount(words[w]));
        }
        group_visible[first_group + group] = total;
    }
}
