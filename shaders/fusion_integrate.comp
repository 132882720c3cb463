#version 450
#extension GL_GOOGLE_include_directive : require
// Takes the depth of a view into bricks of voxels: a running mean of the distance to the surface along the viewing axis
// (Curless and Levoy 1996), cut at the truncation. A group takes a brick of 512 voxels.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer BrickKeys { uint brick_keys[]; };
layout(set = 0, binding = 3, std430) restrict buffer Voxels { uint voxels[]; };  // distance over truncation, snorm16; views

layout(push_constant) uniform Push {
    float origin_x;    // lower corner of the box, or centre of the ball, world units
    float origin_y;
    float origin_z;
    float voxel;       // side of a voxel, in contracted space of one in the ball, world units
    float radius;      // radius of the ball, world units; 0 = bounded
    float truncation;  // voxels
    uint bricks_y;  // bricks of the space along y and z
    uint bricks_z;
    uint count;     // bricks in the pool
};

#include "common/unproject.glsl"
#include "common/space.glsl"

const float UNIT = 32767.0;
const uint MOST_VIEWS = 65535u;

// Depth of the view at a point of its image, 0 = none: that of the nearest pixel, or between the four around where they lie
// within `reach` of each other.
float view_depth(vec2 point, float reach) {
    uint at;
    if (!pixel_of(point, at)) {
        return 0.0;
    }
    vec2 low = floor(point);
    if (all(greaterThanEqual(low, vec2(0.0))) && all(lessThan(low + 1.0, vec2(u.width, u.height)))) {
        uint corner = uint(low.y) * u.width + uint(low.x);
        vec4 z = vec4(depth_map[corner].x, depth_map[corner + 1u].x, depth_map[corner + u.width].x,
                      depth_map[corner + u.width + 1u].x);
        float least = min(min(z.x, z.y), min(z.z, z.w)), most = max(max(z.x, z.y), max(z.z, z.w));
        if (least > 0.0 && most - least <= reach) {
            vec2 part = point - low;
            return mix(mix(z.x, z.y, part.x), mix(z.z, z.w, part.x), part.y);
        }
    }
    return depth_map[at].x;
}

// Contracted distance of a brick's outermost corner beyond which its size says little.
const float KNOWN_SIZE = 1.9;

// True when no voxel of the brick at `place` can be on the image: the ball around it is behind the camera or beyond an edge.
bool out_of_view(uvec3 place) {
    vec3 q = vec3(place) + 0.5 * float(BRICK_SIDE - 1u);
    // Half the diagonal, with the voxels as large as they are at the brick's outermost corner.
    float half_diagonal = 0.5 * sqrt(3.0) * float(BRICK_SIDE);
    float growth = 1.0;
    if (radius != 0.0) {
        float outer = max(contracted_distance(q) + half_diagonal * voxel / radius, 1.0);
        if (outer > KNOWN_SIZE) {
            return false;
        }
        growth = 1.0 / ((2.0 - outer) * (2.0 - outer));
    }
    float reach = 1.01 * half_diagonal * voxel * growth;
    vec3 p = camera_point(to_world(q));
    vec2 low = (vec2(-0.5) - u.intrinsics.zw) / u.intrinsics.xy;
    vec2 high = (vec2(u.width, u.height) - 0.5 - u.intrinsics.zw) / u.intrinsics.xy;
    vec2 before = (p.xy - low * p.z) / sqrt(1.0 + low * low);
    vec2 behind = (high * p.z - p.xy) / sqrt(1.0 + high * high);
    return p.z < -reach || any(lessThan(before, vec2(-reach))) || any(lessThan(behind, vec2(-reach)));
}

void main() {
    uint brick = group_index();
    if (brick >= count) {
        return;
    }
    uint key = brick_keys[brick];
    uvec3 place = BRICK_SIDE * uvec3(key / bricks_z / bricks_y, key / bricks_z % bricks_y, key % bricks_z);
    // In the loop's condition, not before it: CPU drivers skip only what a loop does not turn to.
    uint end = out_of_view(place) ? 0u : 512u;
    for (uint v = gl_LocalInvocationIndex; v < end; v += 256u) {
        vec3 q = vec3(place + uvec3(v & 7u, v >> 3 & 7u, v >> 6));
        if (contracted_distance(q) > WORLD_END) {
            continue;
        }
        vec3 p = camera_point(to_world(q));
        if (!(p.z > 0.0)) {
            continue;
        }
        float reach = truncation_at(q);
        float z = view_depth(image_point(p), reach);
        float signed_distance = z - p.z;
        if (z == 0.0 || signed_distance < -reach) {
            continue;
        }
        uint word = voxels[512u * brick + v];
        uint views = word >> 16;
        float mean = float(int(word << 16) >> 16) / UNIT;
        float value = min(signed_distance / reach, 1.0);
        mean = (mean * float(views) + value) / float(views + 1u);
        int code = int(floor(mean * UNIT + 0.5));
        voxels[512u * brick + v] = uint(code) & 0xffffu | min(views + 1u, MOST_VIEWS) << 16;
    }
}
