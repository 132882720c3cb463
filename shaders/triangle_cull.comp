#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: records RECORDS=1
// Plain variant: which triangles a view draws, one bit each, and the number of set bits of every group of 256; also how large
// they are on the image, at most so far. `records`, once the groups' offsets are known: the record of every one.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Corner0 { uint corner_0[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Corner1 { uint corner_1[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Corner2 { uint corner_2[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
#ifdef RECORDS
layout(set = 0, binding = 6, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Record { uvec4 record[]; };  // triangle and faintest corner; box
layout(set = 0, binding = 9, std430) writeonly restrict buffer RecordCorners { uvec4 record_corners[]; };  // vertices; opacity
layout(set = 0, binding = 10, std430) writeonly restrict buffer DepthKeys { uint depth_keys[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer TileCounts { uint tile_counts[]; };
#else
layout(set = 0, binding = 6, std430) writeonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 8, std430) restrict buffer Size { uint size[]; };  // bits
#endif

#include "common/triangles.glsl"
#include "common/triangle_facet.glsl"

#ifndef RECORDS
shared uint words[8];
#endif

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint t = group * 256u + lane;
    uint count = counters.gaussians;
#ifdef RECORDS
    if (counters.stalled != 0u || t >= count) {
        return;
    }
    uint word = visible_mask[group * 8u + (lane >> 5)];
    if ((word & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_visible[group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
    for (uint w = 0u; w < (lane >> 5); ++w) {
        v += uint(bitCount(visible_mask[group * 8u + w]));
    }
    uvec3 corners = uvec3(corner_0[t], corner_1[t], corner_2[t]);
    Facet f = facet_of(corners);
    record[v] = uvec4(t | f.faintest << FAINTEST_SHIFT, f.rect.x | f.rect.y << 16, f.rect.z | f.rect.w << 16, 0u);
    record_corners[v] = uvec4(corners, floatBitsToUint(f.opacity));
    // As for splats: 32 octaves from the near plane on, each in 2^19 steps.
    uint steps = (floatBitsToUint(f.depth) - floatBitsToUint(u.near_z)) >> 4;
    depth_keys[v] = min(steps, (1u << DEPTH_KEY_BITS) - 1u);
    tile_counts[v] = (f.rect.z - f.rect.x) * (f.rect.w - f.rect.y);
#else
    if (group * 256u >= count) {
        return;
    }
    if (lane < 8u) {
        words[lane] = 0u;
    }
    barrier();
    if (t < count) {
        Facet f = facet_of(uvec3(corner_0[t], corner_1[t], corner_2[t]));
        if (f.shown) {
            atomicOr(words[lane >> 5], 1u << (lane & 31u));
            if ((tri.flags & TRIANGLES_MAXIMA) != 0u) {
                size[t] = max(size[t], floatBitsToUint(f.size));
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
        group_visible[group] = total;
    }
#endif
}
