// What losses of photos' maps share: a weight that fades, and sums over a group of 256. Expects a uniform block `u` and the push
// constants `start_weight`, `decay` and `from`.

float weight() {
    return u.iteration < from ? 0.0 : start_weight * exp(decay * float(u.iteration));
}

shared float joined[256];

float group_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    joined[lane] = value;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            joined[lane] += joined[lane + half_size];
        }
        barrier();
    }
    return joined[0];
}
