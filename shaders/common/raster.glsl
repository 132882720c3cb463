// What forward and backward rasterisation must agree on: a splat's alpha at a pixel.

const float ALPHA_MIN = 1.0 / 255.0;
const float ALPHA_MAX = 0.99;
const float TRANSMITTANCE_STOP = 1e-4;

// Exponent of the Gaussian at offset d = mean - pixel; `precise` so that both passes take the same branches.
float splat_power(vec3 conic, vec2 d) {
    precise float power = -0.5 * (conic.x * d.x * d.x + conic.z * d.y * d.y) - conic.y * d.x * d.y;
    return power;
}

// Sub-pixel offset of the sample when ray jitter is on: uniform in [-0.5, 0.5)^2, keyed by step and pixel.
uint hash_word(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

vec2 pixel_jitter(uint seed, uint iteration, uint pixel) {
    uint key = hash_word(seed ^ hash_word(iteration ^ hash_word(pixel)));
    return vec2(float(key & 0xffffu), float(key >> 16)) / 65536.0 - 0.5;
}
