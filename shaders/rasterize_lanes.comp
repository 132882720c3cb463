#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// kiln-like: rasterize.column
// `rasterize` on CPU drivers: blends the sorted splats of a tile front to back (Kerbl et al. 2023, eq. 3), a subgroup of
// eight lanes a tile. See `common/lanes.glsl`.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

layout(local_size_x = 8) in;
layout(constant_id = 0) const uint OWNERS = 0u;
layout(constant_id = 1) const uint UNROLLED = 0u;  // several splats a turn, see `common/turns.glsl`

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Image { vec4 image[]; };          // rgb, final T
layout(set = 0, binding = 9, std430) writeonly restrict buffer LastContributor { uint last_contributor[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"

#include "common/turns.glsl"
#include "common/lanes.glsl"

// Splats of a turn whose loop is written out, by drivers and not in the module.
const uint TOGETHER = UNROLLED != 0u ? LANES : 1u;

uint splat_of(uint at) {
    uint payload = payloads[at];
    return OWNERS != 0u ? owners[payload] : payload;
}

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    if (!in_swath(origin.y)) {
        return;
    }
    uvec2 x = origin.x + lane + uvec2(0u, LANES);
    uvec2 range = tile_ranges[tile];
    float transmittance[32];
    vec3 color[32];
    uint last[32];
    vec2 center[32];
    uint open = 0u;  // pixels still taking splats
#define PLACE(P) uvec2(x[(P) >> 2 & 1], origin.y + ((P) >> 3) * 4u + ((P) & 3))
#define CLEAR(P) transmittance[P] = 1.0; color[P] = vec3(0.0); last[P] = 0u; { \
        uvec2 pixel = PLACE(P); \
        center[P] = vec2(pixel); \
        open |= pixel.x < u.width && pixel.y < u.height ? 1u << (P) : 0u; \
    }
#define CLEAR_BLOCK(B) FOUR_OF(B, CLEAR)
    EACH_BLOCK(CLEAR_BLOCK)
    uint all_open = all_bits(open);
    for (uint first = range.x; first < range.y && all_open != 0u; first += LANES) {
        Splat held = load_splat(splat_of(min(first + lane, range.y - 1u)));
        uint blocks = reached_blocks(held.position.xy, held.position.z, held.conic, origin);
        uvec2 by_block = lanes_by_block(first + lane < range.y ? blocks : 0u, lane);
#define BLEND(P) { \
            float power = scaled_power(scaled, s.position.xy - center[P]); \
            float alpha = alpha_of(s.position.z, power); \
            float next = transmittance[P] * (1.0 - alpha); \
            bool counts = waiting != 0u && (open & (1u << (P))) != 0u && power <= 0.0 && alpha >= ALPHA_MIN; \
            bool stops = counts && next < TRANSMITTANCE_STOP; \
            bool taken = counts && !stops; \
            open = stops ? open & ~(1u << (P)) : open; \
            color[P] += s.rgb * (taken ? alpha * transmittance[P] : 0.0); \
            transmittance[P] = taken ? next : transmittance[P]; \
            last[P] = taken ? first + k - range.x + 1u : last[P]; \
        }
#define WAITING(B) ((all_open >> (4 * B) & 0xfu) != 0u ? by_block[B >> 2] >> (8 * (B & 3)) & 0xffu : 0u)
#define BLEND_ONE(B) { \
            uint waiting = WAITING(B) >> k & 1u; \
            FOUR_OF(B, BLEND) \
        }
#define BLEND_BLOCK(B) { \
            uint waiting = WAITING(B); \
            do { \
                uint k = min(uint(findLSB(waiting)), LANES - 1u); \
                Splat s = pass_around(held, k); \
                vec3 scaled = scaled_conic(s.conic); \
                FOUR_OF(B, BLEND) \
                waiting &= waiting - 1u; \
            } while (waiting != 0u); \
        }
        if (UNROLLED != 0u) {
            [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
                Splat s = pass_around(held, k);
                vec3 scaled = scaled_conic(s.conic);
                EACH_BLOCK(BLEND_ONE)
            }
        } else {
            EACH_BLOCK(BLEND_BLOCK)
        }
        all_open = all_bits(open);
    }
#define STORE(P) { \
        uvec2 pixel = PLACE(P); \
        if (pixel.x < u.width && pixel.y < u.height) { \
            uint index = pixel.y * u.width + pixel.x - swath_base; \
            image[index] = vec4(color[P] + transmittance[P] * u.background.rgb, transmittance[P]); \
            last_contributor[index] = last[P]; \
        } \
    }
#define STORE_BLOCK(B) FOUR_OF(B, STORE)
    EACH_BLOCK(STORE_BLOCK)
    check_loops();
}
