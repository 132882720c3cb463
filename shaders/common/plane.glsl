// The plane that a Gaussian lies in, as PGSR has it (Chen et al. 2024, sec. 3.1): through its centre, across its thinnest
// axis, in camera space. Expects `gaussian.glsl` and `projection.glsl`.

// Normal towards the camera; distance of the plane from the camera's centre, world units. The thinnest axis is that without
// the 3D filter, the first of equal ones.
vec4 plane_of(Gaussian g, Projection p) {
    vec3 s = g.log_scale;
    uint thin = s.x <= s.y ? (s.x <= s.z ? 0u : 2u) : (s.y <= s.z ? 1u : 2u);
    vec3 axis = thin == 0u ? p.rotation[0] : thin == 1u ? p.rotation[1] : p.rotation[2];
    vec3 normal = vec3(dot(u.view_row0.xyz, axis), dot(u.view_row1.xyz, axis), dot(u.view_row2.xyz, axis));
    float distance = -dot(normal, p.t);
    return distance < 0.0 ? vec4(-normal, -distance) : vec4(normal, distance);
}
