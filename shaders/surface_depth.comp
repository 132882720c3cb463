#version 450
#extension GL_GOOGLE_include_directive : require
// Depth and normal of every pixel from blended planes and depths: where the pixel's ray meets the blended plane (Chen et al.
// 2024, eq. 5), the depth at which half its light is blocked, or the mean of the splats' depths. Normals are those of the
// depth map itself, by central differences.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer DepthMap { vec4 depth_map[]; };  // z, 0 = none; normal, 0 = none

layout(push_constant) uniform Push {
    uint kind;           // one of `DEPTH_*`
    float far;           // depths beyond it are none, world units
    float least_cosine;  // between ray and normal, below which a depth is none
};

#include "common/surface.glsl"

float depth_at(ivec2 pixel) {
    uint at = uint(pixel.y) * u.width + uint(pixel.x);
    if (kind == DEPTH_BLENDED) {
        float z = surface_plane[at].w;
        return z > 0.0 && z <= far ? z : 0.0;
    }
    float coverage = 1.0 - image[at].w;
    if (!(coverage > LEAST_COVERAGE)) {
        return 0.0;
    }
    float z;
    if (kind == DEPTH_PLANE) {
        vec4 plane = surface_plane[at];
        float slope = -dot(plane.xyz, pixel_ray(vec2(pixel)));
        z = slope > LEAST_SLOPE * length(plane.xyz) ? plane.w / slope : 0.0;
    } else {
        vec2 depth = surface_depth[at];
        z = kind == DEPTH_MEDIAN ? depth.x : depth.y / coverage;
    }
    return z > 0.0 && z <= far ? z : 0.0;
}

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    if (at >= u.width * u.height) {
        return;
    }
    ivec2 pixel = ivec2(at % u.width, at / u.width);
    float z = counters.stalled == 0u ? depth_at(pixel) : 0.0;
    vec3 normal = vec3(0.0);
    ivec2 last = ivec2(u.width, u.height) - 1;
    if (z > 0.0 && all(greaterThan(pixel, ivec2(0))) && all(lessThan(pixel, last))) {
        float left = depth_at(pixel - ivec2(1, 0)), right = depth_at(pixel + ivec2(1, 0));
        float above = depth_at(pixel - ivec2(0, 1)), below = depth_at(pixel + ivec2(0, 1));
        if (left > 0.0 && right > 0.0 && above > 0.0 && below > 0.0) {
            vec2 p = vec2(pixel);
            vec3 across = right * pixel_ray(p + vec2(1.0, 0.0)) - left * pixel_ray(p - vec2(1.0, 0.0));
            vec3 down = below * pixel_ray(p + vec2(0.0, 1.0)) - above * pixel_ray(p - vec2(0.0, 1.0));
            vec3 n = cross(across, down);
            float size = length(n);
            vec3 ray = pixel_ray(p);
            if (size > 0.0) {
                normal = dot(n, ray) > 0.0 ? -n / size : n / size;
                z = -dot(normal, normalize(ray)) < least_cosine ? 0.0 : z;
            }
        }
    }
    depth_map[at] = vec4(z, normal);
}
