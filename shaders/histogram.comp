#version 450
#extension GL_GOOGLE_include_directive : require
// Counts all Gaussians into 64 bins by opacity, scale (each axis), length of the quaternion and distance from the origin.
//
// Opacity has even bins over [0, 1]. The others have bins between floats that share their leading bits, so that a bin is
// a shift of the bits: exact, and evenly spaced within each octave. What lies outside goes to the first or last bin; what
// is not a number is not counted.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 2, std430) restrict buffer Histogram { uint histogram[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
};

const uint BINS = 64u;
const uint OPACITY = 0u;
const uint SCALE = 1u;
const uint ROTATION = 2u;
const uint DISTANCE = 3u;
const uint INFINITY_BITS = 0x7f800000u;

// Leading bits of a bin's lower edge: all but `SHIFT` mantissa bits, less `LEAST` for the first bin.
const uint SCALE_SHIFT = 22u;     // 2 bins an octave from 2^-20
const uint SCALE_LEAST = 214u;
const uint ROTATION_SHIFT = 20u;  // 8 bins an octave from 2^-4
const uint ROTATION_LEAST = 984u;
const uint DISTANCE_SHIFT = 21u;  // 4 bins an octave from 2^-6
const uint DISTANCE_LEAST = 484u;

shared uint bins[256];

void count(uint quantity, uint bin) {
    atomicAdd(bins[quantity * BINS + bin], 1u);
}

// `value` is not negative.
void count_by_bits(uint quantity, float value, uint shift, uint least) {
    uint bits = floatBitsToUint(value);
    if (bits <= INFINITY_BITS) {
        count(quantity, clamp(bits >> shift, least, least + BINS - 1u) - least);
    }
}

float plane(uint index, uint i) {
    return geometry[index * stride + i];
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    bins[lane] = 0u;
    barrier();
    uint i = group_index() * 256u + lane;
    uint n = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled == 0u && i < n) {
        float opacity = 1.0 / (1.0 + exp(-plane(10u, i)));
        if (floatBitsToUint(opacity) <= INFINITY_BITS) {
            count(OPACITY, min(uint(opacity * float(BINS)), BINS - 1u));
        }
        for (uint axis = 0u; axis < 3u; ++axis) {
            count_by_bits(SCALE, exp(plane(7u + axis, i)), SCALE_SHIFT, SCALE_LEAST);
        }
        vec4 quat = vec4(plane(3u, i), plane(4u, i), plane(5u, i), plane(6u, i));
        count_by_bits(ROTATION, sqrt(dot(quat, quat)), ROTATION_SHIFT, ROTATION_LEAST);
        vec3 mean = vec3(plane(0u, i), plane(1u, i), plane(2u, i));
        count_by_bits(DISTANCE, sqrt(dot(mean, mean)), DISTANCE_SHIFT, DISTANCE_LEAST);
    }
    barrier();
    if (bins[lane] != 0u) {
        atomicAdd(histogram[lane], bins[lane]);
    }
}
