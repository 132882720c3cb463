// The plane that a Gaussian lies in, as PGSR has it (Chen et al. 2024, sec. 3.1): through its centre, across its thinnest
// axis, in camera space. Expects `gaussian.glsl` and `projection.glsl`.

// The thinnest axis without the 3D filter, the first of equal ones: 1 there, 0 elsewhere.
vec3 thinnest(vec3 s) {
    uint thin = s.x <= s.y ? (s.x <= s.z ? 0u : 2u) : (s.y <= s.z ? 1u : 2u);
    return vec3(thin == 0u ? 1.0 : 0.0, thin == 1u ? 1.0 : 0.0, thin == 2u ? 1.0 : 0.0);
}

// Normal towards the camera; distance of the plane from the camera's centre, world units; the sign by which the axis was turned.
vec4 turned_plane(Projection p, vec3 thin, out float turn) {
    vec3 axis = p.rotation * thin;
    vec3 normal = vec3(dot(u.view_row0.xyz, axis), dot(u.view_row1.xyz, axis), dot(u.view_row2.xyz, axis));
    float distance = -dot(normal, p.t);
    turn = distance < 0.0 ? -1.0 : 1.0;
    return turn * vec4(normal, distance);
}

// What is blended for a Gaussian: its plane, or with `FLAG_PLANE_DEPTHS` the plane's normal and the depth of the centre.
vec4 plane_of(Gaussian g, Projection p) {
    float turn;
    vec4 plane = turned_plane(p, thinnest(g.log_scale), turn);
    return (u.flags & FLAG_PLANE_DEPTHS) != 0u ? vec4(plane.xyz, p.t.z) : plane;
}
