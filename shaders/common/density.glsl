// Gaussians as parts of a density: `a exp(-q / 2)` with `q = |S^-1 R^T (p - mu)|^2`.

const float MOST_EXPONENT = 1e8;

// R^T v of the rotation (w, x, y, z) of length 1.
vec3 unrotated(vec4 q, vec3 v) {
    vec3 axis = -q.yzw;
    vec3 twice = 2.0 * cross(axis, v);
    return v + q.x * twice + cross(axis, twice);
}

// R v.
vec3 rotated(vec4 q, vec3 v) {
    vec3 axis = q.yzw;
    vec3 twice = 2.0 * cross(axis, v);
    return v + q.x * twice + cross(axis, twice);
}

// S^-1 R^T v.
vec3 whitened(vec4 q, vec3 inverse, vec3 v) {
    return inverse * unrotated(q, v);
}
