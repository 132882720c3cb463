// One pixel of each of `candidates` equal shares of the picture, at random in it. Expects `step.glsl`, `rng.glsl` and a
// uniform block `u`.

const uint CHANNEL_CANDIDATE = 11u;

// Pixel of candidate `k`, row by row; false behind the last, where there are fewer pixels than candidates.
bool candidate_pixel(uint k, uint candidates, out uint pixel) {
    uint pixels = u.width * u.height;
    uint count = min(candidates, pixels);
    pixel = 0u;
    if (k >= count) {
        return false;
    }
    uint share = pixels / count;
    uint longer = pixels % count;  // the first so many shares have one pixel more
    uint size = share + (k < longer ? 1u : 0u);
    pixel = k * share + min(k, longer) + rng_bits(u.seed, u.view, k, CHANNEL_CANDIDATE) % size;
    return true;
}
