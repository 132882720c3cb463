// Projection of a 3D Gaussian to the image: EWA splatting (Zwicker et al. 2001) with the 3D smoothing filter and the
// 2D Mip filter of Mip-Splatting (Yu et al. 2024). Through a fisheye it is the unscented transform (Julier and Uhlmann 1997) as
// 3DGUT has it (Wu et al. 2025): the centre and six points around it go through the lens, and what comes out has the mean and
// the covariance that the Gaussian gets. Expects `step.glsl`, `gaussian.glsl`, a constant `LENS` and a uniform block `u`.
#include "lens.glsl"

const float DET_FLOOR = 1e-6;

struct Projection {
    bool shown;         // has a radius on screen
    bool visible;       // and shows in some pixel as far as its opacity goes
    vec3 t;             // mean in camera space
    float depth;        // its z, or its distance where the camera has a lens
    vec2 slope;         // clamped x/z, y/z
    vec2 slope_free;    // 1 where the clamp is inactive
    vec3 scale;         // standard deviations with the 3D filter
    vec3 scale_raw;     // without it
    float compensation; // c3: opacity factor of the 3D filter
    float sigmoid_opacity;
    mat3 rotation;      // of the Gaussian
    vec3 row0;          // rows of M = J W
    vec3 row1;
    vec3 cov;           // 2D covariance before the 2D filter: xx, xy, yy
    vec3 lambda;        // and after it
    float det;          // of lambda
    float det0;
    float det1;
    float coef;         // opacity factor of the 2D filter
    vec3 conic;
    float opacity;      // after both factors, and the gain for what the step leaves out
    vec2 mean_px;
    float radius;
};

mat3 rotation_of(vec4 q) {
    // Columns of a GLSL matrix: m[c][r].
    float w = q.x, x = q.y, y = q.z, z = q.w;
    return mat3(vec3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
                vec3(2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
                vec3(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)));
}

vec3 to_camera(vec3 mean) {
    return vec3(dot(u.view_row0.xyz, mean) + u.view_row0.w, dot(u.view_row1.xyz, mean) + u.view_row1.w,
                dot(u.view_row2.xyz, mean) + u.view_row2.w);
}

// True when this step's camera has a lens.
bool through_lens() {
    return LENS != 0u && u.lens_range.x > 0.0;
}

Lens step_lens() {
    return Lens(u.lens_radial, u.lens_sideways, u.lens_range);
}

// The six points lie this many standard deviations from the centre, along the axes: with spread 1 and three dimensions.
const float SIGMA_SPREAD = 1.73205081;

// Column `k` of the Gaussian's standard deviations in camera space, times the spread.
vec3 sigma_axis(Projection p, uint k) {
    vec3 q = p.rotation[k] * (SIGMA_SPREAD * p.scale[k]);
    return vec3(dot(u.view_row0.xyz, q), dot(u.view_row1.xyz, q), dot(u.view_row2.xyz, q));
}

// The seven points in the picture, px: halves of differences, and middles, of the pairs along the axes, both less the mean where
// they are places; the centre likewise. All from the principal point.
struct SigmaPoints {
    vec2 mean;
    vec2 center;
    vec2 across[3];
    vec2 middle[3];
};

SigmaPoints sigma_points(Projection p) {
    Lens lens = step_lens();
    SigmaPoints s;
    s.mean = vec2(0.0);
    for (uint k = 0u; k < 3u; ++k) {
        vec3 axis = sigma_axis(p, k);
        vec2 plus = u.intrinsics.xy * lens_place(lens, p.t + axis);
        vec2 minus = u.intrinsics.xy * lens_place(lens, p.t - axis);
        s.across[k] = 0.5 * (plus - minus);
        s.middle[k] = 0.5 * (plus + minus);
        s.mean += s.middle[k] / 3.0;
    }
    s.center = u.intrinsics.xy * lens_place(lens, p.t) - s.mean;
    for (uint k = 0u; k < 3u; ++k) {
        s.middle[k] -= s.mean;
    }
    return s;
}

// Weights of the squares of `across` and `middle` in the covariance, and of `center`: a sixth for each of the six points, and for
// the centre 2, what is best for Gaussians.
const float SIGMA_WEIGHT = 0.33333333;
const float SIGMA_CENTER = 2.0;

// Covariance, and its determinant as the sum of squared minors.
vec4 sigma_covariance(SigmaPoints s) {
    vec2 column[7];
    for (uint k = 0u; k < 3u; ++k) {
        column[k] = 0.57735027 * s.across[k];
        column[3u + k] = 0.57735027 * s.middle[k];
    }
    column[6] = 1.41421356 * s.center;
    vec4 sum = vec4(0.0);
    for (uint a = 0u; a < 7u; ++a) {
        sum.xyz += column[a].xxy * column[a].xyy;
        for (uint b = 0u; b < a; ++b) {
            float minor = column[a].x * column[b].y - column[a].y * column[b].x;
            sum.w += minor * minor;
        }
    }
    return sum;
}

// Where a step leaves Gaussians out, the others are that much more opaque (DropGaussian, Park et al. 2025). It may come to more
// than 1: pixels are covered to 0.99 at most, and an opacity that was cut off would no longer be moved by any gradient.
float opacity_gain() {
    return u.dropout > 0.0 ? 1.0 / (1.0 - u.dropout) : 1.0;
}

// The local affine approximation: centre and covariance on the image. The determinant of the covariance.
float project_pinhole(inout Projection p) {
    float fx = u.intrinsics.x, fy = u.intrinsics.y;
    float inv_z = 1.0 / p.t.z;
    vec2 slope = p.t.xy * inv_z;
    p.slope = clamp(slope, u.slope_limits.xz, u.slope_limits.yw);
    p.slope_free = vec2(slope.x == p.slope.x ? 1.0 : 0.0, slope.y == p.slope.y ? 1.0 : 0.0);
    p.mean_px = vec2(fx, fy) * slope + u.intrinsics.zw;
    vec3 w0 = u.view_row0.xyz, w1 = u.view_row1.xyz, w2 = u.view_row2.xyz;
    p.row0 = (fx * inv_z) * (w0 - p.slope.x * w2);
    p.row1 = (fy * inv_z) * (w1 - p.slope.y * w2);
    // T = M R diag(s'): cov = T T^T.
    vec3 t0 = (p.row0 * p.rotation) * p.scale;
    vec3 t1 = (p.row1 * p.rotation) * p.scale;
    p.cov = vec3(dot(t0, t0), dot(t0, t1), dot(t1, t1));
    // det(T T^T) is the sum of T's squared 2x2 minors (Cauchy-Binet). Unlike xx yy - xy^2 it does not cancel, so that
    // long thin Gaussians keep their width.
    vec3 minors = cross(t0, t1);
    return dot(minors, minors);
}

Projection project(Gaussian g) {
    Projection p;
    p.shown = false;
    p.visible = false;
    p.t = to_camera(g.mean);
    float norm2 = dot(g.quat, g.quat);
    // Written so that a NaN fails the test.
    p.depth = through_lens() ? length(p.t) : p.t.z;
    if (!(p.depth > u.near_z) || !(norm2 > 0.0)) {
        return p;
    }
    p.scale_raw = exp(g.log_scale);
    p.scale = p.scale_raw;
    p.compensation = 1.0;
    // Without a filter nothing is squared: squares of scales below 1e-19 underflow.
    if (g.filter_3d != 0.0) {
        vec3 variance = p.scale_raw * p.scale_raw;
        vec3 filtered = variance + g.filter_3d * g.filter_3d;
        p.scale = sqrt(filtered);
        vec3 ratio = p.scale_raw / p.scale;
        p.compensation = ratio.x * ratio.y * ratio.z;
    }
    p.sigmoid_opacity = 1.0 / (1.0 + exp(-g.logit));

    if (through_lens()) {
        // Points on both sides of the ray straight backwards would be at opposite rims, and the Gaussian all over the picture.
        float theta = angle_from_axis(length(p.t.xy), p.t.z);
        float around = angle_from_axis(SIGMA_SPREAD * max(max(p.scale.x, p.scale.y), p.scale.z), p.depth);
        if (!(theta <= u.lens_range.w) || !(theta + around < 3.1415926)) {
            return p;
        }
    }
    p.rotation = rotation_of(g.quat * inversesqrt(norm2));
    float det_cov;
    if (through_lens()) {
        SigmaPoints points = sigma_points(p);
        vec4 cov_det = sigma_covariance(points);
        p.mean_px = points.mean + u.intrinsics.zw;
        p.cov = cov_det.xyz;
        det_cov = cov_det.w;
    } else {
        det_cov = project_pinhole(p);
    }
    p.lambda = p.cov + vec3(u.background.w, 0.0, u.background.w);
    p.det = det_cov + u.background.w * (p.cov.x + p.cov.z) + u.background.w * u.background.w;
    if ((u.flags & FLAG_CLASSIC) != 0u) {
        p.det0 = 1.0;
        p.det1 = p.det;
        p.coef = 1.0;
    } else {
        p.det0 = max(DET_FLOOR, det_cov);
        p.det1 = max(DET_FLOOR, p.det);
        p.coef = sqrt(p.det0 / (p.det1 + 1e-6) + 1e-6);
        if (p.det0 <= DET_FLOOR || p.det1 <= DET_FLOOR) {
            p.coef = 0.0;
        }
    }
    if (!(p.det > 0.0) || isinf(p.det)) {
        return p;
    }
    p.conic = vec3(p.lambda.z, -p.lambda.y, p.lambda.x) / p.det;
    p.opacity = p.sigmoid_opacity * p.compensation * p.coef * opacity_gain();
    float mid = 0.5 * (p.lambda.x + p.lambda.z);
    float largest = mid + sqrt(max(0.1, mid * mid - p.det));
    p.radius = ceil(3.0 * sqrt(largest));
    p.shown = !isinf(p.radius) && !isnan(p.radius) && !any(isnan(p.mean_px)) && !any(isinf(p.mean_px));
    p.visible = p.opacity >= 1.0 / 255.0 && p.shown;
    return p;
}
