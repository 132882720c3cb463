#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: plain PLAIN=1
// What `plane_loss` wants of each pixel's blended plane (N, D): of N directly, and of the depth z = D / (-N . r) through the
// normals of the depth map. A normal is n = c / |c| with c = across x down, differences of the points P = z r of its four
// neighbours; each pixel collects what its own four neighbours' normals owe to its point, so nothing is scattered.
//
// `plain` is for planes with `FLAG_PLANE_DEPTHS`, whose depth z is what is blended: it adds the gradient by it.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
#ifdef PLAIN
layout(set = 0, binding = 2, std430) restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; by z
layout(set = 0, binding = 3, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer NormalGradient { vec4 normal_gradient[]; };
#else
layout(set = 0, binding = 2, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer NormalGradient { vec4 normal_gradient[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; by D
#endif

#include "common/surface.glsl"
#include "common/crossing.glsl"

// Gradient by c of a pixel's normal; zero beyond the image.
vec3 owed(ivec2 pixel) {
    bool inside = all(greaterThanEqual(pixel, ivec2(0))) && all(lessThan(pixel, ivec2(u.width, u.height)));
    return inside ? normal_gradient[uint(pixel.y) * u.width + uint(pixel.x)].xyz : vec3(0.0);
}

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
    vec4 map = depth_map[at];
#ifdef PLAIN
    vec4 gradient = surface_gradient[at];
#else
    vec4 gradient = vec4(-normal_gradient[at].w * map.yzw, 0.0);
#endif
    if (map.x > 0.0) {
        // Where a neighbour's normal owes anything, all four points around it have a depth.
        vec3 by_point = vec3(0.0);
        ivec2 p = ivec2(pixel);
        vec3 g = owed(p - ivec2(1, 0));
        by_point += g != vec3(0.0) ? cross(down_at(pixel - uvec2(1u, 0u)), g) : vec3(0.0);
        g = owed(p + ivec2(1, 0));
        by_point -= g != vec3(0.0) ? cross(down_at(pixel + uvec2(1u, 0u)), g) : vec3(0.0);
        g = owed(p - ivec2(0, 1));
        by_point += g != vec3(0.0) ? cross(g, across_at(pixel - uvec2(0u, 1u))) : vec3(0.0);
        g = owed(p + ivec2(0, 1));
        by_point -= g != vec3(0.0) ? cross(g, across_at(pixel + uvec2(0u, 1u))) : vec3(0.0);
        vec3 ray = pixel_ray(vec2(pixel));
        float by_depth = dot(ray, by_point);
#ifdef PLAIN
        gradient.w += by_depth;
#else
        vec4 plane = surface_plane[at];
        float slope = -dot(plane.xyz, ray);
        gradient += vec4((by_depth * plane.w / (slope * slope)) * ray, by_depth / slope);
#endif
    }
    surface_gradient[at] = gradient;
}
