#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-variant: -
// kiln-variant: half HALF=1
// kiln-variant: deferred DEFERRED=1
// kiln-variant: surface SURFACE=1
// kiln-variant: half_surface HALF=1 SURFACE=1
// Writes the record of every visible Gaussian of a chunk: image position, conic, opacity, colour, depth key, tile count.
//
// `deferred` variants are for models whose colours get the optimiser's steps when they are next in view: they evaluate colours
// with the steps that were missed, and write nothing back. `surface` variants also write the plane that a Gaussian lies in.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LENS = 0u;  // 1: some cameras have one

#ifdef DEFERRED
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; vec4 rates[]; };
#else
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#endif
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
#ifdef HALF
layout(set = 0, binding = 4, std430) readonly restrict buffer Sh { uint sh[]; };
#else
layout(set = 0, binding = 4, std430) readonly restrict buffer Sh { float sh[]; };
#endif
layout(set = 0, binding = 5, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 10, std430) writeonly restrict buffer DepthKeys { uint depth_keys[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer TileCounts { uint tile_counts[]; };
#ifdef DEFERRED
layout(set = 0, binding = 12, std430) readonly restrict buffer ShM { float sh_m[]; };
layout(set = 0, binding = 13, std430) readonly restrict buffer ShV { float sh_v[]; };
#endif

#ifdef SURFACE
layout(set = 0, binding = 12, std430) writeonly restrict buffer SplatPlane { vec4 splat_plane[]; };  // normal; distance
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
#ifdef DEFERRED
    uint seen_plane;
#endif
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/tiles.glsl"
#include "common/sh.glsl"
#ifdef SURFACE
#include "common/plane.glsl"
#endif
#ifdef HALF
#include "common/sh_words.glsl"
#endif
#ifdef DEFERRED
#include "common/missed.glsl"

// First and second moment of value `p`.
vec2 moments_of(uint p, uint i) {
    uint at = p * stride + i;
    return vec2(sh_m[at], sh_v[at]);
}

// Takes from `color` what the missed steps lower the `COUNT` coefficients from `FIRST` on by; both are compile-time numbers, so
// that all moments are on their way before the first is looked at.
#define MISSED_COLOR(FIRST, COUNT)                                                             \
    if (coefficients > FIRST) {                                                                \
        vec2 moments[3u * COUNT];                                                              \
        [[unroll]] for (uint j = 0u; j < 3u * COUNT; ++j) {                                    \
            moments[j] = moments_of(3u * FIRST + j, i);                                        \
        }                                                                                      \
        [[unroll]] for (uint j = 0u; j < 3u * COUNT; ++j) {                                    \
            float change = missed_change(d, FIRST > 0u, moments[j].x, moments[j].y);           \
            color[j % 3u] -= basis[FIRST + j / 3u] * change;                                   \
        }                                                                                      \
    }
#endif

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    uint word = visible_mask[group * 8u + (lane >> 5)];
    if ((word & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_visible[first_group + group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
    for (uint w = 0u; w < (lane >> 5); ++w) {
        v += uint(bitCount(visible_mask[group * 8u + w]));
    }

    Gaussian g = load_gaussian(i);
    Projection p = project(g);

    vec3 direction = normalize(g.mean - u.camera_position.xyz);
    float basis[16];
    sh_basis(direction, basis);
    uint coefficients = (u.sh_degree + 1u) * (u.sh_degree + 1u);
    vec3 color = vec3(0.5);
    for (uint k = 0u; k < 16u; ++k) {
        if (k < coefficients) {
#ifdef HALF
            color += basis[k] * sh_words(k, i);
#else
            uint at = 3u * k * stride + i;
            color += basis[k] * vec3(sh[at], sh[at + stride], sh[at + 2u * stride]);
#endif
        }
    }
#ifdef DEFERRED
    float seen = sh_v[seen_plane * stride + i];
    if (uint(seen) != u.sh_steps) {
        Missed d = missed_since(seen);
        MISSED_COLOR(0u, 1u)
        MISSED_COLOR(1u, 3u)
        MISSED_COLOR(4u, 5u)
        MISSED_COLOR(9u, 3u)
        MISSED_COLOR(12u, 4u)
    }
#endif
    // Bit c of the mask: channel c was clamped, so its gradient stops here.
    uint clamped = (color.r < 0.0 ? 1u : 0u) | (color.g < 0.0 ? 2u : 0u) | (color.b < 0.0 ? 4u : 0u);
    // Not max(): a colour that is no number must reach the loss and stall the step.
    color = mix(color, vec3(0.0), lessThan(color, vec3(0.0)));

    if ((u.flags & FLAG_NEAR) != 0u) {
        float away = log(p.depth);
        // Below 0 nothing is near: the render is the first three moments of the depths' logarithms by blending weights.
        color = u.near_limit < 0.0 ? away * vec3(1.0, away, away * away) : vec3(p.depth < u.near_limit ? 1.0 : 0.0);
        clamped = 0u;
    }

    Footprint f = footprint(p.mean_px, p.conic, p.opacity, p.radius, uvec2(u.tiles_x, u.tiles_y));
    uint tiles = 0u;
    for (int row = f.rect.y; row < f.rect.w; ++row) {
        ivec2 span = row_span(f, row);
        tiles += uint(max(span.y - span.x, 0));
    }
    splat_position[v] = vec4(p.mean_px, p.radius, p.opacity);
    splat_conic[v] = vec4(p.conic, p.depth);
    splat_color[v] = vec4(color, float(clamped));
    // Depth is positive, so its bits order as its value does. 32 octaves from the near plane on, each in 2^19 steps: less than
    // two millionths apart is one depth.
    uint steps = (floatBitsToUint(p.depth) - floatBitsToUint(u.near_z)) >> 4;
    depth_keys[v] = min(steps, (1u << DEPTH_KEY_BITS) - 1u);
    tile_counts[v] = tiles;
#ifdef SURFACE
    splat_plane[v] = plane_of(g, p);
#endif
}
