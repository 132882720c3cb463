//! Projects a Gaussian into one view: culling, footprint on the image, colour, tiles touched.
//!
//! The footprint is the local affine approximation of Zwicker et al. 2001 (EWA splatting) used by Kerbl et al. 2023,
//! with the 2D Mip filter of Mip-Splatting (Yu et al. 2024, section 4.2). Everything the backward pass needs again is
//! in [`Footprint`], recomputed there instead of stored. Through a fisheye it is [`super::unscented`].
//!
//! Tiles are culled tightly: one counts when it lies in the rectangle of the 3-sigma radius *and* meets the ellipse
//! outside which the Gaussian's alpha is below 1/255. Rasterisation skips such pixels anyway, so the image is the same.

use super::dropout::Dropout;
use super::filter_3d;
use super::gaussian::{Gaussian, View};
use super::sh::sh_basis;
use super::unscented;
use super::{TILE, tile_grid};
use kiln_scene::math::{Mat3, Real, Sym2, Vec3, cross, dot, mat_mul, norm, rotation, scale, sigmoid, sub};

/// Low-pass filter applied on the image plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter2d {
    /// Mip-Splatting: adds `kernel_size` (px^2, 0.1 by default) to the covariance and dims by the lost peak height.
    Mip {
        /// Variance of the filter, px^2.
        kernel_size: f64,
    },
    /// 3D Gaussian Splatting: adds 0.3 px^2, no dimming.
    Classic,
}

impl Filter2d {
    /// Variance added to both axes, px^2.
    #[must_use]
    pub fn variance_px2(self) -> f64 {
        match self {
            Self::Mip { kernel_size } => kernel_size,
            Self::Classic => 0.3,
        }
    }
}

/// What projection needs besides Gaussian and view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Image-plane filter.
    pub filter_2d: Filter2d,
    /// SH degree in use, 0..=3; may be below the model's.
    pub sh_degree: u32,
    /// Off: every tile of the 3-sigma rectangle counts. For tests and comparisons only.
    pub tight_tiles: bool,
    /// Some Gaussians are left out; evaluation never does that.
    pub dropout: Option<Dropout>,
    /// Planes have the depth of their centre in place of their distance from the camera.
    pub plane_depths: bool,
}

/// Below this alpha a pixel is left alone.
pub const ALPHA_MIN: f64 = 1.0 / 255.0;
/// Added to the exponent at which alpha falls to [`ALPHA_MIN`], so that rounding never drops a tile with such a pixel.
pub const TILE_SLACK: f64 = 1e-3;
/// Determinants are clamped to at least this, and the same value keeps the quotient and root of the Mip filter finite.
pub const DET_MIN: f64 = 1e-6;

/// Half-open tile rectangle: `x` in `min[0]..max[0]`, `y` in `min[1]..max[1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileRect {
    /// First tile column and row.
    pub min: [u32; 2],
    /// One past the last tile column and row.
    pub max: [u32; 2],
}

/// A Gaussian that touches at least one tile, as the rasteriser sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visible<R> {
    /// Index of the Gaussian in the model.
    pub id: u32,
    /// Centre on the image, pixels, pixel centres on integers.
    pub mean_px: [R; 2],
    /// Camera-space z, or the distance from a camera with a lens, world units.
    pub depth: R,
    /// Inverse of the filtered 2D covariance `[A, B, C]`, px^-2.
    pub conic: Sym2<R>,
    /// Opacity after both filters, and for what the step leaves out.
    pub opacity: R,
    /// Colour, not below 0.
    pub rgb: Vec3<R>,
    /// Channels whose colour was clamped at 0; their gradient is 0.
    pub clamped: [bool; 3],
    /// 3-sigma radius, whole pixels.
    pub radius_px: R,
    /// Tiles of the 3-sigma rectangle, clamped to the image.
    pub rect: TileRect,
    /// Tiles touched, at least 1.
    pub n_tiles: u32,
}

/// Intermediate values of one projection, named as in the formulas.
#[derive(Clone, Copy, Debug)]
pub struct Footprint<R> {
    /// Centre in camera axes.
    pub camera: Vec3<R>,
    /// Its z, or its distance where the camera has a lens.
    pub depth: R,
    /// Centre on the image, pixels, pixel centres on integers.
    pub mean_px: [R; 2],
    /// `x`, `y` of the centre with x/z and y/z clamped to the widened view; used by the Jacobian only.
    pub clamped_xy: [R; 2],
    /// Whether the clamp was active per axis.
    pub clamp_active: [bool; 2],
    /// Standard deviations before the 3D filter.
    pub scale: Vec3<R>,
    /// Standard deviations after the 3D filter, s'.
    pub filtered_scale: Vec3<R>,
    /// Length of the stored quaternion.
    pub quat_length: R,
    /// Normalised quaternion.
    pub unit_quat: [R; 4],
    /// Rotation matrix of the unit quaternion.
    pub rotation: Mat3<R>,
    /// R S', whose square is the world covariance.
    pub shape: Mat3<R>,
    /// Rows of M = J W; 0 where the camera has a lens.
    pub m: [Vec3<R>; 2],
    /// 2D covariance before the image-plane filter, px^2.
    pub cov: Sym2<R>,
    /// 2D covariance after it, px^2.
    pub filtered_cov: Sym2<R>,
    /// Determinant of `filtered_cov`: that of `cov`, from the minors of M R S' (Cauchy-Binet, nothing cancels), plus
    /// what the filter adds.
    pub filtered_det: R,
    /// Determinant of `cov`, at least [`DET_MIN`].
    pub det0: R,
    /// Determinant of `filtered_cov`, at least [`DET_MIN`].
    pub det1: R,
    /// Opacity factor of the 2D filter; 0 when a determinant was clamped.
    pub coef: R,
    /// Opacity factor of the 3D filter.
    pub c3: R,
    /// Opacity before both filters.
    pub raw_opacity: R,
}

/// Largest distance from the optical axis, in units of z, that the Jacobian sees on either side: the image widened by
/// 0.3 tan(fov / 2). Equal to +-1.3 tan(fov / 2) when the principal point is central.
pub(super) fn jacobian_limits<R: Real>(view: &View<R>, axis: usize) -> (R, R) {
    let size = R::of(f64::from(view.size_px[axis]));
    let margin = R::of(0.3) * size / (R::of(2.0) * view.focal[axis]);
    (
        -(view.centre[axis] / view.focal[axis] + margin),
        (size - view.centre[axis]) / view.focal[axis] + margin,
    )
}

/// Projects shape and opacity; `None` when the centre is not beyond the near plane.
#[must_use]
pub fn footprint<R: Real>(
    gaussian: &Gaussian<R>,
    filter_3d: R,
    view: &View<R>,
    filter_2d: Filter2d,
) -> Option<Footprint<R>> {
    let camera = view.to_camera(gaussian.mean);
    let [x, y, z] = camera;
    let depth = view.lens.map_or(z, |_| norm(camera));
    if depth.is_nan() || depth <= view.near_z {
        return None;
    }
    let log_scale = gaussian.log_scale;
    let s = log_scale.map(R::exp);
    let (filtered_scale, c3) = filter_3d::apply(s, filter_3d);
    if let Some(lens) = &view.lens {
        let theta = (x * x + y * y).sqrt().atan2(z);
        if theta > lens.drawn() || theta + unscented::angle(filtered_scale, depth) >= R::of(std::f64::consts::PI) {
            return None;
        }
    }
    let quat_length = norm(gaussian.quat);
    let unit_quat = gaussian.quat.map(|v| v / quat_length);
    let rotation = rotation(unit_quat);
    let shape: Mat3<R> = std::array::from_fn(|i| std::array::from_fn(|j| rotation[i][j] * filtered_scale[j]));
    let flat = match view.lens {
        Some(lens) => {
            let seen = unscented::see(&lens, view, camera, shape);
            Flat {
                mean: seen.mean,
                cov: seen.cov,
                det: seen.det,
                clamped_xy: [x, y],
                clamp_active: [false; 2],
                m: [[R::ZERO; 3]; 2],
            }
        }
        None => flat_through_pinhole(view, camera, shape),
    };
    let Flat { cov, det, .. } = flat;
    let variance = R::of(filter_2d.variance_px2());
    let filtered_cov = [cov[0] + variance, cov[1], cov[2] + variance];

    let floor = R::of(DET_MIN);
    let filtered_det = det + variance * (cov[0] + cov[2]) + variance * variance;
    let (det0, det1) = (det.max(floor), filtered_det.max(floor));
    let coef = match filter_2d {
        Filter2d::Classic => R::ONE,
        Filter2d::Mip { .. } if det0 == floor || det1 == floor => R::ZERO,
        Filter2d::Mip { .. } => (det0 / (det1 + floor) + floor).sqrt(),
    };
    Some(Footprint {
        camera,
        depth,
        mean_px: std::array::from_fn(|i| flat.mean[i] + view.centre[i] - R::of(0.5)),
        clamped_xy: flat.clamped_xy,
        clamp_active: flat.clamp_active,
        scale: s,
        filtered_scale,
        quat_length,
        unit_quat,
        rotation,
        shape,
        m: flat.m,
        cov,
        filtered_cov,
        filtered_det,
        det0,
        det1,
        coef,
        c3,
        raw_opacity: sigmoid(gaussian.logit_opacity),
    })
}

/// What a camera makes of a Gaussian; see [`Footprint`]. `mean` is from the principal point.
struct Flat<R> {
    mean: [R; 2],
    cov: Sym2<R>,
    det: R,
    clamped_xy: [R; 2],
    clamp_active: [bool; 2],
    m: [Vec3<R>; 2],
}

/// The local affine approximation.
fn flat_through_pinhole<R: Real>(view: &View<R>, camera: Vec3<R>, shape: Mat3<R>) -> Flat<R> {
    let z = camera[2];
    let mut clamped_xy = [camera[0], camera[1]];
    let mut clamp_active = [false; 2];
    for axis in 0..2 {
        let (low, high) = jacobian_limits(view, axis);
        let slope = camera[axis] / z;
        clamp_active[axis] = slope < low || slope > high;
        if clamp_active[axis] {
            clamped_xy[axis] = slope.max(low).min(high) * z;
        }
    }
    let j = jacobian(view, clamped_xy, z);
    let m = mat_mul(j, view.rotation);
    let t = mat_mul(m, shape);
    let minors = cross(t[0], t[1]);
    Flat {
        mean: std::array::from_fn(|i| view.focal[i] * camera[i] / z),
        cov: [dot(t[0], t[0]), dot(t[0], t[1]), dot(t[1], t[1])],
        det: dot(minors, minors),
        clamped_xy,
        clamp_active,
        m,
    }
}

/// Rows of the projection's Jacobian at camera position (x, y, z): (fx/z, 0, -fx x/z^2), (0, fy/z, -fy y/z^2).
fn jacobian<R: Real>(view: &View<R>, [x, y]: [R; 2], z: R) -> [Vec3<R>; 2] {
    let [fx, fy] = view.focal;
    [
        [fx / z, R::ZERO, -(fx * x) / (z * z)],
        [R::ZERO, fy / z, -(fy * y) / (z * z)],
    ]
}

/// Unclamped colour plus the unit view direction and its length before normalisation.
#[must_use]
pub fn colour<R: Real>(gaussian: &Gaussian<R>, view: &View<R>, sh_degree: u32) -> (Vec3<R>, Vec3<R>, R) {
    let offset = sub(gaussian.mean, view.position);
    let length = norm(offset);
    let direction = scale(offset, R::ONE / length);
    let basis = sh_basis(sh_degree, direction);
    let mut rgb = [R::of(0.5); 3];
    for (weight, coefficient) in basis.iter().zip(&gaussian.sh) {
        for (channel, value) in rgb.iter_mut().zip(coefficient) {
            *channel += *weight * *value;
        }
    }
    (rgb, direction, length)
}

impl Settings {
    /// Factor of opacities for what the step leaves out.
    #[must_use]
    pub fn opacity_gain<R: Real>(&self) -> R {
        self.dropout.map_or(R::ONE, Dropout::gain)
    }
}

/// Whole projection of Gaussian `id`; `None` when it touches no tile, or is left out.
#[must_use]
pub fn project<R: Real>(
    id: u32,
    gaussian: &Gaussian<R>,
    filter_3d: R,
    view: &View<R>,
    settings: &Settings,
) -> Option<Visible<R>> {
    if settings.dropout.is_some_and(|dropout| dropout.drops(id)) {
        return None;
    }
    let f = footprint(gaussian, filter_3d, view, settings.filter_2d)?;
    let det = f.filtered_det;
    let opacity = f.raw_opacity * f.c3 * f.coef * settings.opacity_gain();
    if det.is_nan() || det <= R::ZERO || R::ONE / det == R::ZERO || opacity.is_nan() || opacity < R::of(ALPHA_MIN) {
        return None;
    }
    let [a, b, c] = f.filtered_cov;
    let conic = [c / det, -b / det, a / det];
    let mean_px = f.mean_px;
    let radius_px = radius(f.filtered_cov, det);
    let rect = tile_rect(mean_px, radius_px, view.size_px);
    let (unclamped, _, _) = colour(gaussian, view, settings.sh_degree);
    let mut visible = Visible {
        id,
        mean_px,
        depth: f.depth,
        conic,
        opacity,
        rgb: unclamped.map(|v| v.max(R::ZERO)),
        clamped: unclamped.map(|v| v < R::ZERO),
        radius_px,
        rect,
        n_tiles: 0,
    };
    visible.n_tiles = (rect.min[1]..rect.max[1])
        .map(|row| tile_span(&visible, row, settings))
        .map(|[a, b]| b - a)
        .sum();
    (visible.n_tiles > 0).then_some(visible)
}

/// The record that a rendering of near light blends: white where its depth is below `limit`, black elsewhere; with a limit below 0
/// the first three powers of its depth's logarithm.
#[must_use]
pub fn as_near<R: Real>(visible: &Visible<R>, limit: R) -> Visible<R> {
    let (away, near) = (visible.depth.ln(), if visible.depth < limit { R::ONE } else { R::ZERO });
    let moments = [away, away * away, away * away * away];
    Visible {
        rgb: if limit < R::ZERO { moments } else { [near; 3] },
        clamped: [false; 3],
        ..*visible
    }
}

/// Radius on screen of a Gaussian that is before the camera and whose rectangle meets the image, pixels, however faint it
/// is there: what counts as seen for densification.
#[must_use]
pub fn shown_radius<R: Real>(gaussian: &Gaussian<R>, filter_3d: R, view: &View<R>, settings: &Settings) -> Option<R> {
    let f = footprint(gaussian, filter_3d, view, settings.filter_2d)?;
    let det = f.filtered_det;
    if det.is_nan() || det <= R::ZERO || R::ONE / det == R::ZERO {
        return None;
    }
    let radius_px = radius(f.filtered_cov, det);
    let rect = tile_rect(f.mean_px, radius_px, view.size_px);
    (0..2).all(|i| rect.min[i] < rect.max[i]).then_some(radius_px)
}

/// Three standard deviations along the longer axis, rounded up to whole pixels; the spread of the eigenvalues is at
/// least sqrt(0.1).
#[must_use]
pub fn radius<R: Real>(cov: Sym2<R>, det: R) -> R {
    let mid = (cov[0] + cov[2]) / R::of(2.0);
    let lambda_max = mid + (mid * mid - det).max(R::of(0.1)).sqrt();
    (R::of(3.0) * lambda_max.sqrt()).ceil()
}

/// Tiles within `radius` pixels of a centre, clamped to the image.
#[must_use]
pub fn tile_rect<R: Real>(mean_px: [R; 2], radius_px: R, size_px: [u32; 2]) -> TileRect {
    let grid = tile_grid(size_px[0], size_px[1]);
    let tile = R::of(f64::from(TILE));
    let first = |i: usize| clamp_index(((mean_px[i] - radius_px) / tile).floor(), grid[i]);
    let last = |i: usize| clamp_index(((mean_px[i] + radius_px + tile - R::ONE) / tile).floor(), grid[i]);
    TileRect {
        min: [first(0), first(1)],
        max: [last(0), last(1)],
    }
}

/// An integral value as an index in 0..=limit.
fn clamp_index<R: Real>(value: R, limit: u32) -> u32 {
    value.max(R::ZERO).min(R::of(f64::from(limit))).to_f64() as u32
}

/// Tile columns `[first, end)` that a visible Gaussian touches in one tile row of its rectangle.
///
/// With [`Settings::tight_tiles`], the ellipse `A dx^2 + 2 B dx dy + C dy^2 <= 2 t`, `t = ln(255 opacity)`, is cut by the band of the
/// row's pixel centres. Its right extreme over the band is at the dy nearest to the ellipse's own rightmost point, and
/// likewise on the left; a tile counts when its pixel centres overlap the interval between the two.
#[must_use]
pub fn tile_span<R: Real>(visible: &Visible<R>, row: u32, settings: &Settings) -> [u32; 2] {
    let TileRect {
        min: [first, _],
        max: [end, _],
    } = visible.rect;
    if !settings.tight_tiles || first >= end {
        return [first, end.max(first)];
    }
    let [a, b, c] = visible.conic;
    let two_t = R::of(2.0) * ((R::of(255.0) * visible.opacity).ln() + R::of(TILE_SLACK));
    let det = a * c - b * b;
    let tile = R::of(f64::from(TILE));
    let top = R::of(f64::from(row)) * tile - visible.mean_px[1];
    let dy_max = (two_t * a / det).sqrt();
    let bottom = top + tile - R::ONE;
    let (band_low, band_high) = (top.max(-dy_max), bottom.min(dy_max));
    if band_low > band_high {
        return [first, first];
    }
    let dy_right = -(b / c) * (two_t * c / det).sqrt();
    let extreme = |dy: R, side: R| {
        let dy = dy.max(band_low).min(band_high);
        (side * (two_t * a - det * dy * dy).max(R::ZERO).sqrt() - b * dy) / a
    };
    let right = visible.mean_px[0] + extreme(dy_right, R::ONE);
    let left = visible.mean_px[0] + extreme(-dy_right, -R::ONE);
    let span_first = clamp_index(((left - tile + R::ONE) / tile).ceil(), end).max(first);
    let span_end = clamp_index((right / tile).floor() + R::ONE, end);
    [span_first, span_end.max(span_first)]
}

#[cfg(test)]
mod tests;
