#version 450
// Rendered image and photograph to six normalised planes: (range(v) - shift) / scale per channel (Zhang et al. 2018).
// The rendered values are clamped to [0, 1] first. One thread a pixel.
#extension GL_GOOGLE_include_directive : require
#include "common/group.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Image { float image[]; };  // RGB triples
layout(set = 0, binding = 1, std430) readonly restrict buffer Target { uint target[]; };  // packed u8 RGB
layout(set = 0, binding = 2, std430) readonly restrict buffer Constants { float constants[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Planes { float planes[]; };

layout(push_constant) uniform Push {
    uint pixels;
    uint scaling_at;  // shift of r, g, b, then scale of r, g, b
    float gain;
    float offset;
};

void main() {
    uint i = group_index() * 64u + gl_LocalInvocationIndex;
    if (i >= pixels) {
        return;
    }
    for (uint c = 0u; c < 3u; ++c) {
        uint byte = 3u * i + c;
        float x = clamp(image[byte], 0.0, 1.0);
        float y = float((target[byte >> 2] >> ((byte & 3u) * 8u)) & 0xffu) / 255.0;
        float shift = constants[scaling_at + c], scale = constants[scaling_at + 3u + c];
        planes[c * pixels + i] = (x * gain + offset - shift) / scale;
        planes[(c + 3u) * pixels + i] = (y * gain + offset - shift) / scale;
    }
}
