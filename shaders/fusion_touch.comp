#version 450
#extension GL_GOOGLE_include_directive : require
// Marks the bricks near the surface that a view sees: those that the pixels' rays pass within the truncation before and behind
// their depths, and two voxels around. One bit for each brick of the space.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 2, std430) restrict buffer BrickBits { uint brick_bits[]; };

layout(push_constant) uniform Push {
    float origin_x;    // lower corner of the box, or centre of the ball, world units
    float origin_y;
    float origin_z;
    float voxel;       // side of a voxel, in contracted space of one in the ball, world units
    float radius;      // radius of the ball, world units; 0 = bounded
    float truncation;  // voxels
    uint bricks_x;  // bricks of the space along x, y and z
    uint bricks_y;
    uint bricks_z;
};

#include "common/surface.glsl"
#include "common/unproject.glsl"
#include "common/space.glsl"

// Voxels around a sample whose bricks are marked, and twice that between samples.
const float MARGIN = 2.0;

void mark(vec3 q) {
    vec3 bricks = vec3(bricks_x, bricks_y, bricks_z);
    vec3 low = floor((q - MARGIN) / float(BRICK_SIDE));
    vec3 high = floor((q + MARGIN) / float(BRICK_SIDE));
    // Written so that a NaN marks nothing; compared as floats because places may exceed every integer.
    if (!(all(greaterThanEqual(high, vec3(0.0))) && all(lessThan(low, bricks)))) {
        return;
    }
    uvec3 from = uvec3(max(low, 0.0));
    uvec3 to = uvec3(min(high, bricks - 1.0));
    for (uint x = from.x; x <= to.x; ++x) {
        for (uint y = from.y; y <= to.y; ++y) {
            for (uint z = from.z; z <= to.z; ++z) {
                uint brick = (x * bricks_y + y) * bricks_z + z;
                uint bit = 1u << (brick & 31u);
                // Most are marked already; a stale word only costs the atomic.
                if ((brick_bits[brick >> 5] & bit) == 0u) {
                    atomicOr(brick_bits[brick >> 5], bit);
                }
            }
        }
    }
}

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    if (at >= u.width * u.height) {
        return;
    }
    float depth = depth_map[at].x;
    if (depth == 0.0) {
        return;
    }
    vec3 ray = pixel_ray(vec2(at % u.width, at / u.width));
    float samples = ceil(truncation * length(ray) / MARGIN);
    // Steps are as long as voxels are large where they begin, and shorter towards smaller ones.
    float before = depth, behind = depth;
    mark(to_grid(world_point(depth * ray)));
    for (float k = 0.0; k < samples && before > 0.0; ++k) {
        float size = truncation_at(to_grid(world_point(before * ray))) / samples;
        before = radius == 0.0 ? before - size : before * before / (before + size);
        if (before > 0.0) {
            mark(to_grid(world_point(before * ray)));
        }
    }
    for (float k = 0.0; k < samples; ++k) {
        behind += truncation_at(to_grid(world_point(behind * ray))) / samples;
        mark(to_grid(world_point(behind * ray)));
    }
}
