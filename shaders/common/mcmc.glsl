// What becomes of a Gaussian when n - 1 copies of it are made in its place (3DGS-MCMC, Kheradmand et al. 2024, equation 9):
// each of the n has opacity o' with (1 - o')^n = 1 - o, and scales that keep the integral of what a ray through their
// common centre sees across it,
//
//     s' = s o / D,   D = sum_{i=1..n} sum_{k=0..i-1} binom(i - 1, k) (-1)^k o'^(k+1) / sqrt(k + 1).
//
// The alternating sum loses all digits for many copies. It is the integral 1/sqrt(pi) of 1 - (1 - o' exp(-x^2))^n over x,
// and the trapezoidal rule on that is as exact as the numbers are.

// 1 - exp(-t) for t >= 0, without cancellation.
float one_minus_exp(float t) {
    return t < 0.01 ? t * (1.0 - t * (0.5 - t * (1.0 / 6.0))) : 1.0 - exp(-t);
}

// -log(1 - y) for 0 <= y < 1, without cancellation.
float minus_log_rest(float y) {
    return y < 0.01 ? y * (1.0 + y * (0.5 + y * (1.0 / 3.0 + 0.25 * y))) : -log(1.0 - y);
}

const float STEP = 0.125;
// exp(-25) of the opacity is left beyond.
const uint STEPS = 40u;

// Opacity of each of n, from the logit of the one; and what its log scales change by.
vec2 share_among(float logit, float n) {
    float absorbed = max(logit, 0.0) + log(1.0 + exp(-abs(logit)));  // -log(1 - o)
    float opacity = min(one_minus_exp(absorbed / n), 1.0 - 1e-6);
    float sum = 0.5 * one_minus_exp(n * minus_log_rest(opacity));
    for (uint k = 1u; k <= STEPS; ++k) {
        float x = STEP * float(k);
        sum += one_minus_exp(n * minus_log_rest(opacity * exp(-x * x)));
    }
    float integral = 2.0 * STEP * 0.5641895835477563 * sum;
    return vec2(opacity, log(one_minus_exp(absorbed) / integral));
}
