// Coefficient `k` of Gaussian `i` from words of two halves each. The includer binds `sh` and defines STRIDE.

vec3 sh_words(uint k, uint i) {
    uint at = (3u * k / 2u) * STRIDE + i;
    vec2 a = unpackHalf2x16(sh[at]), b = unpackHalf2x16(sh[at + STRIDE]);
    return (k & 1u) == 0u ? vec3(a, b.x) : vec3(a.y, b);
}
