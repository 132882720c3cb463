#version 450
#extension GL_GOOGLE_include_directive : require
// Colours the pixels of a strip from the triangles that its samples show: the mean over a pixel's samples. One thread a pixel;
// chunks of the mesh add to the picture one after the other. The picture's fourth value is the share of the pixel that the
// mesh leaves free, as it is for splats.
#include "common/group.glsl"
#include "common/mesh.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer View { MeshView view; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Vertices { uvec4 vertices[]; };   // position bits, colour
layout(set = 0, binding = 2, std430) readonly restrict buffer Triangles { uint triangles[]; };  // three vertices each
layout(set = 0, binding = 3, std430) readonly restrict buffer Uvs { vec2 uvs[]; };              // three each
layout(set = 0, binding = 4, std430) readonly restrict buffer Texels { uint texels[]; };        // RGBA, a byte each
layout(set = 0, binding = 5, std430) readonly restrict buffer Ids { uint ids[]; };
layout(set = 0, binding = 6, std430) restrict buffer Image { vec4 image[]; };

layout(push_constant) uniform Push {
    uint first;     // number of the first triangle of the chunk
    uint count;     // triangles of the chunk
    uint look;      // one of `LOOK_*`
    uint is_first;  // 1: the first chunk, nothing is in the picture yet
    uint is_last;   // 1: the last one, the background follows
};

const uint LOOK_COLORS = 0u;   // colours of the vertices
const uint LOOK_TEXTURE = 1u;  // the texture
const uint LOOK_PLAIN = 2u;    // grey, lit from the camera: for meshes without colours

// Lightness of a plain surface that faces the camera.
const float PLAIN = 0.8;

vec3 bytes(uint rgba) {
    return vec3(rgba & 0xffu, (rgba >> 8) & 0xffu, (rgba >> 16) & 0xffu) / 255.0;
}

vec3 texel(ivec2 at) {
    int side = int(view.texture_side);
    at = clamp(at, ivec2(0), ivec2(side - 1));
    return bytes(texels[at.y * side + at.x]);
}

// The texture at a place, shares of its sides from the upper left corner; bilinear.
vec3 textured(vec2 uv) {
    vec2 at = clamp(uv, 0.0, 1.0) * float(view.texture_side) - 0.5;
    vec2 low = floor(at);
    vec2 share = at - low;
    ivec2 p = ivec2(low);
    vec3 above = mix(texel(p), texel(p + ivec2(1, 0)), share.x);
    vec3 below = mix(texel(p + ivec2(0, 1)), texel(p + ivec2(1, 1)), share.x);
    return mix(above, below, share.y);
}

void main() {
    uint pixel = group_index() * 64u + gl_LocalInvocationIndex;
    if (pixel >= view.width * view.rows) {
        return;
    }
    uint column = pixel % view.width, row = view.first_row + pixel / view.width;
    uint samples = view.samples;
    vec4 sum = vec4(0.0);
    uint known = 0xffffffffu;
    Facet f;
    uint corners[3];
    for (uint sub = 0u; sub < samples * samples; ++sub) {
        uvec2 at = uvec2(column, row) * samples + uvec2(sub % samples, sub / samples);
        uint id = ids[(at.y - view.first_row * samples) * view.width * samples + at.x];
        if (id < first || id - first >= count) {
            continue;
        }
        uint triangle = id - first;
        if (id != known) {
            known = id;
            vec3 v[3];
            for (int k = 0; k < 3; ++k) {
                corners[k] = triangles[3u * triangle + uint(k)];
                v[k] = to_camera(view, uintBitsToFloat(vertices[corners[k]].xyz));
            }
            f = facet_of(view, v);
        }
        vec2 ray = ray_of(view, at);
        vec3 color;
        if (look == LOOK_PLAIN) {
            vec3 r = vec3(ray, 1.0);
            color = vec3(PLAIN * abs(dot(f.inverse, r)) / (length(f.inverse) * length(r)));
        } else {
            vec3 share = shares(f, ray);
            float total = share.x + share.y + share.z;
            share = total == 0.0 ? vec3(1.0 / 3.0) : share / total;
            if (look == LOOK_TEXTURE) {
                color = textured(share.x * uvs[3u * triangle] + share.y * uvs[3u * triangle + 1u]
                    + share.z * uvs[3u * triangle + 2u]);
            } else {
                color = share.x * bytes(vertices[corners[0]].w) + share.y * bytes(vertices[corners[1]].w)
                    + share.z * bytes(vertices[corners[2]].w);
            }
        }
        sum += vec4(color, 1.0);
    }
    sum /= float(samples * samples);
    uint to = row * view.width + column;
    vec4 value = is_first == 1u ? sum : image[to] + sum;
    if (is_last == 1u) {
        float free = 1.0 - value.w;
        value = vec4(value.rgb + free * view.background.rgb, free);
    }
    image[to] = value;
}
