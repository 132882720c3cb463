// Brings the SH of one Gaussian and their moments up to the step before this one. The includer binds `sh`, `sh_m` and `sh_v`,
// defines STRIDE, SEEN (the plane of `sh_v` that counts the steps a Gaussian took part in, f32) and includes
// `common/missed.glsl`; for codes `common/codes.glsl` and `common/sh_moments.glsl` too.

float seen_steps(uint i) {
#ifdef CODES
    return uintBitsToFloat(sh_v[SEEN * STRIDE + i]);
#else
    return sh_v[SEEN * STRIDE + i];
#endif
}

void set_seen_steps(uint i, uint steps) {
#ifdef CODES
    sh_v[SEEN * STRIDE + i] = floatBitsToUint(float(steps));
#else
    sh_v[SEEN * STRIDE + i] = float(steps);
#endif
}

// The first `coefficients`; the others have no moments. `id` counts over all chunks.
void catch_up(uint i, uint id, uint coefficients) {
    Missed d = missed_since(seen_steps(i));
    if (d.steps == 0u) {
        return;
    }
#ifdef CODES
    float scale = uintBitsToFloat(sh_v[i]);
    float new_scale = scale * d.second;
    // Nothing was ever seen of a Gaussian with a scale of 0: its moments are 0.
    if (new_scale > 0.0) {
        uint stream = rounding_draw(rounding_stream(u.seed, u.iteration, id), CHANNEL_CATCH_UP);
        int base = second_base(scale), new_base = second_base(new_scale);
        for (uint q = 0u; q < 12u; ++q) {
            if (4u * q < 3u * coefficients) {
                uint at = 2u * q * STRIDE + i;
                uvec2 words = uvec2(sh[at], sh[at + STRIDE]);
                vec4 values = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
                uvec2 m_words = uvec2(sh_m[at], sh_m[at + STRIDE]);
                uvec2 v_words = uvec2(sh_v[at + STRIDE], sh_v[at + 2u * STRIDE]);
                uvec2 draws = uvec2(rounding_draw(stream, CHANNEL_SH + 2u * q),
                                    rounding_draw(stream, CHANNEL_SH + 2u * q + 1u));
                for (uint j = 0u; j < 4u; ++j) {
                    uint p = 4u * q + j;
                    if (p < 3u * coefficients) {
                        vec2 moments = sh_moments(p, i, base);
                        float value = values[j] - missed_change(d, p >= 3u, moments.x, moments.y);
                        uint half_draw = draws[j >> 1] >> (16u * (j & 1u)) & 0xffffu;
                        words[j >> 1] = bitfieldInsert(words[j >> 1], half_code(value, half_draw),
                                                       int(16u * (j & 1u)), 16);
                        uint draw = rounding_draw(stream, CHANNEL_SH_MOMENTS + p);
                        uint v_code = second_code(moments.y * d.second, new_base, draw >> 16);
                        float ratio = moments.x * d.first * over_root(second_value(v_code, new_base));
                        int shift = int(16u * (j & 1u));
                        v_words[j >> 1] = bitfieldInsert(v_words[j >> 1], v_code, shift, 16);
                        m_words[j >> 1] = bitfieldInsert(m_words[j >> 1], uint(ratio16_code(ratio, draw & 0xffffu)),
                                                         shift, 16);
                    }
                }
                sh[at] = words.x;
                sh[at + STRIDE] = words.y;
                sh_m[at] = m_words.x;
                sh_m[at + STRIDE] = m_words.y;
                sh_v[at + STRIDE] = v_words.x;
                sh_v[at + 2u * STRIDE] = v_words.y;
            }
        }
        sh_v[i] = floatBitsToUint(new_scale);
    }
#else
    for (uint p = 0u; p < 48u; ++p) {
        if (p < 3u * coefficients) {
            uint at = p * STRIDE + i;
            float m = sh_m[at], v = sh_v[at];
            sh[at] -= missed_change(d, p >= 3u, m, v);
            sh_m[at] = m * d.first;
            sh_v[at] = v * d.second;
        }
    }
#endif
    set_seen_steps(i, u.sh_steps);
}
