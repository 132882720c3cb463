#version 450
#extension GL_GOOGLE_include_directive : require
// Adds to points on a mesh the colours that a photo shows of them. One thread a point; the drawn depths of the same view say
// what the photo can see. A photo counts by the squared cosine of the angle it sees the surface at over the squared depth,
// less towards its border, and hardly where it shows an edge.
#include "common/group.glsl"
#include "common/mesh.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer View { MeshView view; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Points { vec4 points[]; };     // position; code of the normal
layout(set = 0, binding = 2, std430) readonly restrict buffer Depths { uint depths[]; };     // bits of inverse depths
layout(set = 0, binding = 3, std430) readonly restrict buffer Photo { uint photo[]; };       // RGB, a byte each; the mask
layout(set = 0, binding = 4, std430) restrict buffer Sums { vec4 sums[]; };                  // colours by weights; weights

layout(push_constant) uniform Push {
    uint count;  // points
};

// Share by which a surface may be off where the photo is read and it still is the same surface.
const float SAME = 0.02;
// Weight of what an edge runs through.
const float EDGE = 1e-3;
// Share of the photo's shorter side over which weights fall towards the border, and the weight at the border.
const float BORDER = 0.05;
const float AT_BORDER = 0.05;

float photo_byte(uint at) {
    return float((photo[at >> 2] >> ((at & 3u) * 8u)) & 0xffu) / 255.0;
}

// The normal in two halves of a word, on an octahedron (Cigolle et al. 2014); nothing for none.
vec3 normal_of(uint code) {
    if (code == 0xffffffffu) {
        return vec3(0.0);
    }
    vec2 at = vec2(code & 0xffffu, code >> 16) / 32767.0 - 1.0;
    vec3 n = vec3(at, 1.0 - abs(at.x) - abs(at.y));
    float under = max(-n.z, 0.0);
    n.x += n.x >= 0.0 ? -under : under;
    n.y += n.y >= 0.0 ? -under : under;
    return normalize(n);
}

void main() {
    uint i = group_index() * 64u + gl_LocalInvocationIndex;
    if (i >= count) {
        return;
    }
    vec4 point = points[i];
    vec3 p = to_camera(view, point.xyz);
    if (!(p.z > 0.0)) {
        return;
    }
    // Pixels from the middle of the first one.
    vec2 at = (p.xy / p.z - view.rays.zw) / view.rays.xy - 0.5;
    vec2 most = vec2(view.width, view.height) - 1.0;
    if (any(lessThan(at, vec2(0.0))) || any(greaterThan(at, most))) {
        return;
    }
    vec3 world = normal_of(floatBitsToUint(point.w));
    vec3 n = vec3(dot(view.row0.xyz, world), dot(view.row1.xyz, world), dot(view.row2.xyz, world));
    float facing = dot(n, p);
    bool has_plane = world != vec3(0.0);
    float cosine = has_plane ? abs(facing) / length(p) : 1.0;
    if (cosine < 0.05) {
        return;
    }
    uvec2 low = uvec2(min(floor(at), most - 1.0 + vec2(equal(most, vec2(0.0)))));
    vec2 share = at - vec2(low);
    vec3 color = vec3(0.0);
    bool is_edge = false;
    float slack = view.background.w + max(view.rays.x, view.rays.y);
    for (uint k = 0u; k < 4u; ++k) {
        uvec2 step = uvec2(k & 1u, k >> 1);
        uvec2 q = min(low + step, uvec2(most));
        float weight = (step.x == 1u ? share.x : 1.0 - share.x) * (step.y == 1u ? share.y : 1.0 - share.y);
        uint pixel = q.y * view.width + q.x;
        if (view.masked == 1u && weight > 0.0) {
            uint mask = ((3u * view.width * view.height + 3u) / 4u) * 4u;
            if (photo_byte(mask + pixel) < 0.5) {
                return;
            }
        }
        // Inverse depth of the point's plane where the pixel's ray meets it.
        vec2 ray = ray_of(view, q);
        float plane = has_plane ? dot(n, vec3(ray, 1.0)) / facing : 1.0 / p.z;
        float drawn = uintBitsToFloat(depths[pixel]);
        float off = drawn / plane - 1.0;
        bool is_nearest = abs(at.x - float(q.x)) <= 0.5 && abs(at.y - float(q.y)) <= 0.5;
        if (is_nearest && off > slack) {
            return;
        }
        is_edge = is_edge || (weight > 0.0 && abs(off) > SAME);
        color += weight * vec3(photo_byte(3u * pixel), photo_byte(3u * pixel + 1u), photo_byte(3u * pixel + 2u));
    }
    vec2 inside = min(at, most - at) / (BORDER * (1.0 + min(most.x, most.y)));
    float weight = cosine * cosine / (p.z * p.z) * max(AT_BORDER, min(1.0, min(inside.x, inside.y)));
    weight *= is_edge ? EDGE : 1.0;
    sums[i] += vec4(weight * color, weight);
}
