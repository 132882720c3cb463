// Sum over a group of 256, in a fixed order. `SUMMED` is what is summed; with `SEVERAL_SUMS` one may follow another.

shared SUMMED joined[256];

SUMMED group_sum(SUMMED value) {
    uint lane = gl_LocalInvocationIndex;
    joined[lane] = value;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            joined[lane] += joined[lane + half_size];
        }
        barrier();
    }
#ifdef SEVERAL_SUMS
    SUMMED sum = joined[0];
    barrier();
    return sum;
#else
    return joined[0];
#endif
}
