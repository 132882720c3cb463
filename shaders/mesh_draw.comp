#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: large LARGE=1
// Draws triangles into samples: first the largest inverse depth of each, then the lowest triangle that has it. One module does
// both, so that the second pass finds the very bits of the first.
//
// Plain variant: a thread a triangle; those of more than 64 samples are put on a list. Large variant: groups walk the list,
// `gl_NumWorkGroups.y` of them over the rows of each triangle. The order of the list has no part in the result.
#include "common/group.glsl"
#include "common/mesh.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer View { MeshView view; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Vertices { uvec4 vertices[]; };  // position bits, colour
layout(set = 0, binding = 2, std430) readonly restrict buffer Triangles { uint triangles[]; };  // three vertices each
#ifdef LARGE
layout(set = 0, binding = 3, std430) readonly restrict buffer LargeBlock { uint large[]; };     // their number, then they
#else
layout(set = 0, binding = 3, std430) restrict buffer LargeBlock { uint large[]; };              // their number, then they
#endif
layout(set = 0, binding = 4, std430) restrict buffer Depths { uint depths[]; };                 // bits of inverse depths
layout(set = 0, binding = 5, std430) restrict buffer Ids { uint ids[]; };

layout(push_constant) uniform Push {
    uint first;   // number of the first triangle of the chunk
    uint count;   // triangles of the chunk
    uint naming;  // 0: depths; 1: triangles
};

// Most samples of a small triangle's box.
const int SMALL = 64;

Facet load(uint triangle) {
    vec3 v[3];
    for (int k = 0; k < 3; ++k) {
        uvec4 vertex = vertices[triangles[3u * triangle + uint(k)]];
        v[k] = to_camera(view, uintBitsToFloat(vertex.xyz));
    }
    return facet_of(view, v);
}

void draw(Facet f, uint triangle, int x, int y) {
    float inverse = meet(f, ray_of(view, uvec2(x, y)));
    if (inverse <= 0.0) {
        return;
    }
    uint bits = floatBitsToUint(inverse);
    uint at = (uint(y) - view.first_row * view.samples) * view.width * view.samples + uint(x);
    if (naming == 0u) {
        atomicMax(depths[at], bits);
    } else if (depths[at] == bits) {
        atomicMin(ids[at], first + triangle);
    }
}

#ifdef LARGE

void main() {
    uint number = large[0];
    for (uint i = gl_WorkGroupID.x; i < number; i += gl_NumWorkGroups.x) {
        uint triangle = large[1u + i];
        Facet f = load(triangle);
        for (int y = f.box.z + int(gl_WorkGroupID.y); y <= f.box.w; y += int(gl_NumWorkGroups.y)) {
            for (int x = f.box.x + int(gl_LocalInvocationIndex); x <= f.box.y; x += 64) {
                draw(f, triangle, x, y);
            }
        }
    }
}

#else

void main() {
    uint triangle = group_index() * 64u + gl_LocalInvocationIndex;
    if (triangle >= count) {
        return;
    }
    Facet f = load(triangle);
    int width = f.box.y - f.box.x + 1, height = f.box.w - f.box.z + 1;
    if (width <= 0 || height <= 0) {
        return;
    }
    // The product of two sides may pass what an integer holds.
    if (width > SMALL || height > SMALL || width * height > SMALL) {
        large[1u + atomicAdd(large[0], 1u)] = triangle;
        return;
    }
    for (int y = f.box.z; y <= f.box.w; ++y) {
        for (int x = f.box.x; x <= f.box.y; ++x) {
            draw(f, triangle, x, y);
        }
    }
}

#endif
