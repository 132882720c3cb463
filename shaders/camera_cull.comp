#version 450
#extension GL_GOOGLE_include_directive : require
// Keeps or removes Gaussians by all training cameras: key 1, or 0 for those at the place of a camera, those that
// too few cameras see, and the faint. `kernels/camera_cull.rs` says what counts.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/filter_camera.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Cameras { FilterCamera cameras[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint camera_count;
    float clearance_min;  // world units, 0 when unlimited
    uint witnesses_min;   // 0 when unlimited
    float opacity_min;
    float rim_px;         // what the screen-space filter adds to a radius, at most
};
#include "common/rotate.glsl"

const float SLACK = 1.001;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.count > first ? min(control.count - first, stride) : 0u;
    if (i >= count) {
        return;
    }
    vec3 mean = vec3(geometry[i], geometry[stride + i], geometry[2u * stride + i]);
    vec3 scale = exp(vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                          geometry[(PLANE_SCALES + 2u) * stride + i]));
    // Rows of S R^T, whose product with a direction has the length of the deviation along it.
    vec3 axis0 = scale.x * rotate_by(i, vec3(1.0, 0.0, 0.0));
    vec3 axis1 = scale.y * rotate_by(i, vec3(0.0, 1.0, 0.0));
    vec3 axis2 = scale.z * rotate_by(i, vec3(0.0, 0.0, 1.0));
    float widest = max(max(scale.x, scale.y), scale.z);
    float filtered = sqrt(widest * widest + filter_3d[i] * filter_3d[i]);

    float clearance = 3.0e38;
    uint witnesses = 0u;
    bool touched = false;
    for (uint k = 0u; k < camera_count; ++k) {
        FilterCamera c = cameras[k];
        vec3 at = vec3(dot(c.row0.xyz, mean) + c.row0.w, dot(c.row1.xyz, mean) + c.row1.w,
                       dot(c.row2.xyz, mean) + c.row2.w);
        float distance_to = length(at);
        vec3 away = (c.row0.xyz * at.x + c.row1.xyz * at.y + c.row2.xyz * at.z) / max(distance_to, 1e-30);
        float deviation = length(vec3(dot(axis0, away), dot(axis1, away), dot(axis2, away)));
        clearance = min(clearance, distance_to - 2.0 * deviation);
        vec3 seen = seen_by(c, at);
        if (seen.z > 0.0) {
            vec2 px = seen.xy, size = c.size.xy;
            witnesses += all(greaterThanEqual(px, vec2(0.0))) && all(lessThanEqual(px, size)) ? 1u : 0u;
            float radius = 3.0 * SLACK * c.size.w * filtered / seen.z + rim_px;
            touched = touched || (all(greaterThanEqual(px, vec2(-radius))) && all(lessThanEqual(px, size + radius)));
        }
    }
    float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
    bool unseen = witnesses_min > 0u && (!touched || (witnesses_min > 1u && witnesses < witnesses_min));
    bool crowds = clearance_min > 0.0 && clearance < clearance_min;
    keys[i] = crowds || unseen || opacity < opacity_min ? 0u : 1u;
}
