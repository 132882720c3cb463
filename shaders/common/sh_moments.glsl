// First and second moment of SH value `p` of Gaussian `i` from their codes; `base` is that of its scale. The includer binds
// `sh_m` and `sh_v` and defines STRIDE.

vec2 sh_moments(uint p, uint i, int base) {
    uint at = (p >> 1) * STRIDE + i;
    int shift = int(16u * (p & 1u));
    float v = second_value(bitfieldExtract(sh_v[at + STRIDE], shift, 16), base);
    return vec2(ratio16_value(bitfieldExtract(int(sh_m[at]), shift, 16)) * sqrt(v), v);
}
