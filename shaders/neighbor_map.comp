#version 450
#extension GL_GOOGLE_include_directive : require
// What a neighbouring view keeps for the step that compares with it: the depth at which each pixel's ray meets the blended plane
// (Chen et al. 2024, eq. 5), and the grey of its photo. Pixels that the photo's mask leaves out have neither.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer NeighborMap { vec2 neighbor_map[]; };  // z, 0 = none; grey, -1 = none

const uint target_base = 0u;
#include "common/target.glsl"
#include "common/grey.glsl"
#include "common/surface.glsl"

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    if (at >= u.width * u.height || counters.stalled != 0u) {
        return;
    }
    if (MASKED != 0u && mask_value(at) != 1.0) {
        neighbor_map[at] = vec2(0.0, -1.0);
        return;
    }
    float z = 0.0;
    if (1.0 - image[at].w > LEAST_COVERAGE) {
        vec4 plane = surface_plane[at];
        float slope = -dot(plane.xyz, pixel_ray(vec2(at % u.width, at / u.width)));
        z = slope > LEAST_SLOPE * length(plane.xyz) ? max(plane.w / slope, 0.0) : 0.0;
    }
    neighbor_map[at] = vec2(z, grey(at));
}
