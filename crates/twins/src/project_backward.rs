//! From the gradient of a visible record to the gradient of the Gaussian's parameters.
//!
//! The chain of Kerbl et al. 2023, appendix A, with the two filters of Mip-Splatting in it. Forward values are
//! recomputed by [`footprint`]. One deliberate approximation, where the exact derivative is of no use: small constants in the 2D
//! filter's quotients are those of the forward pass without their own square.

use super::gaussian::{Gaussian, View};
use super::project::{DET_MIN, Filter2d, Footprint, Settings, Visible, colour, footprint};
use super::rasterize_backward::{Gradient2d, ndc_scale};
use super::sh::{SH_MAX, sh_basis, sh_basis_derivative};
use super::surface::{PlaneBackward, plane_backward};
use super::unscented::see_backward;
use kiln_scene::math::{
    Mat3, Real, Sym2, Vec3, add, dot, mat_mul, mat_vec, normalize_backward, rotation_backward, scale, transpose,
};

/// Keeps the inverse of a squared determinant finite.
const DET2_FLOOR: f64 = 1e-7;

/// Gradient of one Gaussian and what densification records of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected<R> {
    /// Gradient of the parameters.
    pub gradient: Gaussian<R>,
    /// Length of the centre's gradient in normalised device coordinates.
    pub mean_ndc_norm: R,
}

/// Length of the centre's image-plane gradient per normalised device coordinate: the statistic densification averages.
#[must_use]
pub fn mean_ndc_norm<R: Real>(size_px: [u32; 2], gradient: &Gradient2d<R>) -> R {
    let half = ndc_scale::<R>(size_px);
    let [x, y] = [gradient.mean_px[0] * half[0], gradient.mean_px[1] * half[1]];
    (x * x + y * y).sqrt()
}

/// Adjugate of a symmetric matrix: the gradient of its determinant.
fn adjugate<R: Real>([a, b, c]: Sym2<R>) -> Sym2<R> {
    [c, -b, a]
}

/// L G L for symmetric L and G.
fn sandwich<R: Real>(l: Sym2<R>, g: Sym2<R>) -> Sym2<R> {
    // Rows of L G.
    let (p, q) = (l[0] * g[0] + l[1] * g[1], l[0] * g[1] + l[1] * g[2]);
    let (r, s) = (l[1] * g[0] + l[2] * g[1], l[1] * g[1] + l[2] * g[2]);
    [p * l[0] + q * l[1], p * l[1] + q * l[2], r * l[1] + s * l[2]]
}

/// Gradients of the 2D covariance before its filter (as the symmetric matrix D) and of the opacity after the 3D filter.
fn filter_2d_backward<R: Real>(f: &Footprint<R>, filter: Filter2d, opacity: R, g: &Gradient2d<R>) -> (Sym2<R>, R) {
    // d Lambda = -Lambda^-1 Gc Lambda^-1, with the adjugate over a guarded determinant for the inverse.
    let adj1 = adjugate(f.filtered_cov);
    let det = f.filtered_det;
    let half = R::of(0.5);
    let conic = [g.conic[0], half * g.conic[1], g.conic[2]];
    let d_lambda = scale(sandwich(adj1, conic), -(R::ONE / (det * det + R::of(DET2_FLOOR))));
    match filter {
        Filter2d::Classic => (d_lambda, g.opacity),
        Filter2d::Mip { .. } if f.coef == R::ZERO => (d_lambda, R::ZERO),
        Filter2d::Mip { .. } => {
            let eps = R::of(DET_MIN);
            let d_coef = g.opacity * (opacity / (f.coef + eps));
            let d_ratio = d_coef / (R::of(2.0) * (f.coef + eps));
            let d_det0 = d_ratio / (f.det1 + eps);
            let d_det1 = -(d_ratio * f.det0) / (f.det1 * f.det1 + eps);
            let d_cov = add(d_lambda, add(scale(adjugate(f.cov), d_det0), scale(adj1, d_det1)));
            (d_cov, f.coef * g.opacity)
        }
    }
}

/// Gradients of Q = R diag(s') and of the centre in camera axes, from that of the 2D covariance, through
/// cov = M Q Q^T M^T and M = J W.
fn covariance_backward<R: Real>(f: &Footprint<R>, view: &View<R>, [a, b, c]: Sym2<R>) -> (Mat3<R>, Vec3<R>) {
    let two = R::of(2.0);
    // D M, used by both.
    let d_m: [Vec3<R>; 2] = [
        add(scale(f.m[0], a), scale(f.m[1], b)),
        add(scale(f.m[0], b), scale(f.m[1], c)),
    ];
    let d_sigma = std::array::from_fn(|i| std::array::from_fn(|j| f.m[0][i] * d_m[0][j] + f.m[1][i] * d_m[1][j]));
    let d_shape = mat_mul(d_sigma, f.shape).map(|row| scale(row, two));
    let sigma = mat_mul(f.shape, transpose(f.shape));
    let d_m_sigma = mat_mul(d_m, sigma).map(|row| scale(row, two));
    let d_j = mat_mul(d_m_sigma, transpose(view.rotation));

    let [fx, fy] = view.focal;
    let [tx, ty] = f.clamped_xy;
    let z = f.camera[2];
    let (z2, z3) = (z * z, z * z * z);
    // The third column is -f slope / z; a slope that is clamped is constant.
    let open = |axis: usize, value: R| if f.clamp_active[axis] { R::ZERO } else { value };
    let powers = |axis: usize| if f.clamp_active[axis] { R::ONE } else { two };
    let d_camera = [
        open(0, -(fx / z2 * d_j[0][2])),
        open(1, -(fy / z2 * d_j[1][2])),
        powers(0) * fx * tx / z3 * d_j[0][2] + powers(1) * fy * ty / z3 * d_j[1][2]
            - fx / z2 * d_j[0][0]
            - fy / z2 * d_j[1][1],
    ];
    (d_shape, d_camera)
}

/// Gradient of the camera-space centre through the pixel position f x / z + c.
fn position_backward<R: Real>(view: &View<R>, [x, y, z]: Vec3<R>, [gx, gy]: [R; 2]) -> Vec3<R> {
    let [fx, fy] = view.focal;
    [fx / z * gx, fy / z * gy, -((fx * x * gx + fy * y * gy) / (z * z))]
}

/// Gradients of the SH coefficients and of the centre through the view direction.
fn colour_backward<R: Real>(
    gaussian: &Gaussian<R>,
    view: &View<R>,
    sh_degree: u32,
    visible: &Visible<R>,
    g: &Gradient2d<R>,
) -> ([Vec3<R>; SH_MAX], Vec3<R>) {
    let d_rgb: Vec3<R> = std::array::from_fn(|c| if visible.clamped[c] { R::ZERO } else { g.rgb[c] });
    let (_, direction, length) = colour(gaussian, view, sh_degree);
    let d_sh = sh_basis(sh_degree, direction).map(|weight| scale(d_rgb, weight));
    let mut d_direction = [R::ZERO; 3];
    for (derivative, coefficient) in sh_basis_derivative(sh_degree, direction).into_iter().zip(&gaussian.sh) {
        d_direction = add(d_direction, scale(derivative, dot(*coefficient, d_rgb)));
    }
    (d_sh, normalize_backward(direction, length, d_direction))
}

/// Gradients of the quaternion and of s' through Q = R diag(s'), and of the quaternion through the axis of the
/// Gaussian's plane.
fn shape_backward<R: Real>(f: &Footprint<R>, d_q: Mat3<R>, plane: &PlaneBackward<R>) -> ([R; 4], Vec3<R>) {
    let s = f.filtered_scale;
    let d_scale = std::array::from_fn(|i| (0..3).map(|row| f.rotation[row][i] * d_q[row][i]).sum());
    let mut d_rotation: Mat3<R> = d_q.map(|row| std::array::from_fn(|j| row[j] * s[j]));
    for (row, gradient) in d_rotation.iter_mut().zip(plane.direction) {
        row[plane.axis] += gradient;
    }
    let d_unit = rotation_backward(f.unit_quat, d_rotation);
    (normalize_backward(f.unit_quat, f.quat_length, d_unit), d_scale)
}

/// Gradient of one visible Gaussian. `None` when the Gaussian does not project into this view, so it has no record.
#[must_use]
pub fn project_backward<R: Real>(
    gaussian: &Gaussian<R>,
    filter_3d: R,
    view: &View<R>,
    settings: &Settings,
    visible: &Visible<R>,
    g: &Gradient2d<R>,
) -> Option<Projected<R>> {
    let f = footprint(gaussian, filter_3d, view, settings.filter_2d)?;
    let (d_cov, d_filtered_opacity) = filter_2d_backward(&f, settings.filter_2d, visible.opacity, g);
    let d_filtered_opacity = settings.opacity_gain::<R>() * d_filtered_opacity;
    let (d_shape, through_image) = match &view.lens {
        Some(lens) => see_backward(lens, view, (f.camera, f.shape), g.mean_px, d_cov),
        None => {
            let (d_shape, through_shape) = covariance_backward(&f, view, d_cov);
            (
                d_shape,
                add(through_shape, position_backward(view, f.camera, g.mean_px)),
            )
        }
    };
    let plane = plane_backward(gaussian, view, &g.plane, settings.plane_depths);
    let d_camera = add(through_image, plane.camera);
    let (sh, through_colour) = colour_backward(gaussian, view, settings.sh_degree, visible, g);
    let (quat, d_scale) = shape_backward(&f, d_shape, &plane);

    // Opacity after the 3D filter is sigmoid(logit) c3, and d ln c3 / d ln s_i = filter^2 / s'_i^2.
    let filtered_opacity = f.raw_opacity * f.c3;
    let log_scale = std::array::from_fn(|i| {
        let (s, filtered) = (f.scale[i], f.filtered_scale[i]);
        if filter_3d == R::ZERO {
            return d_scale[i] * s;
        }
        d_scale[i] * (s * s / filtered)
            + d_filtered_opacity * filtered_opacity * (filter_3d * filter_3d / (filtered * filtered))
    });
    let gradient = Gaussian {
        mean: add(mat_vec(transpose(view.rotation), d_camera), through_colour),
        quat,
        log_scale,
        logit_opacity: d_filtered_opacity * f.c3 * f.raw_opacity * (R::ONE - f.raw_opacity),
        sh,
    };
    Some(Projected {
        gradient,
        mean_ndc_norm: mean_ndc_norm(view.size_px, g),
    })
}
