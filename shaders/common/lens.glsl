// A fisheye lens: where a direction is in the picture, by its angle from the optical axis. The formula and its sources are in
// `crates/scene/src/fisheye.rs`.

struct Lens {
    vec4 radial;    // coefficients of theta^2, theta^4, theta^6, theta^8
    vec4 sideways;  // p1, p2, s1, s2
    vec4 range;     // largest angle the formula is believed at, radius and slope of the radius there, angle beyond which nothing
                    // is drawn; all 0 for a pinhole
};

// Angle of (z, r) from the z axis, r >= 0, to the last bits: an error of `atan` would be one of pixels.
float angle_from_axis(float r, float z) {
    float side = abs(z);
    bool steep = r > side;
    float a = (steep ? side : r) / max(max(side, r), 1e-30);
    bool large = a > 0.41421356;
    float b = large ? (a - 1.0) / (a + 1.0) : a;
    float y = b * b;
    float angle = b * (0.999999981 + y * (-0.333327858 + y * (0.199740824 + y * (-0.138484902 + y * 0.0797629181))));
    angle += large ? 0.785398163 : 0.0;
    angle = steep ? 1.57079633 - angle : angle;
    return z < 0.0 ? 3.14159265 - angle : angle;
}

// Radius in the picture of an angle, and its derivative.
vec2 lens_radius(Lens lens, float theta) {
    float inner = min(theta, lens.range.x);
    float t2 = inner * inner;
    float value = inner * (1.0 + t2 * (lens.radial.x + t2 * (lens.radial.y + t2 * (lens.radial.z + t2 * lens.radial.w))));
    float slope = 1.0 + t2 * (3.0 * lens.radial.x +
                              t2 * (5.0 * lens.radial.y + t2 * (7.0 * lens.radial.z + t2 * (9.0 * lens.radial.w))));
    return theta > lens.range.x ? vec2(lens.range.y + lens.range.z * (theta - lens.range.x), lens.range.z)
                                : vec2(value, slope);
}

// Tangential and prism terms of a direction in the picture, per squared angle.
vec2 lens_sideways(Lens lens, vec2 e) {
    float p1 = lens.sideways.x, p2 = lens.sideways.y;
    return vec2(2.0 * p1 * e.x * e.y + p2 * (1.0 + 2.0 * e.x * e.x) + lens.sideways.z,
                2.0 * p2 * e.x * e.y + p1 * (1.0 + 2.0 * e.y * e.y) + lens.sideways.w);
}

// Where a point in camera space is, in units of the focal lengths from the principal point.
vec2 lens_place(Lens lens, vec3 p) {
    float r = length(p.xy);
    float theta = angle_from_axis(r, p.z);
    vec2 e = r > 0.0 ? p.xy / r : vec2(1.0, 0.0);
    float inner = min(theta, lens.range.x);
    return lens_radius(lens, theta).x * e + inner * inner * lens_sideways(lens, e);
}

// Gradient of the point through its place.
vec3 lens_backward(Lens lens, vec3 p, vec2 d) {
    float r = length(p.xy);
    float theta = angle_from_axis(r, p.z);
    float n2 = max(dot(p, p), 1e-30);
    vec2 e = r > 0.0 ? p.xy / r : vec2(1.0, 0.0);
    vec2 radius = lens_radius(lens, theta);
    bool inside = theta < lens.range.x;
    float inner = inside ? theta : lens.range.x;
    float t2 = inner * inner;
    float d_theta = radius.y * dot(d, e) + (inside ? 2.0 * inner * dot(d, lens_sideways(lens, e)) : 0.0);
    float p1 = lens.sideways.x, p2 = lens.sideways.y;
    // By the direction, less what would change its length; near the axis the radius is the angle, which is r / z.
    vec2 d_e = t2 * vec2(d.x * (2.0 * p1 * e.y + 4.0 * p2 * e.x) + 2.0 * d.y * p2 * e.y,
                         2.0 * d.x * p1 * e.x + d.y * (2.0 * p2 * e.x + 4.0 * p1 * e.y));
    bool axial = r < 1e-6 * p.z;
    vec2 across = axial ? d / p.z : (radius.x * d + d_e) / max(r, 1e-30);
    across -= e * dot(e, across);
    return vec3(across + e * (d_theta * p.z / n2), -d_theta * r / n2);
}
