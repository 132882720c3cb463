#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-variant: -
// kiln-variant: exact EXACT=1
// Gradients of a tile's triangles, walking each sample's contributors back to front. What the forward pass left of a sample is
// found by walking it once more, so nothing is kept by samples.
//
// A thread has a sample. All sums of a triangle follow from two numbers a sample, its blending weight and what opacity owes to the
// loss there; samples leave those two in shared memory for a few triangles. Then threads change sides twice: one that has a row of a
// triangle adds its samples from left to right, all components at once as they share the geometry; one that has a component adds
// the rows from top to bottom. Sums go to the triangle's own emission slot and `triangle_fold` adds a triangle's slots in order, so
// the result does not depend on scheduling.
//
//   a, b, c = corner 0, 1, 2: d place on the image x, y; d depth; d red
//   d = d green and blue of corners 0 and 1     e = of corner 2; d opacity; d radius     f = d normal
// `exact` adds what the published method lacks: colour and depth by where the corners lie, radius, normal.
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
layout(set = 0, binding = 5, std430) readonly restrict buffer RecordCorners { uvec4 record_corners[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer VertexColor { float vertex_color[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer ImageGradient { vec4 image_gradient[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by normal; by depth
layout(set = 0, binding = 10, std430) restrict buffer PartialA { float partial_a[]; };
layout(set = 0, binding = 11, std430) restrict buffer PartialB { float partial_b[]; };
layout(set = 0, binding = 12, std430) restrict buffer PartialC { float partial_c[]; };
layout(set = 0, binding = 13, std430) restrict buffer PartialD { float partial_d[]; };
layout(set = 0, binding = 14, std430) restrict buffer PartialE { float partial_e[]; };
#ifdef EXACT
layout(set = 0, binding = 15, std430) restrict buffer PartialF { float partial_f[]; };
#endif

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
const uint SCORES = 0u;
#include "common/swath.glsl"
#include "common/turns.glsl"
#include "common/image_gradient.glsl"
#include "common/triangles.glsl"

const uint STAGED = 24u;
#include "common/triangle_stage.glsl"

#ifdef EXACT
const uint BATCH = 10u;       // triangles at a time
const uint COMPONENTS = 24u;  // sums of a triangle
const float DIVIDED_MAX = ALPHA_MAX;
#else
const uint BATCH = 12u;
const uint COMPONENTS = 19u;
// The cap of alpha in the published backward pass.
const float DIVIDED_MAX = 0.99;
#endif
// Lengths of loops that are written out, by drivers and not in the module.
const uint ALL_STAGED = UNROLLED != 0u ? STAGED : 1u;
const uint ALL_OF_BATCH = UNROLLED != 0u ? BATCH : 1u;
const uint ALL_OF_SIDE = UNROLLED != 0u ? 16u : 1u;
const uint STORED = (COMPONENTS + 3u) / 4u * 4u;  // with what fills the last vector

// Blending weight of a sample; window by d alpha. Then, in the same place, components of a row: 16 samples have room for 32.
shared vec2 pulls[BATCH * 256u];
shared vec4 sample_pull[256];     // d loss by a sample's rgb and depth
shared vec3 staged_depths[BATCH];
shared vec3 staged_color_0[BATCH];
shared vec3 staged_color_1[BATCH];
shared vec3 staged_color_2[BATCH];
shared vec3 staged_normal[BATCH];
shared uint tile_last;
shared uint done_count;

void put(uint component, uint slot, float value) {
    uint at = 4u * slot + (component & 3u);
    switch (component >> 2) {
        case 0u: partial_a[at] = value; break;
        case 1u: partial_b[at] = value; break;
        case 2u: partial_c[at] = value; break;
        case 3u: partial_d[at] = value; break;
        case 4u: partial_e[at] = value; break;
#ifdef EXACT
        case 5u: partial_f[at] = value; break;
#endif
    }
}

// Adds what a sample owes to the components of triangle k of the batch.
void add_sample(inout float sums[COMPONENTS], uint k, vec2 p, vec2 pull, uint lane, uint index) {
    vec3 phi = distances(k, p);
    vec4 g = sample_pull[lane];
    vec3 shares = shares_of(k, phi);
    vec3 pulled = pull.x * shares;
    uint edge = phi.y > phi.x ? 1u : 0u;
    float nearest = max(phi.x, phi.y);
    if (phi.z > nearest) {
        edge = 2u;
        nearest = phi.z;
    }
    // Only the nearest edge moves the window, and only its two corners move that.
    vec4 ab = staged_01[k], last = staged_2[k], n01 = staged_n01[k];
    vec2 n2 = staged_n2[k].xy;
    vec2 from = edge == 0u ? ab.xy : (edge == 1u ? ab.zw : last.xy);
    vec2 to = edge == 0u ? ab.zw : (edge == 1u ? last.xy : ab.xy);
    vec2 n = edge == 0u ? n01.xy : (edge == 1u ? n01.zw : n2);
    float long_edge = staged_lengths[k][edge];
    float along = dot(p - from, to - from) / (long_edge * long_edge);
    float by_phi = last.z * pull.y * tri.sigma / nearest;
    vec2 at_from = -by_phi * (1.0 - along) * n, at_to = -by_phi * along * n;
#ifdef EXACT
    vec3 lengths = staged_lengths[k] / staged_n2[k].w;
    vec3 values = vec3(dot(staged_color_0[k], g.rgb), dot(staged_color_1[k], g.rgb), dot(staged_color_2[k], g.rgb));
    values = pull.x * (values + g.w * staged_depths[k]);
    vec2 slope = -(values.z * lengths.x * n01.xy + values.x * lengths.y * n01.zw + values.y * lengths.z * n2);
#endif
    [[unroll]] for (uint corner = 0u; corner < 3u; ++corner) {
        vec2 place = corner == edge ? at_from : (corner == (edge + 1u) % 3u ? at_to : vec2(0.0));
#ifdef EXACT
        place -= shares[corner] * slope;
#endif
        sums[4u * corner] += place.x;
        sums[4u * corner + 1u] += place.y;
        sums[4u * corner + 2u] += pulled[corner] * g.w;
        sums[4u * corner + 3u] += pulled[corner] * g.r;
        sums[12u + 2u * corner] += pulled[corner] * g.g;
        sums[13u + 2u * corner] += pulled[corner] * g.b;
    }
    sums[18] += pull.y;
#ifdef EXACT
    sums[19] -= last.z * pull.y * tri.sigma / last.w;
    [[unroll]] for (uint axis = 0u; axis < 3u; ++axis) {
        sums[20u + axis] += pull.x * surface_gradient[index][axis] / float(tri.samples * tri.samples);
    }
#endif
}

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
    uvec2 first = origin * f;  // sample
    uvec2 spot = uvec2(lane & 15u, lane >> 4);
    bool inside = is_inside(origin, spot);
    vec2 p = vec2(first + spot);
    uvec2 range = tile_ranges[tile];
    uint list = range.y - range.x;
    float share = 1.0 / float(f * f);
    vec4 g = vec4(0.0);
    vec3 by_normal = vec3(0.0);
    float behind = 0.0;
    if (inside) {
        uvec2 pixel = origin + spot / f;
        uint index = pixel.y * u.width + pixel.x - swath_base;
        vec4 by_surface = surface_gradient[index];
        g = share * vec4(gradient_at(index).rgb, by_surface.w);
        by_normal = share * by_surface.xyz;
        behind = share * background_gradient(index);
    }
    sample_pull[lane] = g;
    // A triangle of the batch and one of its rows; later one of its components.
    uint mine = lane % BATCH, row = lane / BATCH;
    uvec2 rows = min(uvec2(u.list_px), uvec2(u.width, u.height) - origin) * f;
    float transmittance = 1.0;
    uint last = 0u;
    bool done = !inside;
    bool counted = false;
    if (lane == 0u) {
        done_count = 0u;
        tile_last = 0u;
    }
    for (uint base = 0u; base < list; base += STAGED) {
        barrier();
        if (done && !counted) {
            atomicAdd(done_count, 1u);
            counted = true;
        }
        barrier();
        if (done_count == 256u) {
            break;
        }
        uint count = min(STAGED, list - base);
        if (lane < count) {
            stage_outline(lane, record_corners[record_at(range.x + base + lane)]);
        }
        barrier();
#define WALK(K, IS_LEFT) { \
            float alpha = cover_at(K, p).alpha; \
            if (alpha > 0.0 && IS_LEFT) { \
                float next = transmittance * (1.0 - alpha); \
                done = next < TRANSMITTANCE_STOP; \
                transmittance = done ? transmittance : next; \
                last = done ? last : base + K + 1u; \
            } \
        }
        if (UNROLLED != 0u) {
            [[unroll]] for (uint k = 0u; k < ALL_STAGED; ++k) WALK(k, (k < count && !done))
        } else {
            for (uint k = 0u; k < count && !done; ++k) WALK(k, true)
        }
    }
    barrier();
    atomicMax(tile_last, last);
    barrier();
    uint batches = (tile_last + BATCH - 1u) / BATCH;
    if (row < STORED) {
        // The fold reads every slot, those behind the last contributor too.
        for (uint place = batches * BATCH + mine; place < list; place += BATCH) {
            put(row, payloads[range.x + place], 0.0);
        }
    }
    for (uint batch = batches; batch > 0u; --batch) {
        uint base = (batch - 1u) * BATCH;
        uint count = min(BATCH, list - base);
        barrier();
        if (lane < count) {
            uvec4 corners = record_corners[record_at(range.x + base + lane)];
            stage_outline(lane, corners);
            Shade shade = shade_of(corners);
            staged_depths[lane] = shade.depths;
            staged_color_0[lane] = shade.color_0;
            staged_color_1[lane] = shade.color_1;
            staged_color_2[lane] = shade.color_2;
            staged_normal[lane] = shade.normal;
        }
        barrier();
#define PULL(K) { \
            vec2 pull = vec2(0.0); \
            if (base + K < last) { \
                Cover c = cover_at(K, p); \
                float alpha = min(c.alpha, DIVIDED_MAX); \
                if (alpha > 0.0) { \
                    transmittance /= 1.0 - alpha; \
                    vec3 color = c.shares.x * staged_color_0[K] + c.shares.y * staged_color_1[K] + \
                                 c.shares.z * staged_color_2[K]; \
                    float value = dot(color, g.rgb) + dot(staged_normal[K], by_normal) + \
                                  dot(c.shares, staged_depths[K]) * g.w; \
                    float ahead = value - behind; \
                    pull = vec2(alpha, c.window * ahead) * transmittance; \
                    behind += alpha * ahead; \
                } \
            } \
            pulls[K * 256u + lane] = pull; \
        }
        if (UNROLLED != 0u) {
            [[unroll]] for (uint i = 0u; i < ALL_OF_BATCH; ++i) PULL((BATCH - 1u - i))
        } else {
            for (uint i = count; i > 0u; --i) PULL((i - 1u))
        }
        barrier();
        bool has_row = row < rows.y && mine < count;
        float sums[COMPONENTS];
        [[unroll]] for (uint c = 0u; c < COMPONENTS; ++c) {
            sums[c] = 0.0;
        }
        if (has_row) {
            // Samples of the row that the triangle's box has.
            vec4 ab = staged_01[mine];
            vec2 c = staged_2[mine].xy;
            vec2 low = floor(min(ab.xy, min(ab.zw, c))) - vec2(first);
            vec2 high = floor(max(ab.xy, max(ab.zw, c))) + 1.0 - vec2(first);
            uvec2 from = uvec2(clamp(low, vec2(0.0), vec2(rows)));
            uvec2 to = uvec2(clamp(high, vec2(0.0), vec2(rows)));
            to.x = row >= from.y && row < to.y ? to.x : from.x;
#define SAMPLE(X, IS_IN) { \
                uint other = row * 16u + X; \
                vec2 pull = pulls[mine * 256u + other]; \
                if (pull != vec2(0.0) && IS_IN) { \
                    uvec2 at = origin + uvec2(X, row) / f; \
                    uint its = at.y * u.width + at.x - swath_base; \
                    add_sample(sums, mine, vec2(first + uvec2(X, row)), pull, other, its); \
                } \
            }
            if (UNROLLED != 0u) {
                [[unroll]] for (uint x = 0u; x < ALL_OF_SIDE; ++x) SAMPLE(x, (x >= from.x && x < to.x))
            } else {
                for (uint x = from.x; x < to.x; ++x) SAMPLE(x, true)
            }
        }
        barrier();
        if (has_row) {
            [[unroll]] for (uint pair = 0u; pair < (COMPONENTS + 1u) / 2u; ++pair) {
                float second = 2u * pair + 1u < COMPONENTS ? sums[min(2u * pair + 1u, COMPONENTS - 1u)] : 0.0;
                pulls[mine * 256u + row * 16u + pair] = vec2(sums[2u * pair], second);
            }
        }
        barrier();
        if (row < STORED && mine < count) {
            float sum = 0.0;
#define ADD_ROW(Y) sum += pulls[mine * 256u + Y * 16u + (row >> 1)][row & 1u];
            if (UNROLLED != 0u) {
                [[unroll]] for (uint y = 0u; y < ALL_OF_SIDE; ++y) {
                    if (y < rows.y && row < COMPONENTS) {
                        ADD_ROW(y)
                    }
                }
            } else {
                for (uint y = 0u; y < rows.y && row < COMPONENTS; ++y) {
                    ADD_ROW(y)
                }
            }
            put(row, payloads[range.x + base + mine], sum);
        }
    }
    check_loops();
}
