#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: column COLUMN=1
// kiln-variant: atomic ATOMIC=1
// kiln-variant: compare_exchange COMPARE_EXCHANGE=1
// kiln-variant: column_surface COLUMN=1 SURFACE=1
// kiln-variant: atomic_surface ATOMIC=1 SURFACE=1
// kiln-variant: compare_exchange_surface COMPARE_EXCHANGE=1 SURFACE=1
// Gradients of the 2D splats of a tile, walking each pixel's contributors back to front.
//
// Column variant: 16 threads, a column of 16 pixels each; the tile's sums go to the splat's own emission slot and a later
// pass folds a splat's slots in order, so the result does not depend on scheduling. The other variants: 128 threads for half a
// tile, one pixel each; a subgroup (32 lanes at most) turns to the splats that reach its block of 8x4 pixels. All sums of a splat
// follow from two numbers a pixel, the pull on the exponent and the blending weight, so pixels leave those two in shared
// memory for eight splats; then lanes change sides: a lane takes one splat and sums over a row of eight pixels in its
// registers, and rows are added with a few shuffles. Each sum goes to the splat with a float atomic or, where there are
// none, by comparing and exchanging the word until no other thread came between.
//
// `surface` variants go on with the gradients of blended planes: a splat's plane is blended like its colour, so its product with
// them adds to the pull, and its gradient is theirs by blending weights.
#ifdef ATOMIC
#extension GL_EXT_shader_atomic_float : require
#endif
#extension GL_EXT_control_flow_attributes : require
#ifndef COLUMN
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

#ifdef COLUMN
layout(local_size_x = 16) in;
#else
layout(local_size_x = 128) in;
#endif
layout(constant_id = 0) const uint OWNERS = 0u;
layout(constant_id = 1) const uint SCORES = 0u;  // the fourth value of image gradients is splatted back as well
layout(constant_id = 2) const uint STATISTIC = 1u;  // the absolute pull of every pixel is summed, for densification
#ifdef COLUMN
layout(constant_id = 3) const uint UNROLLED = 0u;  // several splats a turn, see `common/turns.glsl`
#else
// CPU drivers compute the lanes of a subgroup side by side, so none can be ahead. A newer llvmpipe takes a barrier of a subgroup
// for one of the group, and subgroups come here unequally often: those that wait when one has ended are not heard of again.
layout(constant_id = 31) const uint LOCKSTEP = 0u;
#endif

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
//   a = d mean (px) x, y; d opacity; abs statistic     b = d conic A, B, C; unused     c = d rgb; splatted value
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
#ifdef SURFACE
// d = d normal, d distance of the plane
#ifdef COLUMN
layout(set = 0, binding = 14, std430) readonly restrict buffer SplatPlane { vec4 splat_plane[]; };
layout(set = 0, binding = 15, std430) readonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };
layout(set = 0, binding = 16, std430) writeonly restrict buffer GradientD { vec4 gradient_d[]; };
layout(set = 0, binding = 17, std430) readonly restrict buffer NormalGradient { vec4 normal_gradient[]; };
#else
layout(set = 0, binding = 15, std430) readonly restrict buffer SplatPlane { vec4 splat_plane[]; };
layout(set = 0, binding = 16, std430) readonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };
#ifdef ATOMIC
layout(set = 0, binding = 17, std430) restrict buffer GradientD { float gradient_d[]; };
#else
layout(set = 0, binding = 17, std430) coherent restrict buffer GradientD { uint gradient_d[]; };
#endif
layout(set = 0, binding = 18, std430) readonly restrict buffer NormalGradient { vec4 normal_gradient[]; };
#endif
#endif

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"

#include "common/turns.glsl"
#include "common/image_gradient.glsl"

#ifdef COLUMN

#include "common/columns.glsl"

// Gradient state of a pixel: transmittance behind the current splat, and what is composed behind it.
#ifdef SURFACE
struct PixelState {
    float transmittance;
    float behind;   // colours, planes and background by their gradients: one number, or registers do not suffice
    vec4 by_plane;  // d loss / d blended plane
};
#define NO_STATE PixelState(1.0, 0.0, vec4(0.0))
#else
struct PixelState {
    float transmittance;
    vec3 behind;
};
#define NO_STATE PixelState(1.0, vec3(0.0))
#endif

// One splat's share at one pixel; zeros when the splat does not touch the pixel.
void splat_gradient(vec4 position, vec3 conic, vec3 scaled, vec3 rgb, vec2 center, vec4 value,
                    bool counts, inout PixelState s, out vec4 a, out vec3 b, out vec4 c
#ifdef SURFACE
                    , vec4 plane, out vec4 plane_share
#else
                    , float background
#endif
) {
    vec3 g = value.rgb;
    vec2 d = position.xy - center;
    float power = scaled_power(scaled, d);
    float e = exp2(power);
    float alpha = min(ALPHA_MAX, position.w * e);
    // CPU drivers compute masked lanes too. Zeros leave the state as it is, and they are quick where the products of a far
    // pixel would be denormal numbers, which cost a hundred times as much.
    bool touched = counts && power <= 0.0 && alpha >= ALPHA_MIN;
    e = touched ? e : 0.0;
    alpha = touched ? alpha : 0.0;
    float keep = 1.0 / (1.0 - alpha);
    s.transmittance *= keep;
    float weight = alpha * s.transmittance;
    c = vec4(weight * g, SCORES != 0u ? weight * value.w : 0.0);
#ifdef SURFACE
    float ahead = dot(rgb, g) + dot(plane, s.by_plane) - s.behind;
    float d_alpha = s.transmittance * ahead;
    s.behind += alpha * ahead;
    plane_share = weight * s.by_plane;
#else
    float d_alpha = s.transmittance * dot(rgb - s.behind, g) - background * keep;
    s.behind = alpha * rgb + (1.0 - alpha) * s.behind;
#endif
    float d_power = position.w * e * d_alpha;
    vec2 d_mean = -d_power * vec2(conic.x * d.x + conic.y * d.y, conic.y * d.x + conic.z * d.y);
    // The statistic sums every pixel's absolute pull, in normalised device units, so that opposite pulls do not cancel.
    vec2 ndc = STATISTIC != 0u ? abs(d_mean) * (0.5 * vec2(u.width, u.height)) : vec2(0.0);
    a = vec4(d_mean, e * d_alpha, ndc.x + ndc.y);
    b = -d_power * vec3(0.5 * d.x * d.x, d.x * d.y, 0.5 * d.y * d.y);
}

// Sums of up to 16 splats by 16 columns, so that the group meets twice per 16 splats and not twice per splat.
const uint BATCH = 16u;
const uint PER_TURN = UNROLLED != 0u ? BATCH : 1u;
shared vec4 sum_a[BATCH * 16u];
shared vec3 sum_b[BATCH * 16u];
shared vec4 sum_c[BATCH * 16u];
#ifdef SURFACE
shared vec4 sum_d[BATCH * 16u];
#endif
shared uint newest[16];

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
    uint x = origin.x + lane;
    uint rows = min(16u, u.height - origin.y);
    uvec2 range = tile_ranges[tile];
    PixelState state[16];
    vec4 g[16];
#ifndef SURFACE
    float background[16];
#endif
    uint last[16];
    uint last_any = 0u;
    vec2 center[16];
#ifdef SURFACE
#define LOAD_BEHIND(R) state[R].by_plane = surface_gradient[index]; \
    state[R].behind = background_gradient(index) - normal_gradient[index].w;
#define NO_BACKGROUND(R)
#else
#define LOAD_BEHIND(R) background[R] = state[R].transmittance * background_gradient(index);
#define NO_BACKGROUND(R) background[R] = 0.0;
#endif
#define LOAD(R) center[R] = vec2(x, origin.y + R); \
    last[R] = 0u; state[R] = NO_STATE; g[R] = vec4(0.0); NO_BACKGROUND(R) \
    if (R < rows && x < u.width) { \
        uint index = (origin.y + R) * u.width + x - swath_base; \
        last[R] = last_contributor[index]; \
        state[R].transmittance = image[index].a; \
        g[R] = gradient_at(index); \
        LOAD_BEHIND(R) \
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
#ifdef SURFACE
        gradient_d[slot] = vec4(0.0);
#endif
    }
    for (uint done = 0u; done < tile_last; done += BATCH) {
        uint count = min(BATCH, tile_last - done);
        for (uint first = 0u; first < (UNROLLED != 0u ? 1u : count); ++first) {
            [[unroll]] for (uint i = 0u; i < PER_TURN; ++i) {
                uint k = first + i;
                bool is_left = UNROLLED == 0u || k < count;
                uint at = tile_last - done - (is_left ? k : 0u);
                uint v = owners[payloads[range.x + at - 1u]];
                vec4 position = splat_position[v];
                vec3 conic = splat_conic[v].xyz;
                vec3 rgb = splat_color[v].rgb;
                ivec2 reach = row_reach(position, conic, x, origin.y, rows);
                vec3 scaled = scaled_conic(conic);
                vec4 total_a = vec4(0.0);
                vec3 total_b = vec3(0.0);
                vec4 total_c = vec4(0.0);
#ifdef SURFACE
                vec4 plane = splat_plane[v];
                vec4 total_d = vec4(0.0);
#define BEHIND(R) plane, d
#define ADD_PLANE_SHARE total_d += d;
#else
#define BEHIND(R) background[R]
#define ADD_PLANE_SHARE
#endif
#define ADD(R) { \
                    vec4 a, c, d; \
                    vec3 b; \
                    bool counts = is_left && at <= last[R]; \
                    splat_gradient(position, conic, scaled, rgb, center[R], g[R], counts, state[R], a, b, c, BEHIND(R)); \
                    total_a += a; \
                    total_b += b; \
                    total_c += c; \
                    ADD_PLANE_SHARE \
                }
                EACH_REACHED_ROW(ADD)
                sum_a[k * 16u + lane] = total_a;
                sum_b[k * 16u + lane] = total_b;
                sum_c[k * 16u + lane] = total_c;
#ifdef SURFACE
                sum_d[k * 16u + lane] = total_d;
#endif
            }
        }
        barrier();
        if (lane < count) {
            vec4 a = vec4(0.0), c = vec4(0.0);
            vec3 b = vec3(0.0);
            [[unroll]] for (uint k = 0u; k < 16u; ++k) {
                a += sum_a[lane * 16u + k];
                b += sum_b[lane * 16u + k];
                c += sum_c[lane * 16u + k];
            }
            uint slot = payloads[range.x + tile_last - done - lane - 1u];
            gradient_a[slot] = a;
            gradient_b[slot] = vec4(b, 0.0);
            gradient_c[slot] = c;
#ifdef SURFACE
            vec4 d = vec4(0.0);
            [[unroll]] for (uint k = 0u; k < 16u; ++k) {
                d += sum_d[lane * 16u + k];
            }
            gradient_d[slot] = d;
#endif
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

// Half a tile.
#define BLOCK_ROWS 2u
const uint LANES = 64u * BLOCK_ROWS;
#include "common/blocks.glsl"

layout(set = 0, binding = 14, std430) readonly restrict buffer TileOrder { uint tile_order[]; };

#ifdef SURFACE
const uint STAGED = 128u;  // so that planes have room in 32 KiB
#else
const uint STAGED = 256u;
#endif
#include "common/staging.glsl"

// Splats that wait for their sums, at most; a subgroup of fewer lanes takes as many as it has lanes.
const uint WAITING = 8u;
// Vectors of four lanes from one splat's numbers to the next: four words off a multiple of 32, so that eight lanes with a
// splat each read eight different banks.
const uint STRIDE = LANES / 4u + 1u;

shared vec4 pulls[WAITING * STRIDE];    // d loss / d exponent, by splat and lane
shared vec4 weights[WAITING * STRIDE];  // alpha times transmittance in front
shared vec4 pixel_r[LANES / 4u], pixel_g[LANES / 4u], pixel_b[LANES / 4u];  // d loss / d image, by lane
shared vec4 pixel_w[LANES / 4u];                                            // what is splatted back for scores
#ifdef SURFACE
// d loss / d blended plane, by lane
shared vec4 pixel_nx[LANES / 4u], pixel_ny[LANES / 4u], pixel_nz[LANES / 4u], pixel_d[LANES / 4u];
shared vec4 staged_plane[STAGED];
#endif
shared uint staged_splat[STAGED];
shared uint half_last;
shared uint block_last[LANES / 32u];

// The sums of a splat over a run of pixels; the fourth component of b stays 0, that of c is for scores.
struct Sums {
    vec4 a, b, c;
#ifdef SURFACE
    vec4 d;
#endif
};

#ifdef SURFACE
#define NO_SUMS Sums(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0))
#else
#define NO_SUMS Sums(vec4(0.0), vec4(0.0), vec4(0.0))
#endif

// Alpha of a staged splat at a sample before it is capped, and its exponent.
vec2 unclamped_at(uint k, vec2 center) {
    vec4 position = staged_position[k];
    float power = scaled_power(staged_conic[k].xyz, position.xy - center);
    return vec2(position.z * exp2(power), power);
}

// Sums over `pixels` (4 or 8) neighbouring lanes from `lane` on, for the splat staged in place k that waits in slot j.
Sums sums_of_run(uint k, uint j, uint lane, uint pixels, uvec2 origin) {
    vec4 position = staged_position[k];
    // Undoes the scaling: -1/2 log2 e and -log2 e.
    vec3 conic = staged_conic[k].xyz * vec3(-1.3862943611198906, -0.6931471805599453, -1.3862943611198906);
    vec2 d = position.xy - vec2(origin + block_pixel(lane));
    float s = 0.0, sx = 0.0, sxx = 0.0, pull = 0.0;
    vec4 c = vec4(0.0);
#ifdef SURFACE
    vec4 plane = vec4(0.0);
#endif
    vec2 across = 0.5 * float(u.width) * conic.xy, down = 0.5 * float(u.height) * conic.yz;
    [[unroll]] for (uint q = 0u; q < WAITING; q += 4u) {
        if (q >= pixels) {
            break;
        }
        uint at = (lane + q) >> 2;
        vec4 p4 = pulls[j * STRIDE + at];
        vec4 w4 = weights[j * STRIDE + at];
        c.rgb += vec3(dot(w4, pixel_r[at]), dot(w4, pixel_g[at]), dot(w4, pixel_b[at]));
        if (SCORES != 0u) {
            c.w += dot(w4, pixel_w[at]);
        }
#ifdef SURFACE
        plane += vec4(dot(w4, pixel_nx[at]), dot(w4, pixel_ny[at]), dot(w4, pixel_nz[at]), dot(w4, pixel_d[at]));
#endif
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            float p = p4[i];
            vec2 o = vec2(d.x - float(q + i), d.y);
            float px = p * o.x;
            s += p;
            sx += px;
            sxx += px * o.x;
            // The statistic sums every pixel's absolute pull, in normalised device units, so that opposite pulls do not
            // cancel.
            if (STATISTIC != 0u) {
                pull += abs(p) * (abs(across.x * o.x + across.y * o.y) + abs(down.x * o.x + down.y * o.y));
            }
        }
    }
    float sy = s * d.y, sxy = sx * d.y, syy = sy * d.y;
    Sums sums;
    sums.a = vec4(-(conic.x * sx + conic.y * sy), -(conic.y * sx + conic.z * sy), s / position.z, pull);
    sums.b = vec4(-0.5 * sxx, -sxy, -0.5 * syy, 0.0);
    sums.c = c;
#ifdef SURFACE
    sums.d = plane;
#endif
    return sums;
}

void main() {
    uint group = group_index();
    if (group >= 2u * (u.band_end - u.band_begin) || counters.stalled != 0u) {
        return;
    }
    uint tile = tile_order[group >> 1];
    if (!in_swath(tile / u.tiles_x * 16u)) {
        return;
    }
    uint lane_id = gl_SubgroupInvocationID;
    uint lane = gl_SubgroupID * gl_SubgroupSize + lane_id;
    uint block = 1u << (lane >> 5);
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u + uvec2(0u, (group & 1u) * 4u * BLOCK_ROWS);
    uvec2 pixel = origin + block_pixel(lane);
    uint index = pixel.y * u.width + pixel.x - swath_base;
    bool inside = pixel.x < u.width && pixel.y < u.height;
    vec2 center = vec2(pixel);
    uvec2 range = tile_ranges[tile];
    float transmittance = 1.0;
    vec4 value = vec4(0.0);
    float behind = 0.0;  // what lies behind the current splat; its product with g is all that matters
    uint last = 0u;
    if (inside) {
        last = last_contributor[index];
        transmittance = image[index].a;
        value = gradient_at(index);
        behind = background_gradient(index);
#ifdef SURFACE
        behind -= normal_gradient[index].w;  // of the coverage
#endif
    }
    vec3 g = value.rgb;
    pixel_r[lane >> 2][lane & 3u] = g.r;
    pixel_g[lane >> 2][lane & 3u] = g.g;
    pixel_b[lane >> 2][lane & 3u] = g.b;
    pixel_w[lane >> 2][lane & 3u] = value.w;
#ifdef SURFACE
    vec4 by_plane = inside ? surface_gradient[index] : vec4(0.0);
    pixel_nx[lane >> 2][lane & 3u] = by_plane.x;
    pixel_ny[lane >> 2][lane & 3u] = by_plane.y;
    pixel_nz[lane >> 2][lane & 3u] = by_plane.z;
    pixel_d[lane >> 2][lane & 3u] = by_plane.w;
#endif
    // After changing sides: lane = slot of a waiting splat + slots * run of pixels.
    uint slots = min(WAITING, gl_SubgroupSize);
    uint slot = lane_id % slots;
    uint run = lane_id / slots;
    uint run_lane = lane - lane_id + run * slots;
    uint waiting = 0u;
    uint waiting_place = 0u;
    if (lane == 0u) {
        half_last = 0u;
    }
    if (lane < LANES / 32u) {
        block_last[lane] = 0u;
    }
    barrier();
    atomicMax(half_last, last);
    atomicMax(block_last[lane >> 5], last);
    barrier();
    uint newest = half_last;
    uint newest_here = block_last[lane >> 5];  // what lies behind shows in no pixel of the block
    for (uint done = 0u; done < newest; done += STAGED) {
        barrier();
        uint count = min(STAGED, newest - done);
        for (uint place = lane; place < count; place += LANES) {
            // Place 0 holds the contributor furthest back.
            uint payload = payloads[range.x + newest - done - 1u - place];
            uint v = OWNERS != 0u ? owners[payload] : payload;
            staged_splat[place] = v;
            stage(place, v, origin);
#ifdef SURFACE
            staged_plane[place] = splat_plane[v];
#endif
        }
        barrier();
        for (uint first = 0u; first < count; first += gl_SubgroupSize) {
            bool ends = first + gl_SubgroupSize >= count;
            uint mine = first + lane_id;
            bool shows = mine < count && newest - done - mine <= newest_here && (staged_blocks[mine] & block) != 0u;
            uint wanted = subgroupBallot(shows).x;
            while (wanted != 0u || (ends && waiting != 0u)) {
                if (wanted != 0u) {
                    // Four at a time: what does not depend on the transmittance in front is on its way for all at once.
                    uint k[4];
                    vec2 unclamped[4];
                    bool touched[4];
                    bool any_touched = false;
                    [[unroll]] for (int i = 0; i < 4; ++i) {
                        bool is_one = wanted != 0u;
                        k[i] = is_one ? first + uint(findLSB(wanted)) : first;
                        wanted &= wanted - 1u;
                        unclamped[i] = unclamped_at(k[i], center);
                        touched[i] = is_one && newest - done - k[i] <= last && unclamped[i].y <= 0.0 &&
                                     unclamped[i].x >= ALPHA_MIN;
                        any_touched = any_touched || touched[i];
                    }
                    if (!subgroupAny(any_touched)) {
                        continue;
                    }
                    float alpha[4], keep[4], shade[4];
                    [[unroll]] for (int i = 0; i < 4; ++i) {
                        alpha[i] = touched[i] ? min(ALPHA_MAX, unclamped[i].x) : 0.0;
                        keep[i] = 1.0 / (1.0 - alpha[i]);
                        shade[i] = dot(staged_color(k[i]), g);
#ifdef SURFACE
                        shade[i] += dot(staged_plane[k[i]], by_plane);
#endif
                    }
                    uint at = waiting * STRIDE + (lane >> 2);
                    [[unroll]] for (int i = 0; i < 4; ++i) {
                        transmittance *= keep[i];
                        float ahead = shade[i] - behind;
                        float pull = touched[i] ? unclamped[i].x * transmittance * ahead : 0.0;
                        pulls[at + uint(i) * STRIDE][lane & 3u] = pull;
                        weights[at + uint(i) * STRIDE][lane & 3u] = alpha[i] * transmittance;
                        behind += alpha[i] * ahead;
                        if (slot == waiting + uint(i)) {
                            waiting_place = k[i];
                        }
                    }
                    waiting += 4u;
                }
                if (waiting < slots && (wanted != 0u || !ends)) {
                    continue;
                }
                subgroupMemoryBarrierShared();
                if (LOCKSTEP == 0u) {
                    subgroupBarrier();
                }
                Sums sums = NO_SUMS;
                if (slot < waiting) {
                    sums = sums_of_run(waiting_place, slot, run_lane, slots, origin);
                }
                // Rows are added by halves: a lane keeps every other component and gives the rest away. It ends with
                // component `run` where there are four rows, with `run` and `run` + 2 where there are two, with all
                // four where there is one.
                if (gl_SubgroupSize > slots) {
                    bool odd = (run & 1u) != 0u;
                    vec2 a = odd ? sums.a.yw : sums.a.xz, b = odd ? sums.b.yw : sums.b.xz, c = odd ? sums.c.yw : sums.c.xz;
                    a += subgroupShuffleXor(odd ? sums.a.xz : sums.a.yw, slots);
                    b += subgroupShuffleXor(odd ? sums.b.xz : sums.b.yw, slots);
                    c += subgroupShuffleXor(odd ? sums.c.xz : sums.c.yw, slots);
                    sums.a.xy = a;
                    sums.b.xy = b;
                    sums.c.xy = c;
#ifdef SURFACE
                    vec2 d = odd ? sums.d.yw : sums.d.xz;
                    d += subgroupShuffleXor(odd ? sums.d.xz : sums.d.yw, slots);
                    sums.d.xy = d;
#endif
                }
                if (gl_SubgroupSize > 2u * slots) {
                    bool high = (run & 2u) != 0u;
                    vec3 give = high ? vec3(sums.a.x, sums.b.x, sums.c.x) : vec3(sums.a.y, sums.b.y, sums.c.y);
                    vec3 keep = high ? vec3(sums.a.y, sums.b.y, sums.c.y) : vec3(sums.a.x, sums.b.x, sums.c.x);
                    keep += subgroupShuffleXor(give, 2u * slots);
                    sums.a.x = keep.x;
                    sums.b.x = keep.y;
                    sums.c.x = keep.z;
#ifdef SURFACE
                    sums.d.x = (high ? sums.d.y : sums.d.x) + subgroupShuffleXor(high ? sums.d.x : sums.d.y, 2u * slots);
#endif
                }
                if (slot < waiting) {
                    uint record = 4u * staged_splat[waiting_place];
                    uint runs = gl_SubgroupSize / slots;
                    // Written out, so that components have numbers that are known and stay in registers.
                    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
                        uint component = run + i * runs;
                        if (component < (STATISTIC != 0u ? 4u : 3u)) {
                            ADD_SUM(gradient_a[record + component], sums.a[i]);
                        }
                        if (component < 3u) {
                            ADD_SUM(gradient_b[record + component], sums.b[i]);
                        }
                        if (component < (SCORES != 0u ? 4u : 3u)) {
                            ADD_SUM(gradient_c[record + component], sums.c[i]);
                        }
#ifdef SURFACE
                        if (component < 4u) {
                            ADD_SUM(gradient_d[record + component], sums.d[i]);
                        }
#endif
                    }
                }
                waiting = 0u;
                if (LOCKSTEP == 0u) {
                    subgroupBarrier();
                }
            }
        }
    }
    check_loops();
}

#endif
