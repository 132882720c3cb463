#version 450
#extension GL_GOOGLE_include_directive : require
// Which samples of a step are of which Gaussian. The visible Gaussians share `samples` of them equally, in the order of ids:
// the v-th of V has those from floor((v samples + o) / V) on, with an offset o that is drawn for the step. So each has as many
// as any other but one, and its expected number is samples / V, as if they were drawn one by one.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer FirstSample { uint first_sample[]; };  // one more than Gaussians
layout(set = 0, binding = 5, std430) writeonly restrict buffer Owners { uint owners[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
    uint samples;
};

#include "common/rng.glsl"

const uint CHANNEL_OFFSET = 12u;

// floor((a b + c) / d) for a quotient of 32 bits.
uint mul_add_div(uint a, uint b, uint c, uint d) {
    uint high, low, carry;
    umulExtended(a, b, high, low);
    low = uaddCarry(low, c, carry);
    uint rest = high + carry;
    uint quotient = 0u;
    for (uint bit = 32u; bit-- > 0u;) {
        bool over = (rest & 0x80000000u) != 0u;
        rest = (rest << 1) | ((low >> bit) & 1u);
        if (over || rest >= d) {
            rest -= d;
            quotient |= 1u << bit;
        }
    }
    return quotient;
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || (u.flags & FLAG_DENSITY) == 0u || i >= count) {
        return;
    }
    uint visible = counters.visible;
    uint begin = 0u, end = 0u;
    if (visible > 0u) {
        uint word = visible_mask[group * 8u + (lane >> 5)];
        uint rank = group_visible[first_group + group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
        for (uint w = 0u; w < (lane >> 5); ++w) {
            rank += uint(bitCount(visible_mask[group * 8u + w]));
        }
        uint offset = rng_bits(u.seed, u.iteration, 0u, CHANNEL_OFFSET) % visible;
        begin = mul_add_div(rank, samples, offset, visible);
        end = begin;
        if ((word & (1u << (lane & 31u))) != 0u) {
            end = mul_add_div(rank + 1u, samples, offset, visible);
        }
    }
    first_sample[first + i] = begin;
    if (first + i + 1u == counters.gaussians) {
        first_sample[first + i + 1u] = visible > 0u ? samples : 0u;
    }
    for (uint s = begin; s < end; ++s) {
        owners[s] = first + i;
    }
}
