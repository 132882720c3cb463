#version 450
#extension GL_GOOGLE_include_directive : require
// Noise on the centres of faint Gaussians (3DGS-MCMC, Kheradmand et al. 2024, equation 8): mean += noise gate Sigma n with
// n standard normal and gate = 1 / (1 + exp(100 (opacity - 0.005))). Steps that leave the centres alone add none.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/rng.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Geometry { float geometry[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};
#include "common/rotate.glsl"

const uint CHANNEL_NOISE = 32u;  // channel of the noise, plus the axis; a normal draws from two channels of `common/rng.glsl`
const float GATE_SLOPE = 100.0;
const float GATE_OPACITY = 0.005;
const float GATE_END = 25.0;  // exp(-25) of the noise is not worth reading the rest

// Sigma n = R S^2 R^T n, and R^T n is as normal as n: it is drawn in the Gaussian's own axes.
void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    bool runs = (u.flags & FLAG_UPDATE) != 0u && (u.adam_skip_mask & (1u << GROUP_MEANS)) == 0u && u.noise > 0.0;
    if (counters.stalled != 0u || i >= count || !runs) {
        return;
    }
    float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
    float excess = GATE_SLOPE * (opacity - GATE_OPACITY);
    if (excess > GATE_END) {
        return;
    }
    float amount = u.noise / (1.0 + exp(excess));
    vec3 offset;
    for (uint c = 0u; c < 3u; ++c) {
        float scale = exp(geometry[(PLANE_SCALES + c) * stride + i]);
        offset[c] = amount * scale * scale * rng_normal(u.seed, u.iteration, first + i, CHANNEL_NOISE + c);
    }
    offset = rotate_by(i, offset);
    for (uint c = 0u; c < 3u; ++c) {
        geometry[c * stride + i] += offset[c];
    }
}
