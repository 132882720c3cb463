// Exclusive prefix sum over the 256 threads of a group, without subgroup operations.

shared uint scan_words[256];

// Returns the sum of `value` over lower threads; `total` becomes the sum over all.
uint group_exclusive_scan(uint value, out uint total) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    scan_words[lane] = value;
    barrier();
    uint sum = value;
    for (uint step = 1u; step < 256u; step <<= 1u) {
        uint other = lane >= step ? scan_words[lane - step] : 0u;
        barrier();
        sum += other;
        scan_words[lane] = sum;
        barrier();
    }
    total = scan_words[255];
    return sum - value;
}
