#version 450
#extension GL_GOOGLE_include_directive : require
// What consistency with a neighbouring view wants of each pixel's blended plane (N, D): of its depth z = D / (-N . r), from
// `neighbor_loss`, and of the homography of its patch, from `neighbor_patches`. Each pixel collects its own, so nothing is scattered.
// Adds to what other losses of planes want.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/rng.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer PairPixels { vec2 pair_pixels[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer PairPatches { vec4 pair_patches[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer PairMeans { vec4 pair_means[]; };
layout(set = 0, binding = 6, std430) restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; by D

#include "common/patches.glsl"
#include "common/pick.glsl"
#include "common/surface.glsl"

void main() {
    uint tile = group_index();
    if (tile >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uvec2 pixel = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u + uvec2(lane & 15u, lane >> 4);
    if (pixel.x >= u.width || pixel.y >= u.height) {
        return;
    }
    uint at = pixel.y * u.width + pixel.x;
    vec2 own = pair_pixels[at];
    if (own.x == 0.0) {
        // Only consistent pixels have a patch.
        return;
    }
    vec4 plane = surface_plane[at];
    vec3 ray = pixel_ray(vec2(pixel));
    float slope = -dot(plane.xyz, ray);
    vec2 shares = pair_means[0].xy;
    float by_depth = shares.x * own.y;
    vec4 gradient = vec4((by_depth * plane.w / (slope * slope)) * ray, by_depth / slope);
    uint k = at / patch_share();
    if (patch_pixel(k) == at) {
        gradient += shares.y * pair_patches[k];
    }
    surface_gradient[at] += gradient;
}
