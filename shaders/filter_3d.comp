#version 450
#extension GL_GOOGLE_include_directive : require
// The 3D smoothing filter (Mip-Splatting, Yu et al. 2024, sec. 4): each Gaussian's nearest sampling distance over all
// training cameras. Two passes: `filter_3d` finds the distances and their maximum, `filter_3d_apply` scales them.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/filter_camera.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Cameras { FilterCamera cameras[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 4, std430) restrict buffer Farthest { uint farthest; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint camera_count;
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    vec3 mean = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]);
    float nearest = 3.0e38;
    for (uint k = 0u; k < camera_count; ++k) {
        FilterCamera c = cameras[k];
        vec3 p = vec3(dot(c.row0.xyz, mean) + c.row0.w, dot(c.row1.xyz, mean) + c.row1.w,
                      dot(c.row2.xyz, mean) + c.row2.w);
        vec3 seen = seen_by(c, p);
        vec2 size = c.size.xy;
        if (seen.z > 0.0 && seen.x >= -0.15 * size.x && seen.x <= 1.15 * size.x && seen.y >= -0.15 * size.y &&
            seen.y <= 1.15 * size.y) {
            nearest = min(nearest, seen.z);
        }
    }
    bool seen = nearest < 3.0e38;
    // A negative mark means never seen; the apply pass replaces it by the farthest distance found.
    filter_3d[i] = seen ? nearest : -1.0;
    if (seen) {
        atomicMax(farthest, floatBitsToUint(nearest));
    }
}
