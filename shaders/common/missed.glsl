// Adam's steps without a gradient, many at once: what spherical harmonics out of view miss. `kernels/catch_up.rs` has the
// table, `twins/catch_up.rs` the twin. The includer binds `Uniforms { StepUniforms u; vec4 rates[]; }`.
//
// Row n of the table is two vectors: (B0, B1, b1^n, b2^n) and (r0, r1, s, q^n). r and s are Adam's step size and the factor
// of the second moment's root in step n, for degree 0 and for the others; q = b1 / sqrt(b2); and B(n) is the sum of
// q^j r(n + j) / s(n + j) over all j > 0, so that k steps after the first n move a value by
// -(m / sqrt(v)) (B(n) - q^k B(n + k)).

// Where the root of a second moment is below this many epsilons, epsilon counts.
const float EPSILONS = 4e6;
const uint FEW_STEPS = 8u;  // of so few steps the sum is taken as such: the difference of two B would lose a digit
// Share of a first moment that is left when the steps after it no longer count.
const float SPENT = 1.5e-8;

struct Missed {
    uint from;      // steps it took part in
    uint steps;     // steps since then, before this one
    vec2 sums;      // of degree 0, of the others
    float first;    // what is left of first moments
    float second;   // and of second ones
};

// Of a Gaussian that took part in the first `seen` steps.
Missed missed_since(float seen) {
    Missed d;
    d.from = uint(seen);
    d.steps = u.sh_steps - d.from;
    vec4 powers = rates[2u * d.steps];
    d.first = powers.z;
    d.second = powers.w;
    d.sums = vec2(0.0);
    if (d.steps <= FEW_STEPS) {
        float q = rates[3].w, weight = 1.0;
        for (uint j = 1u; j <= d.steps; ++j) {
            vec4 row = rates[2u * (d.from + j) + 1u];
            weight *= q;
            d.sums += weight * (row.xy / row.z);
        }
    } else {
        d.sums = rates[2u * d.from].xy - rates[2u * d.steps + 1u].w * rates[2u * u.sh_steps].xy;
    }
    return d;
}

// By how much the missed steps lower a value of degree 0, or of a higher one.
float missed_change(Missed d, bool higher, float m, float v) {
    float root = sqrt(v);
    if (root >= EPSILONS * u.epsilon) {
        return (higher ? d.sums.y : d.sums.x) * (m / root);
    }
    float change = 0.0, m_then = m;
    for (uint j = 1u; j <= d.steps && abs(m_then) > SPENT * abs(m); ++j) {
        // Powers from the table: products of many factors would add up their roundings.
        vec4 powers = rates[2u * j];
        m_then = powers.z * m;
        vec4 row = rates[2u * (d.from + j) + 1u];
        change += (higher ? row.y : row.x) * (m_then / (sqrt(powers.w * v) * row.z + u.epsilon));
    }
    return change;
}
