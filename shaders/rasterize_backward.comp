#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: column COLUMN=1
// kiln-variant: atomic ATOMIC=1
// kiln-variant: compare_exchange COMPARE_EXCHANGE=1
// Gradients of the 2D splats of a tile, walking each pixel's contributors back to front.
//
// Column variant: 16 threads, a column of 16 pixels each; the tile's sums go to the splat's own emission slot and a later
// pass folds a splat's slots in order, so the result does not depend on scheduling. The other variants: 256 threads, one
// pixel each; a subgroup (32 lanes at most) turns to the splats that reach its block of 8x4 pixels, reduces ten sums with
// a halving butterfly, and one lane a sum adds it to the splat, with float atomics or, where there are none, by comparing
// and exchanging the word until nobody came between.
#ifdef ATOMIC
#extension GL_EXT_shader_atomic_float : require
#endif
#ifndef COLUMN
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"
#include "common/rng.glsl"

#ifdef COLUMN
layout(local_size_x = 16) in;
#else
layout(local_size_x = 256) in;
#endif
layout(constant_id = 0) const uint OWNERS = 0u;
layout(constant_id = 1) const uint JITTER = 0u;

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
// Column: partial sums per emission slot. Otherwise: sums per splat.
//   a = d mean (px) x, y; d opacity; abs statistic     b = d conic A, B, C; unused     c = d rgb; unused
#ifdef COLUMN
layout(set = 0, binding = 11, std430) writeonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 12, std430) writeonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 13, std430) writeonly restrict buffer GradientC { vec4 gradient_c[]; };
#elif defined(ATOMIC)
layout(set = 0, binding = 11, std430) restrict buffer GradientA { float gradient_a[]; };
layout(set = 0, binding = 12, std430) restrict buffer GradientB { float gradient_b[]; };
layout(set = 0, binding = 13, std430) restrict buffer GradientC { float gradient_c[]; };
#else
// Bits of the sums. Coherent, so that the first guess of a sum is not an old one from a cache.
layout(set = 0, binding = 11, std430) coherent restrict buffer GradientA { uint gradient_a[]; };
layout(set = 0, binding = 12, std430) coherent restrict buffer GradientB { uint gradient_b[]; };
layout(set = 0, binding = 13, std430) coherent restrict buffer GradientC { uint gradient_c[]; };
#endif

#include "common/jitter.glsl"
#include "common/turns.glsl"

vec2 sample_point(uvec2 pixel, uint index) {
    return JITTER != 0u ? vec2(pixel) + sample_offset(index) : vec2(pixel);
}

// Derivative of the loss by a pixel's final transmittance: what shows of the background, and a loss of coverage.
float background_gradient(vec4 g) {
    float shown = dot(u.background.rgb, g.rgb);
    return (u.flags & FLAG_ALPHA_GRADIENT) != 0u ? shown + g.a : shown;
}

// Gradient state of a pixel: transmittance behind the current splat, colour composed behind it.
struct PixelState {
    float transmittance;
    vec3 behind;
};

// One splat's share at one pixel; returns false when the splat does not touch the pixel.
bool splat_gradient(vec4 position, vec3 conic, vec3 rgb, vec2 center, vec3 g, float background, bool counts,
                    inout PixelState s, out vec4 a, out vec3 b, out vec3 c) {
    vec2 d = position.xy - center;
    float power = splat_power(conic, d);
    float e = exp(power);
    float alpha = min(ALPHA_MAX, position.w * e);
    bool touched = power <= 0.0 && alpha >= ALPHA_MIN;
#ifdef COLUMN
    // CPU drivers compute masked lanes too. Zeros leave the state as it is, and they are quick where the products of a far
    // pixel would be denormal numbers, which cost a hundred times as much.
    touched = touched && counts;
    e = touched ? e : 0.0;
    alpha = touched ? alpha : 0.0;
#else
    if (!touched) {
        return false;
    }
#endif
    float keep = 1.0 / (1.0 - alpha);
    s.transmittance *= keep;
    c = (alpha * s.transmittance) * g;
    float d_alpha = s.transmittance * dot(rgb - s.behind, g) - background * keep;
    s.behind = alpha * rgb + (1.0 - alpha) * s.behind;
    float d_power = position.w * e * d_alpha;
    vec2 d_mean = -d_power * vec2(conic.x * d.x + conic.y * d.y, conic.y * d.x + conic.z * d.y);
    // The statistic sums every pixel's absolute pull, in normalised device units, so that opposite pulls do not cancel.
    vec2 ndc = abs(d_mean) * (0.5 * vec2(u.width, u.height));
    a = vec4(d_mean, e * d_alpha, ndc.x + ndc.y);
    b = -d_power * vec3(0.5 * d.x * d.x, d.x * d.y, 0.5 * d.y * d.y);
    return touched;
}

#ifdef COLUMN

#include "common/columns.glsl"

// Sums of up to 16 splats by 16 columns, so that the group meets twice per 16 splats and not twice per splat.
const uint BATCH = 16u;
shared vec4 sum_a[BATCH * 16u];
shared vec3 sum_b[BATCH * 16u];
shared vec3 sum_c[BATCH * 16u];
shared uint newest[16];

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    uint x = origin.x + lane;
    uint rows = min(16u, u.height - origin.y);
    uvec2 range = tile_ranges[tile];
    PixelState state[16];
    vec3 g[16];
    float background[16];
    uint last[16];
    uint last_any = 0u;
    vec2 center[16];
#define LOAD(R) center[R] = sample_point(uvec2(x, origin.y + R), (origin.y + R) * u.width + x); \
    last[R] = 0u; state[R] = PixelState(1.0, vec3(0.0)); g[R] = vec3(0.0); background[R] = 0.0; \
    if (R < rows && x < u.width) { \
        uint index = (origin.y + R) * u.width + x; \
        last[R] = last_contributor[index]; \
        state[R].transmittance = image[index].a; \
        g[R] = image_gradient[index].rgb; \
        background[R] = state[R].transmittance * background_gradient(image_gradient[index]); \
        last_any = max(last_any, last[R]); \
    }
    EACH_ROW(LOAD)
    newest[lane] = last_any;
    barrier();
    uint tile_last = 0u;
    for (uint k = 0u; k < 16u; ++k) {
        tile_last = max(tile_last, newest[k]);
    }
    // Emission slots behind the last contributor get zeros: the fold reads every slot.
    for (uint at = range.x + tile_last + lane; at < range.y; at += 16u) {
        uint slot = payloads[at];
        gradient_a[slot] = vec4(0.0);
        gradient_b[slot] = vec4(0.0);
        gradient_c[slot] = vec4(0.0);
    }
    for (uint done = 0u; done < tile_last; done += BATCH) {
        uint count = min(BATCH, tile_last - done);
        for (uint k = 0u; k < count; ++k) {
            uint at = tile_last - done - k;
            uint v = owners[payloads[range.x + at - 1u]];
            vec4 position = splat_position[v];
            vec3 conic = splat_conic[v].xyz;
            vec3 rgb = splat_color[v].rgb;
            ivec2 reach = row_reach(position, conic, x, origin.y, rows);
            vec4 total_a = vec4(0.0);
            vec3 total_b = vec3(0.0);
            vec3 total_c = vec3(0.0);
#define ADD(R) { \
                vec4 a; \
                vec3 b, c; \
                splat_gradient(position, conic, rgb, center[R], g[R], background[R], at <= last[R], state[R], a, b, c); \
                total_a += a; \
                total_b += b; \
                total_c += c; \
            }
            EACH_REACHED_ROW(ADD)
            sum_a[k * 16u + lane] = total_a;
            sum_b[k * 16u + lane] = total_b;
            sum_c[k * 16u + lane] = total_c;
        }
        barrier();
        if (lane < count) {
            vec4 a = vec4(0.0);
            vec3 b = vec3(0.0), c = vec3(0.0);
            for (uint k = 0u; k < 16u; ++k) {
                a += sum_a[lane * 16u + k];
                b += sum_b[lane * 16u + k];
                c += sum_c[lane * 16u + k];
            }
            uint slot = payloads[range.x + tile_last - done - lane - 1u];
            gradient_a[slot] = a;
            gradient_b[slot] = vec4(b, 0.0);
            gradient_c[slot] = vec4(c, 0.0);
        }
        barrier();
    }
    check_loops();
}

#else

#ifdef ATOMIC
#define ADD_SUM(WORD, VALUE) atomicAdd(WORD, VALUE)
#else
// Every failed exchange means that another subgroup's sum went in, so all get through whatever the order they run in; no
// two lanes of a subgroup want the same word. Bits are compared, so that it ends on values that are not numbers as well.
#define ADD_SUM(WORD, VALUE) { \
        float value = VALUE; \
        uint found = WORD; \
        uint assumed = ~found; \
        while ((floatBitsToUint(value) << 1) != 0u && found != assumed) { \
            assumed = found; \
            found = atomicCompSwap(WORD, assumed, floatBitsToUint(uintBitsToFloat(assumed) + value)); \
        } \
    }
#endif

#include "common/blocks.glsl"

shared vec4 batch_position[256];
shared vec3 batch_conic[256];
shared vec3 batch_color[256];
shared uint batch_splat[256];
shared uint batch_blocks[256];
shared uint tile_last;

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uint lane_id = gl_SubgroupInvocationID;
    uint lane = gl_SubgroupID * gl_SubgroupSize + lane_id;
    uint quad = lane_id & 3u;
    uint block = 1u << (lane >> 5);
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    uvec2 pixel = origin + block_pixel(lane);
    uint index = pixel.y * u.width + pixel.x;
    bool inside = pixel.x < u.width && pixel.y < u.height;
    vec2 center = sample_point(pixel, index);
    uvec2 range = tile_ranges[tile];
    PixelState state = PixelState(1.0, vec3(0.0));
    vec3 g = vec3(0.0);
    float background = 0.0;
    uint last = 0u;
    if (inside) {
        last = last_contributor[index];
        state.transmittance = image[index].a;
        g = image_gradient[index].rgb;
        background = state.transmittance * background_gradient(image_gradient[index]);
    }
    if (lane == 0u) {
        tile_last = 0u;
    }
    barrier();
    atomicMax(tile_last, last);
    barrier();
    uint newest = tile_last;
    for (uint done = 0u; done < newest; done += 256u) {
        barrier();
        uint count = min(256u, newest - done);
        if (lane < count) {
            // Slot 0 holds the contributor furthest back.
            uint payload = payloads[range.x + newest - done - 1u - lane];
            uint v = OWNERS != 0u ? owners[payload] : payload;
            vec4 position = splat_position[v];
            vec3 conic = splat_conic[v].xyz;
            batch_splat[lane] = v;
            batch_position[lane] = position;
            batch_conic[lane] = conic;
            batch_color[lane] = splat_color[v].rgb;
            batch_blocks[lane] = reached_blocks(position.xy, position.w, conic, origin, 0.5 * float(JITTER));
        }
        barrier();
        for (uint first = 0u; first < count; first += gl_SubgroupSize) {
            uint mine = first + lane_id;
            uint wanted = subgroupBallot(mine < count && (batch_blocks[mine] & block) != 0u).x;
            for (; wanted != 0u; wanted &= wanted - 1u) {
                uint k = first + uint(findLSB(wanted));
                vec4 a = vec4(0.0);
                vec3 b = vec3(0.0), c = vec3(0.0);
                bool touched = false;
                if (newest - done - k <= last) {
                    vec4 ta;
                    vec3 tb, tc;
                    touched = splat_gradient(batch_position[k], batch_conic[k], batch_color[k], center, g, background,
                                             true, state, ta, tb, tc);
                    if (touched) {
                        a = ta;
                        b = tb;
                        c = tc;
                    }
                }
                if (!subgroupAny(touched)) {
                    continue;
                }
                // Halving butterfly: at every level a lane keeps half of its sums and gives the other half away, so ten sums
                // over 32 lanes cost 5 + 3 + 2 + 1 + 1 shuffles instead of 50.
                bool high = (lane_id & 1u) != 0u;
                float s0 = high ? c.x : a.x, s1 = high ? c.y : a.y, s2 = high ? c.z : a.z, s3 = high ? b.y : a.w,
                      s4 = high ? b.z : b.x;
                float t0 = high ? a.x : c.x, t1 = high ? a.y : c.y, t2 = high ? a.z : c.z, t3 = high ? a.w : b.y,
                      t4 = high ? b.x : b.z;
                s0 += subgroupShuffleXor(t0, 1u);
                s1 += subgroupShuffleXor(t1, 1u);
                s2 += subgroupShuffleXor(t2, 1u);
                s3 += subgroupShuffleXor(t3, 1u);
                s4 += subgroupShuffleXor(t4, 1u);
                high = (lane_id & 2u) != 0u;
                float p0 = high ? s3 : s0, p1 = high ? s4 : s1, p2 = high ? 0.0 : s2;
                float q0 = high ? s0 : s3, q1 = high ? s1 : s4, q2 = high ? s2 : 0.0;
                p0 += subgroupShuffleXor(q0, 2u);
                p1 += subgroupShuffleXor(q1, 2u);
                p2 += subgroupShuffleXor(q2, 2u);
                // Lanes now hold, by their two low bits (1: second half of ten, 2: second half of five): three sums each.
                for (uint level = 4u; level < gl_SubgroupSize; level <<= 1u) {
                    p0 += subgroupShuffleXor(p0, level);
                    p1 += subgroupShuffleXor(p1, level);
                    p2 += subgroupShuffleXor(p2, level);
                }
                // By quad: 0: a.x a.y a.z   1: c.x c.y c.z   2: a.w b.x   3: b.y b.z. Where there are twelve lanes each adds one sum,
                // so that neighbours meet in one transaction.
                uint record = 4u * batch_splat[k];
                for (uint s = lane_id >> 2; s < 3u; s += gl_SubgroupSize >> 2) {
                    float sum = s == 0u ? p0 : s == 1u ? p1 : p2;
                    if (quad == 0u || (quad == 2u && s == 0u)) {
                        ADD_SUM(gradient_a[record + (quad == 0u ? s : 3u)], sum);
                    } else if (quad == 1u) {
                        ADD_SUM(gradient_c[record + s], sum);
                    } else if (s < 2u) {
                        ADD_SUM(gradient_b[record + (quad == 2u ? 0u : 1u + s)], sum);
                    }
                }
            }
        }
    }
    check_loops();
}

#endif
