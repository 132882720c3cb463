#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// kiln-like: rasterize_backward.column
// `rasterize_backward.column` on CPU drivers, a subgroup of eight lanes a tile, see `common/lanes.glsl`. Walks each pixel's
// contributors back to front; the tile's sums go to the splat's own emission slot.
//
// All sums of a splat follow from sums of the pull on its exponent, alone and times the offset's powers, so a pixel adds few
// numbers, and its column's offset along x is a factor of their sums.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

layout(local_size_x = 8) in;
layout(constant_id = 0) const uint OWNERS = 0u;
layout(constant_id = 1) const uint SCORES = 0u;  // the fourth value of image gradients is splatted back as well
layout(constant_id = 2) const uint STATISTIC = 1u;  // the absolute pull of every pixel is summed, for densification
layout(constant_id = 3) const uint UNROLLED = 0u;  // several splats a turn, see `common/turns.glsl`

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer LastContributor { uint last_contributor[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer ImageGradient { vec4 image_gradient[]; };
// Partial sums per emission slot.
//   a = d mean (px) x, y; d opacity; abs statistic     b = d conic A, B, C; unused     c = d rgb; splatted value
layout(set = 0, binding = 11, std430) writeonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 12, std430) writeonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 13, std430) writeonly restrict buffer GradientC { vec4 gradient_c[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"

#include "common/turns.glsl"
#include "common/image_gradient.glsl"
#include "common/lanes.glsl"

// Splats of a turn whose loop is written out, by drivers and not in the module.
const uint TOGETHER = UNROLLED != 0u ? LANES : 1u;

// Sums over pixels. `pull` is d loss / d exponent: alone, times dx, dy, then times dx^2, dx dy, dy^2.
struct Sums {
    vec3 pull;
    vec3 square;
    float statistic;
    vec4 color;  // weighted image gradient; what is splatted back for scores
};

// Adds the lanes' sum of a value to what lane k has.
#define GATHER(INTO, VALUE) { float all = total(VALUE); INTO += lane == k ? all : 0.0; }

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
    float transmittance[32];  // behind the current splat
    vec3 behind[32];          // colour composed behind it
    vec4 g[32];
    float background[32];
    uint last[32];
    vec2 center[32];
    uint block_last[8];
    uint tile_last = 0u;
#define LOAD(P) transmittance[P] = 1.0; behind[P] = vec3(0.0); g[P] = vec4(0.0); background[P] = 0.0; last[P] = 0u; { \
        uvec2 pixel = uvec2(x[(P) >> 2 & 1], origin.y + ((P) >> 3) * 4u + ((P) & 3)); \
        uint index = pixel.y * u.width + pixel.x - swath_base; \
        center[P] = vec2(pixel); \
        if (pixel.x < u.width && pixel.y < u.height) { \
            last[P] = last_contributor[index]; \
            transmittance[P] = image[index].a; \
            g[P] = gradient_at(index); \
            background[P] = transmittance[P] * background_gradient(index); \
        } \
    }
#define LOAD_BLOCK(B) FOUR_OF(B, LOAD) \
    block_last[B] = highest(max(max(last[4 * B], last[4 * B + 1]), max(last[4 * B + 2], last[4 * B + 3]))); \
    tile_last = max(tile_last, block_last[B]);
    EACH_BLOCK(LOAD_BLOCK)
    // Emission slots behind the last contributor get zeros: the fold reads every slot.
    for (uint at = range.x + tile_last + lane; at < range.y; at += LANES) {
        uint slot = payloads[at];
        gradient_a[slot] = vec4(0.0);
        gradient_b[slot] = vec4(0.0);
        gradient_c[slot] = vec4(0.0);
    }
    vec2 half_size = 0.5 * vec2(u.width, u.height);
    for (uint done = 0u; done < tile_last; done += LANES) {
        // Lane k holds the splat k places before the last that is left, and in the end its sums.
        uint left = tile_last - done;
        uint slot = payloads[range.x + left - min(lane, left - 1u) - 1u];
        Splat held = load_splat(OWNERS != 0u ? owners[slot] : slot);
        uint blocks = reached_blocks(held.position.xy, held.position.z, held.conic, origin);
#define LEAVE_LATE(B) blocks &= left - lane <= block_last[B] ? ~0u : ~(1u << B);
        EACH_BLOCK(LEAVE_LATE)
        uvec2 by_block = lanes_by_block(lane < left ? blocks : 0u, lane);
        Sums mine = Sums(vec3(0.0), vec3(0.0), 0.0, vec4(0.0));
        // Pixels that a splat does not reach are computed as well; zeros leave their state as it is.
#define ADD(P) { \
            vec2 d = s.position.xy - center[P]; \
            float power = scaled_power(scaled, d); \
            float alpha = alpha_of(s.position.z, power); \
            bool touched = waiting != 0u && left - k <= last[P] && power <= 0.0 && alpha >= ALPHA_MIN; \
            float uncapped = touched ? s.position.z * exp2(max(power, -16.0)) : 0.0; \
            alpha = touched ? alpha : 0.0; \
            float keep = 1.0 / (1.0 - alpha); \
            transmittance[P] *= keep; \
            vec3 ahead = s.rgb - behind[P]; \
            float pull = uncapped * (transmittance[P] * dot(ahead, g[P].rgb) - background[P] * keep); \
            behind[P] += alpha * ahead; \
            sums.color += alpha * transmittance[P] * g[P]; \
            sums.pull += pull * vec3(1.0, 0.0, d.y); \
            sums.square += pull * vec3(0.0, 0.0, d.y * d.y); \
            if (STATISTIC != 0u) { \
                vec2 slope = vec2(s.conic.x * d.x + s.conic.y * d.y, s.conic.y * d.x + s.conic.z * d.y); \
                sums.statistic += abs(pull) * dot(abs(slope), half_size); \
            } \
        }
// Adds one block's share of splat s, which lane k holds.
#define ADD_SHARE(B) { \
            Sums sums = Sums(vec3(0.0), vec3(0.0), 0.0, vec4(0.0)); \
            FOUR_OF(B, ADD) \
            float dx = s.position.x - float(x[B & 1]); \
            sums.pull.y = dx * sums.pull.x; \
            sums.square.xy = dx * vec2(sums.pull.y, sums.pull.z); \
            GATHER(mine.pull.x, sums.pull.x) \
            GATHER(mine.pull.y, sums.pull.y) \
            GATHER(mine.pull.z, sums.pull.z) \
            GATHER(mine.square.x, sums.square.x) \
            GATHER(mine.square.y, sums.square.y) \
            GATHER(mine.square.z, sums.square.z) \
            if (STATISTIC != 0u) { \
                GATHER(mine.statistic, sums.statistic) \
            } \
            GATHER(mine.color.r, sums.color.r) \
            GATHER(mine.color.g, sums.color.g) \
            GATHER(mine.color.b, sums.color.b) \
            if (SCORES != 0u) { \
                GATHER(mine.color.a, sums.color.a) \
            } \
        }
#define ADD_ONE(B) { \
            uint waiting = by_block[B >> 2] >> (8 * (B & 3) + k) & 1u; \
            ADD_SHARE(B) \
        }
#define ADD_BLOCK(B) { \
            uint waiting = by_block[B >> 2] >> (8 * (B & 3)) & 0xffu; \
            do { \
                uint k = min(uint(findLSB(waiting)), LANES - 1u); \
                Splat s = pass_around(held, k); \
                vec3 scaled = scaled_conic(s.conic); \
                ADD_SHARE(B) \
                waiting &= waiting - 1u; \
            } while (waiting != 0u); \
        }
        if (UNROLLED != 0u) {
            [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
                Splat s = pass_around(held, k);
                vec3 scaled = scaled_conic(s.conic);
                EACH_BLOCK(ADD_ONE)
            }
        } else {
            EACH_BLOCK(ADD_BLOCK)
        }
        if (lane < left) {
            vec3 conic = held.conic;
            vec2 d_mean = -vec2(dot(conic.xy, mine.pull.yz), dot(conic.yz, mine.pull.yz));
            gradient_a[slot] = vec4(d_mean, mine.pull.x / held.position.z, mine.statistic);
            gradient_b[slot] = vec4(-mine.square * vec3(0.5, 1.0, 0.5), 0.0);
            gradient_c[slot] = mine.color;
        }
    }
    check_loops();
}
