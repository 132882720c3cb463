// Adam's steps without a gradient, many at once: what spherical harmonics out of view miss. `kernels/catch_up.rs` has the
// table, `twins/catch_up.rs` the twin. The includer binds `Uniforms { StepUniforms u; vec4 rates[]; }`.
//
// Row n of the table is three vectors: (B0, B1, b1^n, b2^n), (r0, r1, s, q^n) and (C0, C1, p^n, -). r and s are Adam's step size
// and the factor of the second moment's root in step n, for degree 0 and for the others; q = b1 / sqrt(b2); and B(n) is the sum
// of q^j r(n + j) / s(n + j) over all j > 0, so that k steps after the first n move a value by
// -(m / sqrt(v)) (B(n) - q^k B(n + k)) where there is no epsilon. C is the same with s^2 and p = b1 / b2: what an epsilon takes
// away from it is, times epsilon / sqrt(v), the difference of C.

// Where the root of a second moment is below this many epsilons, more than the first power of epsilon over the root counts.
const float EPSILONS = 4e3;
const uint ROW = 3u;  // vectors of a row
const uint FEW_STEPS = 8u;  // of so few steps the sum is taken as such: the difference of two B would lose a digit
// Share of a first moment that is left when the steps after it no longer count.
const float SPENT = 1.5e-8;

struct Missed {
    uint from;      // steps it took part in
    uint steps;     // steps since then, before this one
    vec2 sums;      // of degree 0, of the others
    vec2 squares;   // the same with s^2, times epsilon
    float first;    // what is left of first moments
    float second;   // and of second ones
};

// Of a Gaussian that took part in the first `seen` steps.
Missed missed_since(float seen) {
    Missed d;
    d.from = uint(seen);
    d.steps = u.sh_steps - d.from;
    vec4 powers = rates[ROW * d.steps];
    d.first = powers.z;
    d.second = powers.w;
    d.sums = d.squares = vec2(0.0);
    if (d.steps <= FEW_STEPS) {
        float q = rates[ROW + 1u].w, p = rates[ROW + 2u].z;
        float weight = 1.0, weight_squares = 1.0;
        for (uint j = 1u; j <= d.steps; ++j) {
            vec4 row = rates[ROW * (d.from + j) + 1u];
            weight *= q;
            weight_squares *= p;
            vec2 term = row.xy / row.z;
            d.sums += weight * term;
            d.squares += weight_squares * (term / row.z);
        }
    } else {
        d.sums = rates[ROW * d.from].xy - rates[ROW * d.steps + 1u].w * rates[ROW * u.sh_steps].xy;
        d.squares = rates[ROW * d.from + 2u].xy - rates[ROW * d.steps + 2u].z * rates[ROW * u.sh_steps + 2u].xy;
    }
    d.squares *= u.epsilon;
    return d;
}

// By how much the missed steps lower a value of degree 0, or of a higher one.
float missed_change(Missed d, bool higher, float m, float v) {
    float root = sqrt(v);
    if (root >= EPSILONS * u.epsilon) {
        float inverse = 1.0 / root;
        return ((higher ? d.sums.y : d.sums.x) - (higher ? d.squares.y : d.squares.x) * inverse) * (m * inverse);
    }
    float change = 0.0, m_then = m;
    for (uint j = 1u; j <= d.steps && abs(m_then) > SPENT * abs(m); ++j) {
        // Powers from the table: products of many factors would add up their roundings.
        vec4 powers = rates[ROW * j];
        m_then = powers.z * m;
        vec4 row = rates[ROW * (d.from + j) + 1u];
        change += (higher ? row.y : row.x) * (m_then / (sqrt(powers.w * v) * row.z + u.epsilon));
    }
    return change;
}
