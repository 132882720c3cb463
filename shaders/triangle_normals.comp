#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Agreement of blended normals and those of the median depth, which are given: mean over all pixels of 1 - N . (A n) with the
// blended normal N, the coverage A, and the normal n of the depth around the pixel; pixels without n have none, and the mean is
// over all. Plain variant, a tile a group: the tile's sum, and the gradient by blended normal and depth. `reduce`, one group: adds
// the sums in a fixed order and the weighted mean to the loss.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer NormalSums { float normal_sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };
layout(set = 0, binding = 6, std430) writeonly restrict buffer NormalSums { float normal_sums[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"
#include "common/surface.glsl"

float depth_at(uvec2 pixel) {
    return surface_depth[pixel.y * u.width + pixel.x - swath_base].x;
}

vec3 point_at(uvec2 pixel) {
    return depth_at(pixel) * pixel_ray(vec2(pixel));
}

// Normal of the depth around a pixel, turned to the camera; zero where there is none.
vec3 depth_normal(uvec2 pixel) {
    if (any(equal(pixel, uvec2(0u))) || any(greaterThanEqual(pixel + 1u, uvec2(u.width, u.height)))) {
        return vec3(0.0);
    }
    uvec2 x = uvec2(1u, 0u), y = uvec2(0u, 1u);
    if (!(depth_at(pixel - x) > 0.0) || !(depth_at(pixel + x) > 0.0) || !(depth_at(pixel - y) > 0.0) ||
        !(depth_at(pixel + y) > 0.0)) {
        return vec3(0.0);
    }
    vec3 n = cross(point_at(pixel + x) - point_at(pixel - x), point_at(pixel + y) - point_at(pixel - y));
    float size = length(n);
    if (!(size > 0.0)) {
        return vec3(0.0);
    }
    return (dot(n, pixel_ray(vec2(pixel))) > 0.0 ? -n : n) / size;
}
#endif

#define SUMMED float
#include "common/group_sum.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    float pixels = float(u.width * u.height);
#ifdef REDUCE
    uint tiles = counters.stalled == 0u ? u.tiles_x * u.tiles_y : 0u;
    float sum = 0.0;
    for (uint tile = lane; tile < tiles; tile += 256u) {
        sum += normal_sums[tile];
    }
    sum = group_sum(sum);
    if (lane == 0u && tiles > 0u) {
        float mean = sum / pixels;
        counters.normals = mean;
        counters.loss += tri.normals_weight * mean;
    }
#else
    uint tile = group_index();
    if (tile >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    if (!in_swath(origin.y)) {
        return;
    }
    uvec2 pixel = origin + uvec2(lane & 15u, lane >> 4);
    float off = 0.0;
    if (pixel.x < u.width && pixel.y < u.height) {
        uint index = pixel.y * u.width + pixel.x - swath_base;
        vec3 n = vec3(0.0);
        if (tri.normals_weight > 0.0) {
            n = (1.0 - image[index].w) * depth_normal(pixel);
            off = 1.0 - dot(surface_plane[index].xyz, n);
        }
        surface_gradient[index] = vec4(-(tri.normals_weight / pixels) * n, 0.0);
    }
    float sum = group_sum(off);
    if (lane == 0u) {
        normal_sums[tile] = sum;
    }
#endif
}
