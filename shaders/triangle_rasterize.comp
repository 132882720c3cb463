#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Blends the sorted triangles of a tile front to back and averages a pixel's samples in shared memory: images have pixels and never
// samples, whatever their number. A thread has a sample. Beside colours go normals, depths, and the depth of the last triangle
// before which more than half the light was left, at the sample next to the pixel's centre.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint UNROLLED = 0u;  // several triangles a turn, see `common/turns.glsl`

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Record { uvec4 record[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer RecordCorners { uvec4 record_corners[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer VertexColor { float vertex_color[]; };
layout(set = 0, binding = 9, std430) restrict buffer Importance { uint importance[]; };  // bits of the largest blending weights
layout(set = 0, binding = 10, std430) writeonly restrict buffer Image { vec4 image[]; };                  // rgb, final T
layout(set = 0, binding = 11, std430) writeonly restrict buffer SurfacePlane { vec4 surface_plane[]; };   // sum w n, sum w z
layout(set = 0, binding = 12, std430) writeonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };   // median z, sum w z

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"
#include "common/turns.glsl"
#include "common/triangles.glsl"

const uint STAGED = 64u;
const uint PER_TURN = UNROLLED != 0u ? 16u : 1u;
#include "common/triangle_stage.glsl"

shared vec4 staged_depths[STAGED];  // of the corners; number of the triangle
shared vec3 staged_color_0[STAGED];
shared vec3 staged_color_1[STAGED];
shared vec3 staged_color_2[STAGED];
shared vec3 staged_normal[STAGED];
shared uint staged_most[STAGED];  // bits of the largest blending weight
shared vec4 sample_light[256];    // rgb, T
shared vec4 sample_plane[256];    // sum w n, sum w z
shared float sample_median[256];
shared uint done_count;

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uvec2 origin = uvec2(tile % u.lists_x, tile / u.lists_x) * u.list_px;
    if (!in_swath(origin.y)) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint f = tri.samples;
    uvec2 place = uvec2(lane & 15u, lane >> 4);
    bool inside = is_inside(origin, place);
    vec2 p = vec2(origin * f + place);
    uvec2 range = tile_ranges[tile];
    vec3 color = vec3(0.0);
    vec4 plane = vec4(0.0);
    float transmittance = 1.0;
    float last_depth = 0.0;
    bool done = !inside;
    bool counted = false;
    if (lane == 0u) {
        done_count = 0u;
    }
    for (uint base = range.x; base < range.y; base += STAGED) {
        barrier();
        if (done && !counted) {
            atomicAdd(done_count, 1u);
            counted = true;
        }
        barrier();
        if (done_count == 256u) {
            break;
        }
        uint count = min(STAGED, range.y - base);
        if (lane < count) {
            uint v = record_at(base + lane);
            uvec4 corners = record_corners[v];
            stage_outline(lane, corners);
            Shade shade = shade_of(corners);
            uint t = record[v].x & ((1u << FAINTEST_SHIFT) - 1u);
            staged_depths[lane] = vec4(shade.depths, uintBitsToFloat(t));
            staged_color_0[lane] = shade.color_0;
            staged_color_1[lane] = shade.color_1;
            staged_color_2[lane] = shade.color_2;
            staged_normal[lane] = shade.normal;
            staged_most[lane] = 0u;
        }
        barrier();
        for (uint at = 0u; at < count && !done; at += PER_TURN) {
            [[unroll]] for (uint i = 0u; i < PER_TURN; ++i) {
                uint k = at + i;
                Cover c = cover_at(k, p);
                if (c.alpha != 0.0 && (UNROLLED == 0u || (k < count && !done))) {
                    float next = transmittance * (1.0 - c.alpha);
                    if (next < TRANSMITTANCE_STOP) {
                        done = true;
                    } else {
                        float weight = c.alpha * transmittance;
                        float depth = dot(c.shares, staged_depths[k].xyz);
                        color += weight * (c.shares.x * staged_color_0[k] + c.shares.y * staged_color_1[k] +
                                           c.shares.z * staged_color_2[k]);
                        plane += weight * vec4(staged_normal[k], depth);
                        last_depth = transmittance > 0.5 ? depth : last_depth;
                        transmittance = next;
                        atomicMax(staged_most[k], floatBitsToUint(weight));
                    }
                }
            }
        }
        barrier();
        if ((tri.flags & TRIANGLES_MAXIMA) != 0u && lane < count && staged_most[lane] != 0u) {
            atomicMax(importance[floatBitsToUint(staged_depths[lane].w)], staged_most[lane]);
        }
    }
    sample_light[lane] = vec4(color, transmittance);
    sample_plane[lane] = plane;
    sample_median[lane] = last_depth;
    barrier();
    uvec2 mine = uvec2(lane % u.list_px, lane / u.list_px);
    uvec2 pixel = origin + mine;
    if (mine.y < u.list_px && pixel.x < u.width && pixel.y < u.height) {
        vec4 light = vec4(0.0);
        vec4 planes = vec4(0.0);
        for (uint s = 0u; s < f * f; ++s) {
            uint other = (mine.y * f + s / f) * 16u + mine.x * f + s % f;
            light += sample_light[other];
            planes += sample_plane[other];
        }
        float share = 1.0 / float(f * f);
        light *= share;
        planes *= share;
        uint index = pixel.y * u.width + pixel.x - swath_base;
        image[index] = vec4(light.rgb + light.a * u.background.rgb, light.a);
        surface_plane[index] = planes;
        float median = sample_median[(mine.y * f + f / 2u) * 16u + mine.x * f + f / 2u];
        surface_depth[index] = vec2(median, planes.w);
    }
    check_loops();
}
