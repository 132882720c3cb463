#version 450
#extension GL_GOOGLE_include_directive : require
// Photometric consistency with a neighbouring view (Chen et al. 2024, sec. 3.3): mean of w (1 - NCC) over patches around consistent
// pixels that chance picks, w from `neighbor_loss`. Compared are greys of 7 x 7 pixels of the photo with those of the neighbour's
// where the homography of the pixel's blended plane N . x + D = 0 takes them.
//
// A patch a thread: w d(1 - NCC) by the plane, and the group's sums behind those of tiles.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/rng.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Neighbor { StepUniforms n; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer NeighborMap { vec2 neighbor_map[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer PairPixels { vec2 pair_pixels[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer PairPatches { vec4 pair_patches[]; };  // by N; by D
layout(set = 0, binding = 8, std430) writeonly restrict buffer PairSums { vec2 pair_sums[]; };

const uint target_base = 0u;
#include "common/target.glsl"
#include "common/grey.glsl"
#include "common/pair.glsl"
#include "common/patches.glsl"
#include "common/pick.glsl"
#include "common/surface.glsl"
#include "common/neighbor_map.glsl"
#define SUMMED vec2
#define SEVERAL_SUMS
#include "common/group_sum.glsl"

const int PATCH_RADIUS = 3;  // of a patch beside its middle, px
// Added to variances of greys: one level of 255, squared. Patches without texture then agree with nothing, and pull at nothing.
const float LEAST_VARIANCE = 1.5378700e-5;

// 1 - NCC of the patch around a pixel, and its derivative by the blended plane; false where one of its pixels has no grey.
bool patch_value(uvec2 pixel, vec4 plane, out float value, out vec4 gradient) {
    value = 0.0;
    gradient = vec4(0.0);
    uint radius = uint(PATCH_RADIUS);
    if (any(lessThan(pixel, uvec2(radius))) || any(greaterThanEqual(pixel + radius, uvec2(u.width, u.height)))) {
        return false;
    }
    Way way = way_there();
    // The plane is -a . x = 1 with a = N / D: what a pixel is covered by cancels.
    vec3 a = plane.xyz / plane.w;
    // Greys are counted from those of the middle: sums of squares then lose nothing.
    float first = 0.0, first_there = 0.0;
    float f = 0.0, s = 0.0, ff = 0.0, ss = 0.0, fs = 0.0;
    vec3 by_a = vec3(0.0), f_by_a = vec3(0.0), s_by_a = vec3(0.0);
    int side = 2 * PATCH_RADIUS + 1;
    int middle = side * side / 2;
    for (int k = -1; k < side * side; ++k) {
        // The middle comes first, and once more in its turn.
        int place = k < 0 ? middle : k;
        ivec2 at = ivec2(pixel) + ivec2(place % side, place / side) - PATCH_RADIUS;
        uint index = uint(at.y) * u.width + uint(at.x);
        if (MASKED != 0u && mask_value(index) != 1.0) {
            return false;
        }
        vec3 ray = pixel_ray(vec2(at));
        vec3 there = way.turn * ray - dot(a, ray) * way.shift;
        if (!(there.z > 0.0)) {
            return false;
        }
        vec2 ray_there = there.xy / there.z;
        float seen;
        vec2 slope;
        if (!shown(ray_there * n.intrinsics.xy + n.intrinsics.zw, true, seen, slope)) {
            return false;
        }
        float own = grey(index);
        if (k < 0) {
            first = own;
            first_there = seen;
            continue;
        }
        own -= first;
        seen -= first_there;
        vec2 by_ray_there = slope * n.intrinsics.xy;
        vec3 by_there = vec3(by_ray_there, -dot(by_ray_there, ray_there)) / there.z;
        vec3 seen_by_a = -dot(by_there, way.shift) * ray;
        f += own;
        s += seen;
        ff += own * own;
        ss += seen * seen;
        fs += own * seen;
        by_a += seen_by_a;
        f_by_a += own * seen_by_a;
        s_by_a += seen * seen_by_a;
    }
    float share = 1.0 / float(side * side);
    float f_mean = share * f, s_mean = share * s;
    float f_variance = max(share * ff - f_mean * f_mean, 0.0) + LEAST_VARIANCE;
    float s_variance = max(share * ss - s_mean * s_mean, 0.0) + LEAST_VARIANCE;
    float covariance = share * fs - f_mean * s_mean;
    float scale = 1.0 / sqrt(f_variance * s_variance);
    value = 1.0 - covariance * scale;
    // By each grey of the neighbour's: own and seen less their means, by these factors.
    float by_own = -share * scale, by_seen = share * scale * covariance / s_variance;
    vec3 whole = by_own * (f_by_a - f_mean * by_a) + by_seen * (s_by_a - s_mean * by_a);
    gradient = vec4(whole, -dot(a, whole)) / plane.w;
    return true;
}

void main() {
    uint group = group_index(), lane = gl_LocalInvocationIndex;
    uint patches = patch_count();
    if (group >= (patches + 255u) / 256u || counters.stalled != 0u) {
        return;
    }
    uint k = group * 256u + lane;
    vec2 sums = vec2(0.0);
    if (k < patches) {
        vec4 gradient = vec4(0.0);
        uint at = patch_pixel(k);
        float weight = at < u.width * u.height ? pair_pixels[at].x : 0.0;
        float value;
        if (weight > 0.0 && patch_value(uvec2(at % u.width, at / u.width), surface_plane[at], value, gradient)) {
            sums = vec2(weight * value, 1.0);
            gradient *= weight;
        }
        pair_patches[k] = gradient;
    }
    sums = group_sum(sums);
    if (lane == 0u) {
        pair_sums[u.tiles_x * u.tiles_y + group] = sums;
    }
}
