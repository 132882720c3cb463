// Zero moments and statistics of Gaussian `i`: one that was never updated nor seen. The includer binds them and pushes
// `stride` and the planes of the moments.

const uint STATISTICS_PLANES = 3u;  // planes of the statistics

void clear_state(uint i) {
    // Every code of 0 is the word 0.
    for (uint p = 0u; p < geometry_m_planes; ++p) {
        geometry_m[p * stride + i] = 0u;
    }
    for (uint p = 0u; p < geometry_v_planes; ++p) {
        geometry_v[p * stride + i] = 0u;
    }
    for (uint p = 0u; p < sh_m_planes; ++p) {
        sh_m[p * stride + i] = 0u;
    }
    for (uint p = 0u; p < sh_v_planes; ++p) {
        sh_v[p * stride + i] = 0u;
    }
    for (uint p = 0u; p < STATISTICS_PLANES; ++p) {
        statistics[p * stride + i] = 0.0;
    }
}
