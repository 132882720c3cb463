#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: edges EDGES=1
// kiln-variant: reduce REDUCE=1
// kiln-variant: plain PLAIN=1
// Agreement of blended planes and the depth map (Huang et al. 2024, eq. 14): mean over all pixels of  g (A - N . n)  with the
// blended normal N, the coverage A, and the normal n of the depth map; pixels without n have none. The weight g = (1 - e)^2
// forgets edges of the photo: e is the gradient of its grey over the steepest one (as Chen et al. 2024).
//
// `edges`, a tile a group: the steepest gradient of the photo. Plain variant, a tile a group: the tile's sum, and what the
// loss wants of each normal n = c / |c| through c, from which `plane_gather` has the rest. `reduce`, one group: adds the sums
// in a fixed order and the weighted mean to the loss. Pixels that the photo's mask leaves out have no weight.
//
// `plain` variants are SuGaR's depth-normal consistency (Guedon and Lepetit 2024, released code): mean over all pixels of 1 - M . n,
// where M has the blended normal's x and y and is of length 1 towards the camera; pixels without n count 1.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer PlaneSums { float plane_sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Target { uint target[]; };
#ifdef EDGES
layout(set = 0, binding = 3, std430) restrict buffer Steepest { uint steepest[]; };  // bits of the largest gradient
#elif defined(PLAIN)
layout(set = 0, binding = 3, std430) writeonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; 0
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 6, std430) writeonly restrict buffer NormalGradient { vec4 normal_gradient[]; };  // d loss / d c; 0
layout(set = 0, binding = 7, std430) writeonly restrict buffer PlaneSums { float plane_sums[]; };
#include "common/surface.glsl"
#include "common/crossing.glsl"
#else
layout(set = 0, binding = 3, std430) readonly restrict buffer Steepest { uint steepest[]; };  // bits of the largest gradient
layout(set = 0, binding = 4, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer NormalGradient { vec4 normal_gradient[]; };  // d loss / d c; weight
layout(set = 0, binding = 8, std430) writeonly restrict buffer PlaneSums { float plane_sums[]; };
#include "common/surface.glsl"
#include "common/crossing.glsl"
#endif

layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks
const uint target_base = 0u;
#include "common/target.glsl"

bool counts(uint pixel) {
    return MASKED == 0u || mask_value(pixel) == 1.0;
}

#ifdef PLAIN
const float LEAST_LEFT = 1e-6;
#endif

// Grey of a pixel of the photo, Rec. 601.
float grey(uint pixel) {
    return 0.299 * target_value(pixel, 0u) + 0.587 * target_value(pixel, 1u) + 0.114 * target_value(pixel, 2u);
}

// Length of the photo's gradient at a pixel with four neighbours, per pixel.
float steepness(uint pixel) {
    vec2 rise = vec2(grey(pixel + 1u) - grey(pixel - 1u), grey(pixel + u.width) - grey(pixel - u.width));
    return 0.5 * length(rise);
}
#endif

#ifdef EDGES
#define JOIN(A, B) max(A, B)
#else
#define JOIN(A, B) (A + B)
#endif
shared float joined[256];

// Sum over the group, or its maximum.
float group_join(float value) {
    uint lane = gl_LocalInvocationIndex;
    joined[lane] = value;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            joined[lane] = JOIN(joined[lane], joined[lane + half_size]);
        }
        barrier();
    }
    return joined[0];
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint tiles = u.tiles_x * u.tiles_y;
#ifdef REDUCE
    if (counters.stalled != 0u) {
        return;
    }
    float sum = 0.0;
    for (uint k = lane; k < tiles; k += 256u) {
        sum += plane_sums[k];
    }
    sum = group_join(sum);
    if (lane == 0u) {
        counters.normals = 3.0 * u.weights.z * sum;
        counters.loss += u.normals_weight * counters.normals;
    }
#else
    uint tile = group_index();
    if (tile >= tiles || counters.stalled != 0u) {
        return;
    }
    uvec2 pixel = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u + uvec2(lane & 15u, lane >> 4);
    uint at = pixel.y * u.width + pixel.x;
    // Pixels at the border have no normal, and no gradients.
    bool inside = pixel.x > 0u && pixel.y > 0u && pixel.x + 1u < u.width && pixel.y + 1u < u.height;
    float value = 0.0;
#ifdef EDGES
    if (inside && counts(at)) {
        value = steepness(at);
    }
    value = group_join(value);
    if (lane == 0u && value > 0.0) {
        // Bits of positive floats are in their order: the same maximum whoever comes first.
        atomicMax(steepest[0], floatBitsToUint(value));
    }
#else
#ifdef PLAIN
    if (pixel.x < u.width && pixel.y < u.height) {
        vec3 by_crossing = vec3(0.0);
        vec2 by_blended = vec2(0.0);
        if (counts(at)) {
            vec3 normal = depth_map[at].yzw;
            vec2 flat_part = surface_plane[at].xy;
            float left = 1.0 - dot(flat_part, flat_part);
            // Where x and y alone are as long as a normal, there is nothing left for z, and no slope that means anything.
            float towards = left > LEAST_LEFT ? sqrt(left) : 0.0;
            vec3 blended = vec3(flat_part, -towards);
            value = 1.0 - dot(blended, normal);
            if (normal != vec3(0.0)) {
                float weight = 3.0 * u.weights.z * u.normals_weight;
                by_blended = -weight * (normal.xy + (towards > 0.0 ? normal.z / towards : 0.0) * flat_part);
                vec3 c = crossing(pixel);
                float turn = dot(c, normal) < 0.0 ? -1.0 : 1.0;
                by_crossing = (-weight * turn / length(c)) * (blended - dot(blended, normal) * normal);
            }
        }
        normal_gradient[at] = vec4(by_crossing, 0.0);
        surface_gradient[at] = vec4(by_blended, 0.0, 0.0);
    }
#else
    if (pixel.x < u.width && pixel.y < u.height) {
        vec4 gradient = vec4(0.0);
        vec3 normal = depth_map[at].yzw;
        if (inside && normal != vec3(0.0) && counts(at)) {
            float most = uintBitsToFloat(steepest[0]);
            float flatness = 1.0 - (most > 0.0 ? min(steepness(at) / most, 1.0) : 0.0);
            float g = flatness * flatness;
            vec3 blended = surface_plane[at].xyz;
            value = g * ((1.0 - image[at].w) - dot(blended, normal));
            vec3 c = crossing(pixel);
            float weight = 3.0 * u.weights.z * u.normals_weight * g;
            vec3 across_normal = blended - dot(blended, normal) * normal;
            float turn = dot(c, normal) < 0.0 ? -1.0 : 1.0;
            gradient = vec4((-weight * turn / length(c)) * across_normal, weight);
        }
        normal_gradient[at] = gradient;
    }
#endif
    value = group_join(value);
    if (lane == 0u) {
        plane_sums[tile] = value;
    }
#endif
#endif
}
