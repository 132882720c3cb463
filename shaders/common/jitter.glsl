// Sub-pixel offset of a training sample under ray jitter: uniform in [-0.5, 0.5)^2, a function of seed, step and pixel
// alone, so that forward, backward and loss find the same one. Expects `rng.glsl` and a uniform block `u`.

const uint CHANNEL_JITTER = 0x4a495454u;  // apart from the channels that Gaussians of the same number draw from

vec2 sample_offset(uint pixel) {
    if ((u.flags & FLAG_RAY_JITTER) == 0u) {
        return vec2(0.0);
    }
    uint bits = rng_bits(u.seed, u.iteration, pixel, CHANNEL_JITTER);
    return vec2(float(bits & 0xffffu), float(bits >> 16)) / 65536.0 - 0.5;
}
