// Sums of a term and of what it is counted over.

shared vec2 joined[256];

// Sum over a group of 256, in a fixed order.
vec2 group_sum(vec2 value) {
    uint lane = gl_LocalInvocationIndex;
    joined[lane] = value;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            joined[lane] += joined[lane + half_size];
        }
        barrier();
    }
    vec2 sum = joined[0];
    barrier();
    return sum;
}
