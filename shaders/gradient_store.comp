#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: clear CLEAR=1
// kiln-variant: load LOAD=1
// kiln-variant: save SAVE=1
// kiln-variant: check CHECK=1
// kiln-variant: clear_surface CLEAR=1 SURFACE=1
// kiln-variant: load_surface LOAD=1 SURFACE=1
// kiln-variant: save_surface SAVE=1 SURFACE=1
// kiln-variant: check_surface CHECK=1 SURFACE=1
// 2D gradients of all visible Gaussians of a chunk, kept while bands of tiles take turns with the records.
//
// A group of 256 Gaussians owns 256 rows, the visible ones of the group take the first of them in id order. `clear` zeroes
// the rows and notes each group's first row, `load` copies the rows of the Gaussians in a band to their records, `save`
// copies them back with the mask of clamped channels, `check` is `gradient_check` over the rows.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#ifdef CHECK
layout(set = 0, binding = 0, std430) restrict buffer CountersBlock { Counters counters; };
#else
layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
#endif

// Rows: a = d mean (px) x, y; d opacity; abs statistic     b = d conic A, B, C; clamped channels     c = d rgb;
// splatted value; d = d normal, d distance of the plane
#if defined(CLEAR)
layout(set = 0, binding = 1, std430) writeonly restrict buffer StoreA { vec4 store_a[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer StoreB { vec4 store_b[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer StoreC { vec4 store_c[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer GroupRows { uint group_rows[]; };
#ifdef SURFACE
layout(set = 0, binding = 5, std430) writeonly restrict buffer StoreD { vec4 store_d[]; };
#endif
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
#ifdef SAVE
layout(set = 0, binding = 2, std430) writeonly restrict buffer StoreA { vec4 store_a[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer StoreB { vec4 store_b[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer StoreC { vec4 store_c[]; };
#else
layout(set = 0, binding = 2, std430) readonly restrict buffer StoreA { vec4 store_a[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer StoreB { vec4 store_b[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer StoreC { vec4 store_c[]; };
#endif
#ifdef CHECK
layout(set = 0, binding = 5, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
#ifdef SURFACE
layout(set = 0, binding = 6, std430) readonly restrict buffer StoreD { vec4 store_d[]; };
#endif
#else
layout(set = 0, binding = 5, std430) readonly restrict buffer BandMask { uint band_mask[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer GroupInBand { uint group_in_band[]; };
#ifdef LOAD
layout(set = 0, binding = 7, std430) writeonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer GradientC { vec4 gradient_c[]; };
#ifdef SURFACE
layout(set = 0, binding = 10, std430) readonly restrict buffer StoreD { vec4 store_d[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer GradientD { vec4 gradient_d[]; };
#endif
#else
layout(set = 0, binding = 7, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer GradientC { vec4 gradient_c[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
#ifdef SURFACE
layout(set = 0, binding = 11, std430) writeonly restrict buffer StoreD { vec4 store_d[]; };
layout(set = 0, binding = 12, std430) readonly restrict buffer GradientD { vec4 gradient_d[]; };
#endif
#endif
#endif
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
};

bool bad(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u;
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
#ifdef CHECK
    // What this very pass finds must not end it: every value counts.
    bool stalled = counters.stalled != 0u && counters.stalled != STALL_NONFINITE;
#else
    bool stalled = counters.stalled != 0u;
#endif
    // Whole groups have rows, so that no row is left as it was.
    if (stalled || group * 256u >= count) {
        return;
    }
#ifdef CLEAR
    store_a[i] = vec4(0.0);
    store_b[i] = vec4(0.0);
    store_c[i] = vec4(0.0);
#ifdef SURFACE
    store_d[i] = vec4(0.0);
#endif
    if (lane == 0u) {
        group_rows[first_group + group] = group * 256u;
    }
#else
    // Bits behind the last Gaussian are never set.
    uint word = lane >> 5, below = (1u << (lane & 31u)) - 1u;
    uint bits = visible_mask[group * 8u + word];
    uint rank = uint(bitCount(bits & below));
    for (uint w = 0u; w < word; ++w) {
        rank += uint(bitCount(visible_mask[group * 8u + w]));
    }
    uint row = group * 256u + rank;
#ifdef CHECK
    if ((bits & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_visible[first_group + group] + rank;
    vec4 a = store_a[row], b = store_b[row], c = store_c[row];
    // The loss is looked at once, together with the first record.
    bool wrong = (v == 0u && bad(counters.loss)) || bad(a.x) || bad(a.y) || bad(a.z) || bad(a.w) || bad(b.x) ||
                 bad(b.y) || bad(b.z) || bad(b.w) || bad(c.x) || bad(c.y) || bad(c.z);
#ifdef SURFACE
    vec4 d = store_d[row];
    wrong = wrong || bad(d.x) || bad(d.y) || bad(d.z) || bad(d.w);
#endif
    if (wrong) {
        atomicAdd(counters.nonfinite, 1u);
        atomicMin(counters.nonfinite_index, v);
        counters.stall_iteration = counters.iteration;
        counters.stalled = STALL_NONFINITE;
    }
#else
    uint in_band = band_mask[group * 8u + word];
    if ((in_band & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_in_band[first_group + group] + uint(bitCount(in_band & below));
    for (uint w = 0u; w < word; ++w) {
        v += uint(bitCount(band_mask[group * 8u + w]));
    }
#ifdef LOAD
    gradient_a[v] = store_a[row];
    gradient_b[v] = store_b[row];
    gradient_c[v] = store_c[row];
#ifdef SURFACE
    gradient_d[v] = store_d[row];
#endif
#else
    store_a[row] = gradient_a[v];
    store_b[row] = vec4(gradient_b[v].xyz, splat_color[v].w);
    store_c[row] = gradient_c[v];
#ifdef SURFACE
    store_d[row] = gradient_d[v];
#endif
#endif
#endif
#endif
}
