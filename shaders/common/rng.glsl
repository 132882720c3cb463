// Counter-based random numbers, the same bits as `twins/rng.rs`: PCG-RXS-M-XS-32 (O'Neill 2014) used as a hash, as
// evaluated by Jarzynski and Olano 2020.

uint rng_hash(uint value) {
    uint state = value * 747796405u + 2891336453u;
    uint word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

uint rng_bits(uint seed, uint step, uint id, uint channel) {
    uint h = rng_hash(seed);
    h = rng_hash(h + step);
    h = rng_hash(h + id);
    return rng_hash(h + channel);
}

// Uniform in (0, 1), exact: 23 bits and a half.
float rng_uniform(uint seed, uint step, uint id, uint channel) {
    return (float(rng_bits(seed, step, id, channel) >> 9) + 0.5) / 8388608.0;
}

// cos(2 pi u) for u in [0, 1] as -sin(2 pi b), b in [-1/4, 1/4]: an odd polynomial good to 6e-8, because the built-in
// cosine may be off by 5e-4.
float cos_turns(float u) {
    float x = 6.283185307179586 * (0.25 - abs(u - 0.5));
    float y = x * x;
    float series = -1.0 / 39916800.0;
    series = series * y + 1.0 / 362880.0;
    series = series * y - 1.0 / 5040.0;
    series = series * y + 1.0 / 120.0;
    series = series * y - 1.0 / 6.0;
    return -(x + x * y * series);
}

// Standard normal by Box and Muller 1958, cosine branch.
float rng_normal(uint seed, uint step, uint id, uint channel) {
    float radius = sqrt(-2.0 * log(rng_uniform(seed, step, id, 2u * channel)));
    return radius * cos_turns(rng_uniform(seed, step, id, 2u * channel + 1u));
}
