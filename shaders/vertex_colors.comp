#version 450
#extension GL_GOOGLE_include_directive : require
// Adds the colours that a view shows of vertices: those it sees, by the cosine of the angle at which it sees them over their
// squared depth.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Vertices { float vertices[]; };   // x, y, z
layout(set = 0, binding = 4, std430) restrict buffer ColorSums { vec4 color_sums[]; };          // color times weight; weight

layout(push_constant) uniform Push {
    float origin_x;    // lower corner of the box, or centre of the ball, world units
    float origin_y;
    float origin_z;
    float voxel;       // side of a voxel, in contracted space of one in the ball, world units
    float radius;      // radius of the ball, world units; 0 = bounded
    float truncation;  // voxels
    uint count;  // vertices
};

#include "common/surface.glsl"
#include "common/unproject.glsl"
#include "common/space.glsl"

// Weight of a vertex whose angle is not known.
const float UNKNOWN_COSINE = 0.1;

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v >= count) {
        return;
    }
    vec3 x = vec3(vertices[3u * v], vertices[3u * v + 1u], vertices[3u * v + 2u]);
    vec3 p = camera_point(x);
    uint at;
    if (!(p.z > 0.0) || !pixel_of(image_point(p), at)) {
        return;
    }
    vec4 surface = depth_map[at];
    if (surface.x == 0.0 || abs(surface.x - p.z) > truncation_at(to_grid(x))) {
        return;
    }
    float cosine = surface.yzw == vec3(0.0) ? UNKNOWN_COSINE : -dot(surface.yzw, normalize(p));
    float weight = max(cosine, UNKNOWN_COSINE) / (p.z * p.z);
    vec4 pixel = image[at];
    // What the background shines through is no colour of the surface.
    vec3 color = clamp((pixel.rgb - pixel.w * u.background.rgb) / (1.0 - pixel.w), 0.0, 1.0);
    color_sums[v] += weight * vec4(color, 1.0);
}
