#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Consistency with a neighbouring view (Chen et al. 2024, sec. 3.3). Of each pixel the point at depth z goes to the neighbour, takes
// the neighbour's depth there and comes back, e pixels from where it started; e < 1 is consistent, w = exp(-e) what it counts, a
// constant of the step. The geometric term is the mean of w e over consistent pixels; `neighbor_patches` has the photometric one.
//
// Plain variant, a tile a group: w and w de/dz of each pixel, and the tile's sums. `reduce`, one group, behind the patches: adds the
// sums in a fixed order, and both weighted means to the loss.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer PairSums { vec2 pair_sums[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer PairMeans { vec4 pair_means[]; };  // weights over counts; means

layout(push_constant) uniform Push {
    float geometry;     // weight of the geometric term
    float photometric;  // weight of the photometric term
};
#include "common/patches.glsl"
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Neighbor { StepUniforms n; };
layout(set = 0, binding = 3, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer NeighborMap { vec2 neighbor_map[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer PairPixels { vec2 pair_pixels[]; };  // w, 0 = not consistent; w de/dz
layout(set = 0, binding = 6, std430) writeonly restrict buffer PairSums { vec2 pair_sums[]; };  // sum; count
layout(set = 0, binding = 7, std430) readonly restrict buffer Target { uint target[]; };

layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks
const uint target_base = 0u;
#include "common/target.glsl"
#include "common/pair.glsl"
#include "common/surface.glsl"
#include "common/neighbor_map.glsl"

// Pixels that come back farther from where they started are not consistent, px.
const float MOST_ERROR_PX = 1.0;

// Pixels between a pixel and where it comes back to; below 0 where it does not. `by_depth` is its derivative by the depth z.
float reprojection_px(vec2 pixel, float z, out float by_depth) {
    by_depth = 0.0;
    Way way = way_there();
    vec3 ray = pixel_ray(pixel);
    vec3 there = way.turn * (z * ray) + way.shift;
    if (!(there.z > 0.0)) {
        return -1.0;
    }
    vec3 ray_there = vec3(there.xy / there.z, 1.0);
    float depth;
    vec2 slope;
    if (!shown(ray_there.xy * n.intrinsics.xy + n.intrinsics.zw, false, depth, slope)) {
        return -1.0;
    }
    vec3 back = (depth * ray_there - way.shift) * way.turn;
    if (!(back.z > 0.0)) {
        return -1.0;
    }
    vec2 off = back.xy / back.z * u.intrinsics.xy + u.intrinsics.zw - pixel;
    float error = length(off);
    if (error > 0.0) {
        vec2 by_ray = off / error * u.intrinsics.xy;
        vec3 by_point = way.turn * (vec3(by_ray, -dot(by_ray, back.xy) / back.z) / back.z);
        vec2 by_ray_there = depth * by_point.xy + dot(by_point, ray_there) * slope * n.intrinsics.xy;
        vec3 by_there = vec3(by_ray_there, -dot(by_ray_there, ray_there.xy)) / there.z;
        by_depth = dot(by_there * way.turn, ray);
    }
    return error;
}
#endif
#define SUMMED vec2
#define SEVERAL_SUMS
#include "common/group_sum.glsl"

void main() {
    if (counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint tiles = u.tiles_x * u.tiles_y;
#ifdef REDUCE
    uint groups = (patch_count() + 255u) / 256u;
    vec2 seen = vec2(0.0), picked = vec2(0.0);
    for (uint k = lane; k < tiles; k += 256u) {
        seen += pair_sums[k];
    }
    for (uint k = lane; k < groups; k += 256u) {
        picked += pair_sums[tiles + k];
    }
    seen = group_sum(seen);
    picked = group_sum(picked);
    if (lane == 0u) {
        vec2 shares = vec2(seen.y > 0.0 ? 1.0 / seen.y : 0.0, picked.y > 0.0 ? 1.0 / picked.y : 0.0);
        vec2 means = shares * vec2(seen.x, picked.x);
        vec2 weights = vec2(geometry, photometric);
        pair_means[0] = vec4(shares * weights, means);
        counters.loss += dot(weights, means);
    }
#else
    uint tile = group_index();
    if (tile >= tiles) {
        return;
    }
    uvec2 pixel = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u + uvec2(lane & 15u, lane >> 4);
    vec2 sums = vec2(0.0);
    if (pixel.x < u.width && pixel.y < u.height) {
        uint at = pixel.y * u.width + pixel.x;
        vec2 own = vec2(0.0);
        float z = depth_map[at].x;
        if (MASKED != 0u) {
            z = mask_value(at) == 1.0 ? z : 0.0;
        }
        if (z > 0.0) {
            float by_depth;
            float error = reprojection_px(vec2(pixel), z, by_depth);
            if (error >= 0.0 && error < MOST_ERROR_PX) {
                float weight = exp(-error);
                own = weight * vec2(1.0, by_depth);
                sums = vec2(weight * error, 1.0);
            }
        }
        pair_pixels[at] = own;
    }
    sums = group_sum(sums);
    if (lane == 0u) {
        pair_sums[tile] = sums;
    }
#endif
}
