// What forward and backward rasterisation must agree on: a splat's alpha at a pixel.

const float ALPHA_MIN = 1.0 / 255.0;
const float ALPHA_MAX = 0.99;
const float TRANSMITTANCE_STOP = 1e-4;

// Factors of dx^2, dx dy and dy^2 in the exponent of two that a conic makes.
vec3 scaled_conic(vec3 conic) {
    const float LOG2_E = 1.4426950408889634;
    return vec3(-0.5 * LOG2_E * conic.x, -LOG2_E * conic.y, -0.5 * LOG2_E * conic.z);
}

// Binary exponent of the Gaussian at offset d = mean - pixel, from a scaled conic; `precise` so that both passes take the
// same branches.
float scaled_power(vec3 scaled, vec2 d) {
    precise float power = fma(d.x, fma(scaled.x, d.x, scaled.y * d.y), scaled.z * d.y * d.y);
    return power;
}

// Alpha at a sample whose exponent is `power`, before the tests. Far below the least alpha that counts, exponents are cut:
// numbers that small become denormal ones, which cost CPU drivers a hundred times as much.
float alpha_of(float opacity, float power) {
    return min(ALPHA_MAX, opacity * exp2(max(power, -16.0)));
}
