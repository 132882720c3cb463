// Group counts of the per-chunk passes for `n` Gaussians, written by the whole group. The includer binds `args` and pushes
// `chunks` and `chunk_gaussians`.

void write_chunk_args(uint n) {
    for (uint c = gl_LocalInvocationIndex; c < chunks; c += gl_WorkGroupSize.x) {
        uint first = c * chunk_gaussians;
        uint count = n > first ? min(n - first, chunk_gaussians) : 0u;
        args[ARGS_CHUNKS + c] = uvec4(fold_groups((count + 255u) / 256u), 0u);
    }
}
