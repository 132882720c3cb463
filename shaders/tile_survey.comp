#version 450
#extension GL_GOOGLE_include_directive : require
// Where the tiles of every visible Gaussian lie, without records of them: per tile, how many Gaussians touch it, how many
// touch it as their first tile and how many as their last, tiles counted row by row. Three planes of `plane` words.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LENS = 0u;  // 1: some cameras have one

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 5, std430) restrict buffer TileSurvey { uint tile_survey[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint plane;
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/tiles.glsl"

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    if ((visible_mask[group * 8u + (lane >> 5)] & (1u << (lane & 31u))) == 0u) {
        return;
    }
    Projection p = project(load_gaussian(i));
    Footprint f = footprint(p.mean_px, p.conic, p.opacity, p.radius, uvec2(u.tiles_x, u.tiles_y));
    bool touched = false;
    uint last = 0u;
    for (int row = f.rect.y; row < f.rect.w; ++row) {
        ivec2 span = row_span(f, row);
        for (int x = span.x; x < span.y; ++x) {
            last = uint(row) * u.tiles_x + uint(x);
            atomicAdd(tile_survey[last], 1u);
            if (!touched) {
                atomicAdd(tile_survey[plane + last], 1u);
                touched = true;
            }
        }
    }
    if (touched) {
        atomicAdd(tile_survey[2u * plane + last], 1u);
    }
}
