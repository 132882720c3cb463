// Exclusive prefix sum over the 256 threads of a group, without subgroup operations: 16 threads add up 16 words each, then every
// thread adds up what is before its 16. Three barriers, which is what such a sum costs on drivers that run threads in turns.

shared uint scan_words[16 * 17];  // rows of 16, one word apart from each other in banks
shared uint scan_sums[16];

// Returns the sum of `value` over lower threads; `total` becomes the sum over all.
uint group_exclusive_scan(uint value, out uint total) {
    uint lane = gl_LocalInvocationIndex;
    uint row = lane >> 4;
    barrier();
    scan_words[lane + row] = value;
    barrier();
    if (lane < 16u) {
        uint sum = 0u;
        for (uint k = 0u; k < 16u; ++k) {
            uint word = scan_words[lane * 17u + k];
            scan_words[lane * 17u + k] = sum;
            sum += word;
        }
        scan_sums[lane] = sum;
    }
    barrier();
    uint before = 0u;
    total = 0u;
    for (uint k = 0u; k < 16u; ++k) {
        before += k < row ? scan_sums[k] : 0u;
        total += scan_sums[k];
    }
    return before + scan_words[lane + row];
}
