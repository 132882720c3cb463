// Brings the SH of one Gaussian and their moments up to the step before this one. The includer binds `sh`, `sh_m` and `sh_v`,
// defines STRIDE, SEEN (the plane of `sh_v` that counts the steps a Gaussian took part in, f32) and includes
// `common/missed.glsl`.

float seen_steps(uint i) {
    return sh_v[SEEN * STRIDE + i];
}

void set_seen_steps(uint i, uint steps) {
    sh_v[SEEN * STRIDE + i] = float(steps);
}

// The first `coefficients`; the others have no moments.
void catch_up(uint i, uint coefficients) {
    Missed d = missed_since(seen_steps(i));
    if (d.steps == 0u) {
        return;
    }
    for (uint p = 0u; p < 48u; ++p) {
        if (p < 3u * coefficients) {
            uint at = p * STRIDE + i;
            float m = sh_m[at], v = sh_v[at];
            sh[at] -= missed_change(d, p >= 3u, m, v);
            sh_m[at] = m * d.first;
            sh_v[at] = v * d.second;
        }
    }
    set_seen_steps(i, u.sh_steps);
}
