// Rotation of a vector by the quaternion (w, x, y, z) of Gaussian `i`; its length does not matter. Expects `geometry`,
// `stride` and `planes.glsl`.
vec3 rotate_by(uint i, vec3 v) {
    vec4 q = vec4(geometry[PLANE_QUATS * stride + i], geometry[(PLANE_QUATS + 1u) * stride + i],
                  geometry[(PLANE_QUATS + 2u) * stride + i], geometry[(PLANE_QUATS + 3u) * stride + i]);
    q /= sqrt(dot(q, q));
    float w = q.x, x = q.y, y = q.z, z = q.w;
    return vec3((1.0 - 2.0 * (y * y + z * z)) * v.x + 2.0 * (x * y - w * z) * v.y + 2.0 * (x * z + w * y) * v.z,
                2.0 * (x * y + w * z) * v.x + (1.0 - 2.0 * (x * x + z * z)) * v.y + 2.0 * (y * z - w * x) * v.z,
                2.0 * (x * z - w * y) * v.x + 2.0 * (y * z + w * x) * v.y + (1.0 - 2.0 * (x * x + y * y)) * v.z);
}
