//! Planes of Gaussians, blended, and the depth and normals of what they show.
//!
//! The plane of a Gaussian goes through its centre across its thinnest axis (PGSR, Chen et al. 2024, sec. 3.1): normal n
//! towards the camera, distance d = -n . c, camera space. A pixel's ray r with z = 1 meets it at z = d / (-n . r); with blending
//! weights w, N = sum w n and D = sum w d, the blended plane is met at D / (-N . r), whatever the coverage (eq. 5).

use super::gaussian::{Gaussian, View};
use super::project::Visible;
use super::rasterize::{TRANSMITTANCE_MIN, coverage};
use kiln_kernels::surface_depth::{DepthKind, Depths};
use kiln_scene::math::{Real, Vec3, cross, dot, mat_vec, norm, rotation, scale, sub, transpose};

/// Least slope, as a cosine, at which a ray meets a plane.
pub const LEAST_SLOPE: f64 = 0.05;
/// Light that must be blocked for a pixel to have a depth.
pub const LEAST_COVERAGE: f64 = 0.5;

/// A plane in camera space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plane<R> {
    /// Towards the camera, of length 1.
    pub normal: Vec3<R>,
    /// From the camera's centre, world units.
    pub distance: R,
}

impl<R: Real> Plane<R> {
    /// None.
    pub const ZERO: Self = Self {
        normal: [R::ZERO; 3],
        distance: R::ZERO,
    };
}

/// The axis along which a Gaussian is thinnest, without the 3D filter; the first of equal ones.
#[must_use]
pub fn thinnest<R: Real>([x, y, z]: Vec3<R>) -> usize {
    match (x <= y, x <= z, y <= z) {
        (true, true, _) => 0,
        (true, false, _) | (false, _, false) => 2,
        (false, _, true) => 1,
    }
}

/// The plane that a Gaussian lies in.
#[must_use]
pub fn plane<R: Real>(gaussian: &Gaussian<R>, view: &View<R>) -> Plane<R> {
    turned(gaussian, view).0
}

/// What is blended for a Gaussian: its plane, and with `depths` the depth of its centre in place of the plane's distance.
#[must_use]
pub fn plane_for<R: Real>(gaussian: &Gaussian<R>, view: &View<R>, depths: bool) -> Plane<R> {
    let plane = plane(gaussian, view);
    let depth = view.to_camera(gaussian.mean)[2];
    Plane {
        distance: if depths { depth } else { plane.distance },
        ..plane
    }
}

/// The plane, and the sign by which the axis was turned towards the camera.
fn turned<R: Real>(gaussian: &Gaussian<R>, view: &View<R>) -> (Plane<R>, R) {
    let thin = thinnest(gaussian.log_scale);
    let length = norm(gaussian.quat);
    let turned = rotation(gaussian.quat.map(|q| q / length));
    let axis = [turned[0][thin], turned[1][thin], turned[2][thin]];
    let normal = mat_vec(view.rotation, axis);
    let distance = -dot(normal, view.to_camera(gaussian.mean));
    let sign = if distance < R::ZERO { -R::ONE } else { R::ONE };
    let plane = Plane {
        normal: scale(normal, sign),
        distance: sign * distance,
    };
    (plane, sign)
}

/// What the gradient of a Gaussian's plane comes to.
#[derive(Clone, Copy, Debug)]
pub struct PlaneBackward<R> {
    /// The thinnest axis.
    pub axis: usize,
    /// Gradient of that axis, world space: of a column of the rotation.
    pub direction: Vec3<R>,
    /// Gradient of the centre, camera space.
    pub camera: Vec3<R>,
}

/// Through d = -n . c and n = s W R e_k, with the Gaussian's centre c in camera space, the rotations W of the camera and R of the
/// Gaussian; the thinnest axis k and the sign s are constants of the step. With `depths` the gradient by the distance is by the
/// depth of the centre.
#[must_use]
pub fn plane_backward<R: Real>(
    gaussian: &Gaussian<R>,
    view: &View<R>,
    gradient: &Plane<R>,
    depths: bool,
) -> PlaneBackward<R> {
    let (plane, sign) = turned(gaussian, view);
    if depths {
        return PlaneBackward {
            axis: thinnest(gaussian.log_scale),
            direction: scale(mat_vec(transpose(view.rotation), gradient.normal), sign),
            camera: [R::ZERO, R::ZERO, gradient.distance],
        };
    }
    let centre = view.to_camera(gaussian.mean);
    let by_normal = sub(gradient.normal, scale(centre, gradient.distance));
    PlaneBackward {
        axis: thinnest(gaussian.log_scale),
        direction: scale(mat_vec(transpose(view.rotation), by_normal), sign),
        camera: scale(plane.normal, -gradient.distance),
    }
}

/// The ray through the centre of a pixel, camera space, z = 1.
#[must_use]
pub fn pixel_ray<R: Real>(view: &View<R>, [x, y]: [R; 2]) -> Vec3<R> {
    let half = R::of(0.5);
    let [fx, fy] = view.focal;
    let [cx, cy] = view.centre;
    [(x - (cx - half)) / fx, (y - (cy - half)) / fy, R::ONE]
}

/// Depth at which a ray meets the plane of one Gaussian, `center` where it hardly does.
#[must_use]
pub fn splat_depth<R: Real>(plane: &Plane<R>, center: R, ray: Vec3<R>) -> R {
    let slope = -dot(plane.normal, ray);
    let z = plane.distance / slope;
    if slope > R::of(LEAST_SLOPE) && z > R::ZERO {
        z
    } else {
        center
    }
}

/// What a pixel blends beside colours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Blended<R> {
    /// Sums of normals and of distances by blending weight.
    pub plane: Plane<R>,
    /// Depth of the Gaussian at which half the light is blocked; 0 for none.
    pub median: R,
    /// Sum of the centres' depths by blending weight.
    pub depth: R,
    /// Transmittance that is left.
    pub transmittance: R,
}

/// Blends one pixel as [`super::rasterize::blend_pixel`] does colours; `planes` belong to `visible`.
#[must_use]
pub fn blend_pixel<R: Real>(
    visible: &[Visible<R>],
    planes: &[Plane<R>],
    list: &[u32],
    pixel: [R; 2],
    view: &View<R>,
) -> Blended<R> {
    let mut sum = Blended {
        transmittance: R::ONE,
        ..Blended::default()
    };
    let ray = pixel_ray(view, pixel);
    for &index in list {
        let (splat, plane) = (&visible[index as usize], &planes[index as usize]);
        let Some(cover) = coverage(splat.mean_px, splat.conic, splat.opacity, pixel) else {
            continue;
        };
        let behind = sum.transmittance * (R::ONE - cover.alpha);
        if behind < R::of(TRANSMITTANCE_MIN) {
            break;
        }
        let weight = cover.alpha * sum.transmittance;
        for (sum, n) in sum.plane.normal.iter_mut().zip(plane.normal) {
            *sum += weight * n;
        }
        sum.plane.distance += weight * plane.distance;
        sum.depth += weight * splat.depth;
        if sum.transmittance > R::of(0.5) && behind <= R::of(0.5) {
            sum.median = splat_depth(plane, splat.depth, ray);
        }
        sum.transmittance = behind;
    }
    sum
}

/// Depth of a pixel; 0 for none.
#[must_use]
pub fn depth<R: Real>(blended: &Blended<R>, ray: Vec3<R>, depths: &Depths) -> R {
    let covered = R::ONE - blended.transmittance;
    if depths.kind == DepthKind::Blended {
        let z = blended.plane.distance;
        let counts = z > R::ZERO && z <= R::of(depths.far.into());
        return if counts { z } else { R::ZERO };
    }
    if covered.is_nan() || covered <= R::of(LEAST_COVERAGE) {
        return R::ZERO;
    }
    let z = match depths.kind {
        DepthKind::Plane => {
            let slope = -dot(blended.plane.normal, ray);
            if slope > R::of(LEAST_SLOPE) * norm(blended.plane.normal) {
                blended.plane.distance / slope
            } else {
                R::ZERO
            }
        }
        DepthKind::Median => blended.median,
        DepthKind::Expected | DepthKind::Blended => blended.depth / covered,
    };
    let counts = z > R::ZERO && z <= R::of(depths.far.into());
    if counts { z } else { R::ZERO }
}

/// Depth and normal of every pixel, row by row, from what it blended; 0 for none. Normals are those of the depth map, by central
/// differences.
#[must_use]
pub fn depth_map<R: Real>(blended: &[Blended<R>], view: &View<R>, depths: &Depths) -> Vec<(R, Vec3<R>)> {
    let [width, height] = view.size_px;
    let ray = |x: u32, y: u32| pixel_ray(view, [x, y].map(|v| R::of(f64::from(v))));
    let at = |x: u32, y: u32| depth(&blended[(y * width + x) as usize], ray(x, y), depths);
    let point = |x: u32, y: u32| scale(ray(x, y), at(x, y));
    let mut map = Vec::with_capacity(blended.len());
    for y in 0..height {
        for x in 0..width {
            let z = at(x, y);
            let mut entry = (z, [R::ZERO; 3]);
            let inside = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
            if inside && z > R::ZERO {
                let [left, right, above, below] = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
                let all = [left, right, above, below].iter().all(|&(x, y)| at(x, y) > R::ZERO);
                let across = sub(point(right.0, right.1), point(left.0, left.1));
                let down = sub(point(below.0, below.1), point(above.0, above.1));
                let n = cross(across, down);
                let size = norm(n);
                if all && size > R::ZERO {
                    let turned = if dot(n, ray(x, y)) > R::ZERO { -size } else { size };
                    let normal = scale(n, R::ONE / turned);
                    let cosine = -dot(normal, ray(x, y)) / norm(ray(x, y));
                    let z = if cosine < R::of(depths.least_cosine.into()) {
                        R::ZERO
                    } else {
                        z
                    };
                    entry = (z, normal);
                }
            }
            map.push(entry);
        }
    }
    map
}

#[cfg(test)]
pub(crate) mod differences;
#[cfg(test)]
mod gradients;

#[cfg(test)]
mod tests {
    use super::super::scenes::camera;
    use super::*;

    const PLANE: Depths = Depths {
        kind: DepthKind::Plane,
        far: 100.0,
        least_cosine: -1.0,
    };

    /// A flat Gaussian at the origin whose normal is the direction `(0, sin, cos)` of the world.
    fn disc(sin: f64) -> Gaussian<f64> {
        let half = (sin.asin() / 2.0).sin_cos();
        Gaussian {
            mean: [0.0; 3],
            quat: [half.1, -half.0, 0.0, 0.0],
            log_scale: [-1.0, -1.2, -6.0],
            logit_opacity: 2.0,
            sh: [[0.0; 3]; 16],
        }
    }

    #[test]
    fn planes_pass_through_centres_and_face_the_camera() {
        let view = View::<f64>::new(&camera());
        for sin in [0.0, 0.5, -0.8] {
            let plane = plane(&disc(sin), &view);
            let center = view.to_camera([0.0; 3]);
            assert!((norm(plane.normal) - 1.0).abs() < 1e-6);
            assert!((dot(plane.normal, center) + plane.distance).abs() < 1e-12);
            assert!(plane.distance >= 0.0);
            let wanted = mat_vec(view.rotation, [0.0, sin, (1.0 - sin * sin).sqrt()]);
            assert!(
                (dot(plane.normal, wanted).abs() - 1.0).abs() < 1e-6,
                "{plane:?} {wanted:?}"
            );
        }
    }

    /// A slanted plane, drawn with any coverage, has its exact depth at every pixel, and the depth map's normals are its own.
    #[test]
    fn plane_depth_is_exact_and_coverage_cancels() {
        let view = View::<f64>::new(&camera());
        let plane = plane(&disc(0.6), &view);
        let n_px = (view.size_px[0] * view.size_px[1]) as usize;
        let blended: Vec<_> = (0..n_px)
            .map(|i| {
                let cover = 0.51 + 0.48 * (i % 7) as f64 / 6.0;
                Blended {
                    plane: Plane {
                        normal: scale(plane.normal, cover),
                        distance: cover * plane.distance,
                    },
                    median: 0.0,
                    depth: 0.0,
                    transmittance: 1.0 - cover,
                }
            })
            .collect();
        for (i, (z, normal)) in depth_map(&blended, &view, &PLANE).into_iter().enumerate() {
            let [x, y] = [i as u32 % view.size_px[0], i as u32 / view.size_px[0]];
            let ray = pixel_ray(&view, [f64::from(x), f64::from(y)]);
            assert!(
                (dot(plane.normal, scale(ray, z)) + plane.distance).abs() < 1e-9,
                "{i}: {z}"
            );
            if normal != [0.0; 3] {
                assert!((dot(normal, plane.normal) - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn what_is_faint_far_or_edge_on_has_no_depth() {
        let ray = [0.0, 0.0, 1.0];
        let seen = Blended {
            plane: Plane {
                normal: [0.0, 0.0, -0.8],
                distance: 4.0,
            },
            median: 5.5,
            depth: 4.2,
            transmittance: 0.2,
        };
        let of = |blended: Blended<f64>, kind, far| depth(&blended, ray, &Depths { kind, far, ..PLANE });
        assert_eq!(of(seen, DepthKind::Plane, 9.0), 5.0);
        assert_eq!(of(seen, DepthKind::Median, 9.0), 5.5);
        assert!((of(seen, DepthKind::Expected, 9.0) - 5.25).abs() < 1e-12);
        assert_eq!(of(seen, DepthKind::Plane, 4.9), 0.0);
        let faint = Blended {
            transmittance: 0.5,
            ..seen
        };
        assert_eq!(of(faint, DepthKind::Plane, 9.0), 0.0);
        let edge_on = Blended {
            plane: Plane {
                normal: [0.8, 0.0, -0.03],
                distance: 4.0,
            },
            ..seen
        };
        assert_eq!(of(edge_on, DepthKind::Plane, 1e9), 0.0);
    }
}
