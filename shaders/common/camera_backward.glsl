// From a record's 2D gradients to the Gaussian in camera space: what `update` takes on to parameters, and `pose` to the camera.
// Expects `gaussian.glsl`, `projection.glsl` and `plane.glsl`, and with SURFACE takes the gradients of planes along.

struct CameraGradient {
    vec3 t;       // by the centre in camera space
    mat3 shape;   // by the Gaussian's rotation times its scales
    vec3 turn_0;  // by the rows of the world-to-camera rotation, through the covariance and the plane's normal
    vec3 turn_1;
    vec3 turn_2;
#ifdef SURFACE
    vec3 axis;    // by the thinnest axis in world space
    vec3 thin;    // which one that is
#endif
};

// From the gradients of centre and covariance (the symmetric matrix xx, xy, yy) on the image, through the Jacobian of a pinhole.
void pinhole_gradient(inout CameraGradient c, Projection p, vec2 d_mean_px, vec3 d) {
    mat3 q = mat3(p.rotation[0] * p.scale.x, p.rotation[1] * p.scale.y, p.rotation[2] * p.scale.z);
    vec3 t0 = p.row0 * q;
    vec3 t1 = p.row1 * q;
    vec3 d_t0 = 2.0 * (d.x * t0 + d.y * t1);
    vec3 d_t1 = 2.0 * (d.y * t0 + d.z * t1);
    vec3 d_row0 = q * d_t0;
    vec3 d_row1 = q * d_t1;
    c.shape = mat3(p.row0 * d_t0.x + p.row1 * d_t1.x, p.row0 * d_t0.y + p.row1 * d_t1.y,
                   p.row0 * d_t0.z + p.row1 * d_t1.z);

    // Through the Jacobian to the camera-space mean. Its third column is -f slope / z; a slope that is clamped is constant.
    vec3 w0 = u.view_row0.xyz, w1 = u.view_row1.xyz, w2 = u.view_row2.xyz;
    float fx = u.intrinsics.x, fy = u.intrinsics.y;
    float inv_z = 1.0 / p.t.z;
    float inv_z2 = inv_z * inv_z;
    float j00 = dot(d_row0, w0), j02 = dot(d_row0, w2), j11 = dot(d_row1, w1), j12 = dot(d_row1, w2);
    c.t = vec3(-fx * inv_z2 * j02 * p.slope_free.x, -fy * inv_z2 * j12 * p.slope_free.y,
               inv_z2 * (-fx * j00 - fy * j11 + (1.0 + p.slope_free.x) * fx * p.slope.x * j02 +
                         (1.0 + p.slope_free.y) * fy * p.slope.y * j12));
    c.t.x += fx * inv_z * d_mean_px.x;
    c.t.y += fy * inv_z * d_mean_px.y;
    c.t.z -= inv_z2 * (fx * p.t.x * d_mean_px.x + fy * p.t.y * d_mean_px.y);
    c.turn_0 = fx * inv_z * d_row0;
    c.turn_1 = fy * inv_z * d_row1;
    c.turn_2 = -(p.slope.x * c.turn_0 + p.slope.y * c.turn_1);
}

// The same through the seven points of a lens.
void lens_gradient(inout CameraGradient c, Projection p, vec2 d_mean_px, vec3 d) {
    Lens lens = step_lens();
    SigmaPoints s = sigma_points(p);
    vec2 d_center = 2.0 * SIGMA_CENTER * vec2(dot(d.xy, s.center), dot(d.yz, s.center));
    // The middles add up to nothing, so that only the centre pulls at the mean beside the centre's own gradient.
    vec2 d_mean = (d_mean_px - d_center) / 6.0;
    c.t = lens_backward(lens, p.t, u.intrinsics.xy * d_center);
    c.turn_0 = vec3(0.0);
    c.turn_1 = vec3(0.0);
    c.turn_2 = vec3(0.0);
    for (uint k = 0u; k < 3u; ++k) {
        vec2 d_across = SIGMA_WEIGHT * vec2(dot(d.xy, s.across[k]), dot(d.yz, s.across[k]));
        vec2 d_middle = SIGMA_WEIGHT * vec2(dot(d.xy, s.middle[k]), dot(d.yz, s.middle[k])) + d_mean;
        vec3 axis = sigma_axis(p, k);
        vec3 plus = lens_backward(lens, p.t + axis, u.intrinsics.xy * (d_middle + d_across));
        vec3 minus = lens_backward(lens, p.t - axis, u.intrinsics.xy * (d_middle - d_across));
        vec3 apart = SIGMA_SPREAD * (plus - minus);
        vec3 q = p.rotation[k] * p.scale[k];
        c.t += plus + minus;
        c.shape[k] = u.view_row0.xyz * apart.x + u.view_row1.xyz * apart.y + u.view_row2.xyz * apart.z;
        c.turn_0 += apart.x * q;
        c.turn_1 += apart.y * q;
        c.turn_2 += apart.z * q;
    }
}

CameraGradient camera_backward(Gaussian g, Projection p, vec2 d_mean_px, vec3 d_conic, float d_opacity
#ifdef SURFACE
                               , vec4 d_plane
#endif
) {
    CameraGradient c;
    // Through the inverse: dL/dLambda = -K Gc K with the symmetric Gc of the conic's three numbers; K is the adjugate
    // over a determinant that is kept from vanishing.
    vec3 k = vec3(p.lambda.z, -p.lambda.y, p.lambda.x);
    vec3 gc = vec3(d_conic.x, 0.5 * d_conic.y, d_conic.z);
    vec2 r0 = vec2(k.x * gc.x + k.y * gc.y, k.x * gc.y + k.y * gc.z);
    vec2 r1 = vec2(k.y * gc.x + k.z * gc.y, k.y * gc.y + k.z * gc.z);
    vec3 d = -vec3(r0.x * k.x + r0.y * k.y, r0.x * k.y + r0.y * k.z, r1.x * k.y + r1.y * k.z) /
             (p.det * p.det + 1e-7);
    if ((u.flags & FLAG_CLASSIC) == 0u && p.coef > 0.0) {
        float d_coef = d_opacity * (p.opacity / (p.coef + 1e-6));
        float d_ratio = d_coef / (2.0 * (p.coef + 1e-6));
        float d_det0 = d_ratio / (p.det1 + 1e-6);
        float d_det1 = -d_ratio * p.det0 / (p.det1 * p.det1 + 1e-6);
        d += d_det0 * vec3(p.cov.z, -p.cov.y, p.cov.x) + d_det1 * vec3(p.lambda.z, -p.lambda.y, p.lambda.x);
    }
    if (through_lens()) {
        lens_gradient(c, p, d_mean_px, d);
    } else {
        pinhole_gradient(c, p, d_mean_px, d);
    }
#ifdef SURFACE
    // Through d = -n . t and n = turn W R e_k; axis k and sign are constants of the step.
    c.thin = thinnest(g.log_scale);
    float turn;
    vec3 normal = turned_plane(p, c.thin, turn).xyz;
    vec3 d_normal = turn * d_plane.xyz;
    if ((u.flags & FLAG_PLANE_DEPTHS) != 0u) {
        c.t.z += d_plane.w;
    } else {
        d_normal -= (turn * d_plane.w) * p.t;
        c.t -= d_plane.w * normal;
    }
    c.axis = u.view_row0.xyz * d_normal.x + u.view_row1.xyz * d_normal.y + u.view_row2.xyz * d_normal.z;
    vec3 axis = p.rotation * c.thin;
    c.turn_0 += d_normal.x * axis;
    c.turn_1 += d_normal.y * axis;
    c.turn_2 += d_normal.z * axis;
#endif
    return c;
}
