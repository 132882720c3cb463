// Where the patches of a step are. Expects `patches.glsl` and `rng.glsl`.

const uint CHANNEL_PATCH = 14u;  // of the draw of a patch's pixel

// Pixel of patch `k`: one of those that share it, by chance. That of the last may lie beyond the image.
uint patch_pixel(uint k) {
    uint share = patch_share();
    return k * share + rng_bits(u.seed, u.iteration, k, CHANNEL_PATCH) % share;
}
