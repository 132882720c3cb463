#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: segmented SEGMENTED=1
// kiln-variant: atomic ATOMIC=1
// kiln-variant: compare_exchange COMPARE_EXCHANGE=1
// kiln-variant: reduce REDUCE=1
// Depth of the photo's points: what is blended of inverse depth at a point, against the point's own.
//
// A point is a pixel more, sampled where it projects to. A group of 64 walks the list of its tile, 64 splats at a time and
// front to back, for the blended inverse depth, then back to front for the gradients, which go to the sums that the backward
// rasteriser adds to. Atomic and compare-exchange variants: a group a point. Segmented variant: sums are those of a tile's
// emission slots, so the group of a tile's first point takes all points of the tile, in order, and the result does not
// depend on scheduling. Reduce variant, one group: adds the differences to the loss in a fixed order.
#ifdef ATOMIC
#extension GL_EXT_shader_atomic_float : require
#endif
#include "common/group.glsl"
#include "common/step.glsl"

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthViews { uvec2 depth_views[]; };  // first point, points

#ifdef REDUCE

layout(local_size_x = 256) in;

layout(set = 0, binding = 3, std430) readonly restrict buffer DepthLosses { float depth_losses[]; };

shared float reduce[256];

void main() {
    if (counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint count = depth_views[u.view].y;
    float sum = 0.0;
    for (uint k = lane; k < count; k += 256u) {
        sum += depth_losses[k];
    }
    reduce[lane] = sum;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            reduce[lane] += reduce[lane + half_size];
        }
        barrier();
    }
    if (lane == 0u) {
        counters.loss += u.depth_weight * reduce[0];
    }
}

#else

#include "common/raster.glsl"
#include "common/turns.glsl"

const uint LANES = 64u;
layout(local_size_x = 64) in;

layout(set = 0, binding = 3, std430) writeonly restrict buffer DepthLosses { float depth_losses[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer DepthPoints { vec4 depth_points[]; };  // position, weight
layout(set = 0, binding = 5, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
// As in rasterize_backward:   a = d mean (px) x, y; d opacity; abs statistic     b = d conic A, B, C; d depth
#ifdef SEGMENTED
layout(set = 0, binding = 9, std430) restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 10, std430) restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer Owners { uint owners[]; };
#elif defined(ATOMIC)
layout(set = 0, binding = 9, std430) restrict buffer GradientA { float gradient_a[]; };
layout(set = 0, binding = 10, std430) restrict buffer GradientB { float gradient_b[]; };
#define ADD_SUM(WORD, VALUE) atomicAdd(WORD, VALUE)
#else
layout(set = 0, binding = 9, std430) coherent restrict buffer GradientA { uint gradient_a[]; };
layout(set = 0, binding = 10, std430) coherent restrict buffer GradientB { uint gradient_b[]; };
#define ADD_SUM(WORD, VALUE) add_exchanged(WORD, VALUE)
// As in rasterize_backward: a failed exchange means that another sum went in.
#define add_exchanged(WORD, VALUE) { \
        float value = VALUE; \
        uint found = WORD; \
        uint assumed = ~found; \
        while ((floatBitsToUint(value) << 1) != 0u && found != assumed) { \
            assumed = found; \
            found = atomicCompSwap(WORD, assumed, floatBitsToUint(uintBitsToFloat(assumed) + value)); \
        } \
    }
#endif

shared float scratch[LANES];
shared uint first_stop;
#ifdef SEGMENTED
shared uint in_tile[LANES / 32u];
#endif

// A point as the step's camera sees it.
struct Sample {
    bool counts;    // in front of the camera and inside the image
    vec2 at;        // px
    uint tile;
    float inverse;  // 1 / z
    float weight;
};

Sample sample_of(uint index) {
    vec4 point = depth_points[index];
    vec3 t = vec3(dot(u.view_row0.xyz, point.xyz) + u.view_row0.w, dot(u.view_row1.xyz, point.xyz) + u.view_row1.w,
                  dot(u.view_row2.xyz, point.xyz) + u.view_row2.w);
    Sample s;
    s.weight = point.w;
    s.counts = t.z > u.near_z;
    s.inverse = s.counts ? 1.0 / t.z : 0.0;
    precise vec2 px = u.intrinsics.xy * (t.xy * s.inverse) + u.intrinsics.zw;
    vec2 size = vec2(u.width, u.height);
    s.counts = s.counts && all(greaterThanEqual(px, vec2(-0.5))) && all(lessThan(px, size - 0.5));
    uvec2 cell = s.counts ? min(uvec2(px + 0.5), uvec2(u.width, u.height) - 1u) / 16u : uvec2(0u);
    s.tile = cell.y * u.tiles_x + cell.x;
    // A tile's list is that of its pixels' centres; beyond the outermost of them splats may be missing.
    vec2 low = vec2(cell * 16u);
    s.at = clamp(px, low, min(low + 15.0, size - 1.0));
    return s;
}

// Product over this lane and those before it; `scratch` has all of them.
float running_product(float value) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    scratch[lane] = value;
    barrier();
#define PRODUCT(D) { \
        float other = lane >= D ? scratch[lane - D] : 1.0; \
        barrier(); \
        value *= other; \
        scratch[lane] = value; \
        barrier(); \
    }
    PRODUCT(1u) PRODUCT(2u) PRODUCT(4u) PRODUCT(8u) PRODUCT(16u) PRODUCT(32u)
    return value;
}

// Sum over this lane and those behind it; `scratch` has all of them.
float sum_from_here(float value) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    scratch[lane] = value;
    barrier();
#define SUM(D) { \
        float other = lane + D < LANES ? scratch[lane + D] : 0.0; \
        barrier(); \
        value += other; \
        scratch[lane] = value; \
        barrier(); \
    }
    SUM(1u) SUM(2u) SUM(4u) SUM(8u) SUM(16u) SUM(32u)
    return value;
}

// What a splat of the list is to a sample.
struct Cover {
    uint slot;     // where its sums go
    vec2 d;        // mean - sample, px
    vec3 conic;
    float opacity;
    float falloff;
    float alpha;   // 0 where it leaves the sample alone
    float inverse; // 1 / depth
};

Cover cover_at(uint at, uint end, vec2 center) {
    Cover c = Cover(0u, vec2(0.0), vec3(0.0), 0.0, 0.0, 0.0, 0.0);
    if (at < end) {
        c.slot = payloads[at];
#ifdef SEGMENTED
        uint v = owners[c.slot];
#else
        uint v = c.slot;
#endif
        vec4 position = splat_position[v];
        vec4 conic = splat_conic[v];
        c.d = position.xy - center;
        c.conic = conic.xyz;
        c.opacity = position.w;
        float power = scaled_power(scaled_conic(conic.xyz), c.d);
        float falloff = exp2(power);
        float alpha = min(ALPHA_MAX, position.w * falloff);
        if (power <= 0.0 && alpha >= ALPHA_MIN) {
            c.falloff = falloff;
            c.alpha = alpha;
            c.inverse = 1.0 / conic.w;
        }
    }
    return c;
}

void add(Cover c, vec4 a, vec4 b) {
#ifdef SEGMENTED
    gradient_a[c.slot] += a;
    gradient_b[c.slot] += b;
#else
    uint record = 4u * c.slot;
    for (uint i = 0u; i < 4u; ++i) {
        ADD_SUM(gradient_a[record + i], a[i]);
        ADD_SUM(gradient_b[record + i], b[i]);
    }
#endif
}

// One point: its difference, and its gradients. All lanes come here together.
void walk(uint index, Sample s) {
    uint lane = gl_LocalInvocationIndex;
    uvec2 range = tile_ranges[s.tile];
    float transmittance = 1.0;
    float blended = 0.0;
    uint end = range.y;  // one past the last splat that counts
    uint chunks = (range.y - range.x + LANES - 1u) / LANES;
    uint walked = 0u;
    bool open = true;
    for (; walked < chunks && open; ++walked) {
        Cover c = cover_at(range.x + walked * LANES + lane, range.y, s.at);
        float product = running_product(1.0 - c.alpha);
        if (lane == 0u) {
            first_stop = LANES;
        }
        barrier();
        if (c.alpha > 0.0 && transmittance * product < TRANSMITTANCE_STOP) {
            atomicMin(first_stop, lane);
        }
        barrier();
        uint stop = first_stop;
        if (lane < stop) {
            blended += c.alpha * c.inverse * transmittance * (lane > 0u ? scratch[lane - 1u] : 1.0);
        }
        if (stop < LANES) {
            open = false;
            end = range.x + walked * LANES + stop;
        }
        transmittance *= stop > 0u ? scratch[stop - 1u] : 1.0;
    }
    sum_from_here(blended);
    float difference = scratch[0] - s.inverse;
    if (lane == 0u) {
        depth_losses[index] = s.weight * abs(difference);
    }
    float pull = u.depth_weight * s.weight * sign(difference);
    if (pull == 0.0) {
        return;
    }
    float behind = 0.0;  // blended behind the chunk
    for (uint chunk = walked; chunk > 0u; --chunk) {
        Cover c = cover_at(range.x + (chunk - 1u) * LANES + lane, end, s.at);
        float keep = 1.0 - c.alpha;
        running_product(keep);
        transmittance /= scratch[LANES - 1u];
        float in_front = transmittance * (lane > 0u ? scratch[lane - 1u] : 1.0);
        float weight = c.alpha * in_front;
        float own = weight * c.inverse;
        float from_here = sum_from_here(own);
        if (c.alpha > 0.0) {
            float d_alpha = pull * (in_front * c.inverse - (behind + from_here - own) / keep);
            float d_power = c.opacity * c.falloff * d_alpha;
            vec2 d = c.d;
            vec2 d_mean = -d_power * vec2(c.conic.x * d.x + c.conic.y * d.y, c.conic.y * d.x + c.conic.z * d.y);
            vec2 ndc = abs(d_mean) * (0.5 * vec2(u.width, u.height));
            vec3 d_conic = -d_power * vec3(0.5 * d.x * d.x, d.x * d.y, 0.5 * d.y * d.y);
            add(c, vec4(d_mean, c.falloff * d_alpha, ndc.x + ndc.y),
                vec4(d_conic, -pull * weight * c.inverse * c.inverse));
        }
        behind += scratch[0];
    }
}

void main() {
    uvec2 list = depth_views[u.view];
    uint index = group_index();
    if (index >= list.y || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    Sample s = sample_of(list.x + index);
    if (!s.counts) {
        if (lane == 0u) {
            depth_losses[index] = 0.0;
        }
        return;
    }
    if (s.tile < u.band_begin || s.tile >= u.band_end) {
        return;
    }
#ifdef SEGMENTED
    for (uint base = 0u; base < list.y; base += LANES) {
        bool is_in_tile = false;
        if (base + lane < list.y) {
            Sample other = sample_of(list.x + base + lane);
            is_in_tile = other.counts && other.tile == s.tile;
        }
        barrier();
        if (lane < LANES / 32u) {
            in_tile[lane] = 0u;
        }
        barrier();
        if (is_in_tile) {
            atomicOr(in_tile[lane >> 5], 1u << (lane & 31u));
        }
        barrier();
        for (uint word = 0u; word < LANES / 32u; ++word) {
            uint bits = in_tile[word];
            while (bits != 0u) {
                uint found = base + 32u * word + uint(findLSB(bits));
                bits &= bits - 1u;
                if (found < index) {
                    return;  // an earlier point's group takes the tile
                }
                walk(found, sample_of(list.x + found));
            }
        }
    }
#else
    walk(index, s);
#endif
    check_loops();
}

#endif
