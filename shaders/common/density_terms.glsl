// The part of one Gaussian in the density at a place, and in the normal there. Expects `density.glsl`.

const float LEAST_WEIGHT = 1e-6;  // sums of weights and least deviations below it count as this

// The thinnest axis, the first of equal ones.
uint thin_axis(vec3 inverse) {
    return inverse.x >= inverse.y ? (inverse.x >= inverse.z ? 0u : 2u) : (inverse.y >= inverse.z ? 1u : 2u);
}

// A column of the rotation.
vec3 axis_of(vec4 rotation, uint axis) {
    return rotated(rotation, vec3(axis == 0u ? 1.0 : 0.0, axis == 1u ? 1.0 : 0.0, axis == 2u ? 1.0 : 0.0));
}

struct Share {
    float amount;   // a e^(-q / 2)
    float bell;     // e^(-q / 2)
    vec3 whitened;  // S^-1 R^T (p - mu)
    vec3 steep;     // R S^-2 R^T (p - mu)
    float least;    // least standard deviation
    vec3 normal;    // across the thinnest axis
    float weight;   // in the mean normal
};

Share share_of(vec4 center, vec4 rotation, vec3 inverse, vec3 place) {
    Share share;
    share.whitened = whitened(rotation, inverse, place - center.xyz);
    share.bell = exp(-0.5 * min(dot(share.whitened, share.whitened), MOST_EXPONENT));
    share.amount = center.w * share.bell;
    share.steep = rotated(rotation, inverse * share.whitened);
    uint thin = thin_axis(inverse);
    share.least = 1.0 / inverse[thin];
    share.normal = axis_of(rotation, thin);
    float most = max(share.least, LEAST_WEIGHT);
    share.weight = share.amount * abs(share.whitened[thin]) * share.least / (most * most);
    return share;
}
