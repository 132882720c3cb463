#version 450
// Perceptual difference of one tap (Zhang et al. 2018, eq. 1): both feature vectors of a pixel divided by their length
// plus 1e-10, squared difference, weighted sum over channels, summed over a rectangle of pixels. One sum a group; the
// host adds them up.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Features { float features[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Constants { float constants[]; };
layout(set = 0, binding = 2, std430) writeonly restrict buffer Sums { float sums[]; };

layout(push_constant) uniform Push {
    uint channels;
    uint width;
    uint in_row0;
    uint in_rows;
    uint x0;
    uint y0;
    uint columns;
    uint rows;
    uint linear_at;
    uint sums_at;
};

shared float reduce[64];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint plane = width * in_rows;
    float total = 0.0;
    for (uint i = gl_GlobalInvocationID.x; i < columns * rows; i += gl_NumWorkGroups.x * 64u) {
        uint a = (y0 + i / columns - in_row0) * width + x0 + i % columns;
        uint b = a + channels * plane;
        float squares_a = 0.0, squares_b = 0.0;
        for (uint c = 0u; c < channels; ++c) {
            float va = features[a + c * plane], vb = features[b + c * plane];
            squares_a += va * va;
            squares_b += vb * vb;
        }
        float length_a = sqrt(squares_a) + 1e-10, length_b = sqrt(squares_b) + 1e-10;
        for (uint c = 0u; c < channels; ++c) {
            float d = features[a + c * plane] / length_a - features[b + c * plane] / length_b;
            total += constants[linear_at + c] * d * d;
        }
    }
    reduce[lane] = total;
    barrier();
    for (uint half_size = 32u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            reduce[lane] += reduce[lane + half_size];
        }
        barrier();
    }
    if (lane == 0u) {
        sums[sums_at + gl_WorkGroupID.x] = reduce[0];
    }
}
