// One column of 16 pixels a thread, with its 16 pixels' state in registers.
//
// The loops over rows are written out by macros because arrays stay in registers only under constant indices. Rows come in
// fours; a four that a splat reaches in no column of a subgroup is skipped by a loop of zero or one turn, because CPU
// drivers turn a branch into a mask and do its work anyway, while a loop ends when no lane wants it. `UNROLLED` has
// branches: what is not finite in a splat must not reach rows that it does not.

#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

#define FOUR_ROWS(A, B, C, D, DO) \
    for (uint turn = 0u; turn < (UNROLLED != 0u || (reach.x <= D && reach.y >= A) ? 1u : 0u); ++turn) { \
        if (UNROLLED == 0u || (reach.x <= D && reach.y >= A)) { \
            DO(A) DO(B) DO(C) DO(D) \
        } \
    }

#define EACH_REACHED_ROW(DO) \
    FOUR_ROWS(0, 1, 2, 3, DO) FOUR_ROWS(4, 5, 6, 7, DO) FOUR_ROWS(8, 9, 10, 11, DO) FOUR_ROWS(12, 13, 14, 15, DO)

// First and last row of the tile that a splat can reach in column x with an alpha of 1/255; empty when first > last.
//
// With d = mean - pixel and t = 2 ln(255 opacity) the rows are those with A dx^2 + 2 B dx dy + C dy^2 <= t. The determinant
// is taken low by what rounding can cost it, which makes the interval longer and never shorter.
ivec2 row_reach(vec4 position, vec3 conic, uint x, uint origin_y, uint rows) {
    float ac = conic.x * conic.z;
    float det = max(ac - conic.y * conic.y - 1e-6 * ac, 0.0);
    float dx = position.x - float(x);
    float within = 1.001 * 2.0 * log(255.0 * position.w) * conic.z - det * dx * dx;
    float inverse = 1.0 / conic.z;
    float reach = within < 0.0 ? -1.0 : sqrt(within) * inverse + 0.01;
    float middle = position.y + conic.y * dx * inverse - float(origin_y);
    // Clamped before the conversion: a reach may exceed every integer.
    return ivec2(int(clamp(ceil(middle - reach), 0.0, 16.0)), int(clamp(floor(middle + reach), -1.0, float(rows) - 1.0)));
}
