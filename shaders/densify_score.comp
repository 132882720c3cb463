#version 450
#extension GL_GOOGLE_include_directive : require
// Mean gradient and mean abs statistic of every Gaussian, and how many reach the gradient threshold.
#include "common/group.glsl"
#include "common/densify.glsl"
#include "common/scan.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) restrict buffer Control { DensifyControl control; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Statistics { float statistics[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Gradients { uint gradients[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer Keys { uint keys[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    float threshold;
    float clone_max;  // world units
};

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.count > first ? min(control.count - first, stride) : 0u;
    bool above = false;
    if (i < count) {
        float steps = statistics[PLANE_COUNT * stride + i];
        float gradient = steps > 0.0 ? statistics[i] / steps : 0.0;
        float abs_value = steps > 0.0 ? statistics[stride + i] / steps : 0.0;
        above = gradient >= threshold;
        vec3 scale = exp(vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                              geometry[(PLANE_SCALES + 2u) * stride + i]));
        bool large = max(max(scale.x, scale.y), scale.z) > clone_max;
        gradients[i] = floatBitsToUint(gradient) | (large ? MARK : 0u);
        keys[i] = floatBitsToUint(abs_value);
    }
    uint total;
    group_exclusive_scan(above ? 1u : 0u, total);
    if (gl_LocalInvocationIndex == 0u && total > 0u) {
        // A sum of integers: the same in any order.
        atomicAdd(control.above, total);
    }
}
