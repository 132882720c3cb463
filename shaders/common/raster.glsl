// What forward and backward rasterisation must agree on: a splat's alpha at a pixel.

const float ALPHA_MIN = 1.0 / 255.0;
const float ALPHA_MAX = 0.99;
const float TRANSMITTANCE_STOP = 1e-4;

// Exponent of the Gaussian at offset d = mean - pixel; `precise` so that both passes take the same branches.
float splat_power(vec3 conic, vec2 d) {
    precise float power = -0.5 * (conic.x * d.x * d.x + conic.z * d.y * d.y) - conic.y * d.x * d.y;
    return power;
}
