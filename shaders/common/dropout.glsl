// Gaussians that a training step leaves out: a share `u.dropout` of them, by seed, iteration and id alone, the same as
// `twins/dropout.rs`. Expects `rng.glsl` and a uniform block `u`.

const uint CHANNEL_DROPOUT = 0x44524f50u;  // apart from the channels of everything else that Gaussians draw

bool dropped(uint id) {
    return u.dropout > 0.0 && rng_uniform(u.seed, u.iteration, id, CHANNEL_DROPOUT) < u.dropout;
}
