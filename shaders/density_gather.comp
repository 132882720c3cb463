#version 450
#extension GL_GOOGLE_include_directive : require
// What the density's terms want of each Gaussian of a chunk: of its samples' places and its normal as the Gaussian that they are
// of, and of its part in the density around the samples of those whose neighbour it is. Every Gaussian collects in the order of
// ids, so nothing is scattered and sums are the same every time.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer FirstSample { uint first_sample[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Centers { vec4 centers[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Rotations { vec4 rotations[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Inverses { vec4 inverses[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Starts { uint starts[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer NeighborOf { uint neighbor_of[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer SamplePlace { vec4 sample_place[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer SamplePull { vec4 sample_pull[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer SampleNormal { vec4 sample_normal[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer SampleValue { vec4 sample_value[]; };
// Planes: by the centre, by a rotation about the axes of the world, by the logs of the deviations, by the opacity.
layout(set = 0, binding = 12, std430) writeonly restrict buffer TermGradient { float term_gradient[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};

#include "common/density.glsl"
#include "common/density_terms.glsl"

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || (u.flags & FLAG_DENSITY) == 0u || i >= count) {
        return;
    }
    uint id = first + i;
    vec4 center = centers[id];
    vec4 rotation = rotations[id];
    vec3 inverse = inverses[id].xyz;
    uint thin = thin_axis(inverse);
    vec3 normal = axis_of(rotation, thin);

    vec3 by_center = vec3(0.0), by_turn = vec3(0.0), by_scale = vec3(0.0);
    float by_opacity = 0.0;
    uint end = first_sample[id + 1u];
    for (uint s = first_sample[id]; s < end; ++s) {
        vec3 pull = sample_pull[s].xyz;
        vec3 from = sample_place[s].xyz - center.xyz;
        by_center += pull;
        by_turn += cross(from, pull) + cross(normal, sample_normal[s].xyz);
        by_scale += unrotated(rotation, from) * unrotated(rotation, pull);
        by_scale[thin] += sample_value[s].x;
    }
    uint last = starts[id + 1u];
    for (uint entry = starts[id]; entry < last; ++entry) {
        uint g = neighbor_of[entry];
        uint begin = first_sample[g];
        end = first_sample[g + 1u];
        if (begin == end) {
            continue;
        }
        vec3 other = axis_of(rotations[g], thin_axis(inverses[g].xyz));
        float turn = dot(normal, other) < 0.0 ? -1.0 : 1.0;
        for (uint s = begin; s < end; ++s) {
            vec4 place = sample_place[s];
            vec4 by_normal = sample_normal[s];
            Share share = share_of(center, rotation, inverse, place.xyz);
            float by_amount = place.w * share.amount;
            by_center += by_amount * share.steep;
            by_turn += by_amount * cross(place.xyz - center.xyz, share.steep);
            by_scale += by_amount * share.whitened * share.whitened;
            by_scale[thin] += sample_pull[s].w * share.least;
            by_opacity += place.w * share.bell;
            by_turn -= (turn * share.weight * by_normal.w) * cross(normal, by_normal.xyz);
        }
    }
    float mean = 1.0 / max(float(counters.density_samples), 1.0);
    for (uint axis = 0u; axis < 3u; ++axis) {
        term_gradient[axis * stride + i] = mean * by_center[axis];
        term_gradient[(3u + axis) * stride + i] = mean * by_turn[axis];
        term_gradient[(6u + axis) * stride + i] = mean * by_scale[axis];
    }
    term_gradient[9u * stride + i] = mean * by_opacity;
}
