#version 450
#extension GL_GOOGLE_include_directive : require
// Depths that a mask leaves out are none: there the photo said nothing to the model.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Mask { uint mask[]; };  // a byte a pixel, 0 = left out
layout(set = 0, binding = 2, std430) restrict buffer DepthMap { vec4 depth_map[]; };

void main() {
    uint at = group_index() * 256u + gl_LocalInvocationIndex;
    if (at >= u.width * u.height) {
        return;
    }
    if ((mask[at >> 2] >> 8u * (at & 3u) & 0xffu) == 0u) {
        depth_map[at] = vec4(0.0);
    }
}
