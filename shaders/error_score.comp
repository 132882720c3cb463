#version 450
#extension GL_GOOGLE_include_directive : require
// Scores of the strategy `error_guided`: the product of a Gaussian's splatted error and mean abs gradient, each to an
// exponent. The key of a Gaussian that may be cloned or split is its score's bits plus one, of every other 0.
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
    float error_exponent;
    float abs_exponent;
    float opacity_min;  // the fainter die
    float copy_max;     // world units; larger ones are split
};

float power(float x, float exponent) {
    return exponent == 0.0 ? 1.0 : (x > 0.0 ? exp(exponent * log(x)) : 0.0);
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = control.count > first ? min(control.count - first, stride) : 0u;
    bool selected = false;
    if (i < count) {
        float steps = statistics[PLANE_COUNT * stride + i];
        float pull = steps > 0.0 ? statistics[stride + i] / steps : 0.0;
        float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
        float score = min(power(statistics[i], error_exponent) * power(pull, abs_exponent), 1e30);
        selected = score > 0.0 && opacity >= opacity_min;
        vec3 scale = exp(vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                              geometry[(PLANE_SCALES + 2u) * stride + i]));
        gradients[i] = max(max(scale.x, scale.y), scale.z) > copy_max ? MARK : 0u;
        keys[i] = selected ? floatBitsToUint(score) + 1u : 0u;
    }
    uint total;
    group_exclusive_scan(selected ? 1u : 0u, total);
    if (gl_LocalInvocationIndex == 0u && total > 0u) {
        // A sum of integers: the same in any order.
        atomicAdd(control.selected, total);
    }
}
