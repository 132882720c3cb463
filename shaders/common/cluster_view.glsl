// Whether a cluster is out of view as a whole. Expects `projection.glsl` and `cluster.glsl`.
//
// No Gaussian is lost by it. Let (tx, ty, z) be a centre in camera space with z > near_z, as all visible ones have, and s at
// least its largest standard deviation. Its covariance on the image, before the 2D filter adds d to both axes, has the trace
// |row0 R S|^2 + |row1 R S|^2 <= (K s / z)^2 with
//     K^2 = fx^2 |w0 - a w2|^2 + fy^2 |w1 - b w2|^2
// for its slopes a and b. Those are clamped, and squared lengths are convex in them, so K is largest at one of their limits.
// The radius is that of mid + sqrt(max(0.1, mid^2 - det)) <= 2 mid + sqrt(0.1) = trace + 2 d + sqrt(0.1), and
// sqrt(x + y) <= sqrt(x) + sqrt(y):
//     radius = ceil(3 sqrt(...)) < 3 K s / z + R,  R = 3 sqrt(2 d + sqrt(0.1)) + 1.
// It touches a tile only if its 3-sigma rectangle does (`tile_rect`), for which mean_px.x + radius >= 1 and
// mean_px.x - radius < 16 tiles_x, and the same along y. With mean_px.x = fx tx / z + cx it touches none if
//      fx tx + (R + cx) z + 3 K s < 0   or   -fx tx + (R + 16 tiles_x + 1 - cx) z + 3 K s < 0:
// functions that are linear in the centre, so their largest values over the box are at its corners, axis by axis. That they
// hold with 0 and with 1 where 1 and 0 would do, and the two slacks below, covers what rounding makes of either side: fewer
// than ten roundings of 2^-24 of what is added up, or of the deviation.

const float CLUSTER_ROUNDING = 1.0 / 65536.0;
const float CLUSTER_SLACK = 1.001;

// Largest value of dot(f w + k w2, x) + f t + k t2 over the box.
float highest(Cluster c, float f, vec4 row, float k) {
    vec3 a = f * row.xyz + k * u.view_row2.xyz;
    vec3 terms = max(a * c.low, a * c.high);
    vec3 sizes = (abs(f) * abs(row.xyz) + abs(k) * abs(u.view_row2.xyz)) * max(abs(c.low), abs(c.high));
    float shift = f * row.w + k * u.view_row2.w;
    float shift_size = abs(f * row.w) + abs(k * u.view_row2.w);
    return terms.x + terms.y + terms.z + shift + CLUSTER_ROUNDING * (sizes.x + sizes.y + sizes.z + shift_size);
}

// Largest |w - slope w2|^2 for a slope within limits.
float steepest(vec3 w, vec2 limits) {
    vec3 at_low = w - limits.x * u.view_row2.xyz;
    vec3 at_high = w - limits.y * u.view_row2.xyz;
    return max(dot(at_low, at_low), dot(at_high, at_high));
}

// Written so that what is not a number is in view.
bool out_of_view(Cluster c) {
    if (!(c.deviation > 0.0)) {
        return false;
    }
    if (highest(c, 0.0, vec4(0.0), 1.0) <= u.near_z) {
        return true;
    }
    float fx = u.intrinsics.x, fy = u.intrinsics.y, cx = u.intrinsics.z, cy = u.intrinsics.w;
    float stretch = sqrt(fx * fx * steepest(u.view_row0.xyz, u.slope_limits.xy) +
                         fy * fy * steepest(u.view_row1.xyz, u.slope_limits.zw));
    float reach = 3.0 * CLUSTER_SLACK * stretch * c.deviation;
    float rim = 3.0 * CLUSTER_SLACK * sqrt(2.0 * u.background.w + 0.31623) + 1.0;
    float right = float(16u * u.tiles_x) + 1.0, bottom = float(16u * u.tiles_y) + 1.0;
    return highest(c, fx, u.view_row0, rim + cx) + reach < 0.0 ||
           highest(c, -fx, u.view_row0, rim + right - cx) + reach < 0.0 ||
           highest(c, fy, u.view_row1, rim + cy) + reach < 0.0 ||
           highest(c, -fy, u.view_row1, rim + bottom - cy) + reach < 0.0;
}
