//! One Gaussian's parameters and one camera, in the float type of a twin.

use super::sh::SH_MAX;
use kiln_gaussians::Gaussians;
use kiln_scene::math::{Mat3, Real, Vec3};
use kiln_scene::{Camera, DEFAULT_NEAR_Z, Fisheye};

/// Trainable values of one Gaussian; also the shape of their gradient and of each optimiser moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian<R> {
    /// World-space centre.
    pub mean: Vec3<R>,
    /// Rotation (w, x, y, z), not necessarily normalised.
    pub quat: [R; 4],
    /// Natural logarithms of the standard deviations.
    pub log_scale: Vec3<R>,
    /// Opacity before the sigmoid.
    pub logit_opacity: R,
    /// SH coefficients, RGB each; those above the model's degree are 0.
    pub sh: [Vec3<R>; SH_MAX],
}

/// Scalars of a [`Gaussian`] in the order of [`Gaussian::values`].
pub const VALUES: usize = 11 + 3 * SH_MAX;

impl<R: Real> Gaussian<R> {
    /// All zeros: an empty gradient or moment.
    pub const ZERO: Self = Self {
        mean: [R::ZERO; 3],
        quat: [R::ZERO; 4],
        log_scale: [R::ZERO; 3],
        logit_opacity: R::ZERO,
        sh: [[R::ZERO; 3]; SH_MAX],
    };

    /// The model's Gaussians, converted.
    #[must_use]
    pub fn from_model(model: &Gaussians) -> Vec<Self> {
        let of = |v: f32| R::of(f64::from(v));
        let rest = model.rest_coefficients();
        (0..model.len())
            .map(|i| {
                let mut sh = [[R::ZERO; 3]; SH_MAX];
                sh[0] = model.sh0[i].map(of);
                for k in 0..rest {
                    let at = 3 * (i * rest + k);
                    sh[1 + k] = std::array::from_fn(|c| of(model.sh_rest[at + c]));
                }
                Self {
                    mean: model.means[i].map(of),
                    quat: model.quats[i].map(of),
                    log_scale: model.log_scales[i].map(of),
                    logit_opacity: of(model.logit_opacities[i]),
                    sh,
                }
            })
            .collect()
    }

    /// Every scalar, in the order of the device's planes: mean, quaternion, log scale, opacity, SH coefficient-major.
    #[must_use]
    pub fn values(&self) -> [R; VALUES] {
        let mut values = [R::ZERO; VALUES];
        values[0..3].copy_from_slice(&self.mean);
        values[3..7].copy_from_slice(&self.quat);
        values[7..10].copy_from_slice(&self.log_scale);
        values[10] = self.logit_opacity;
        values[11..].copy_from_slice(self.sh.as_flattened());
        values
    }

    /// Inverse of [`Gaussian::values`].
    #[must_use]
    pub fn from_values(values: &[R; VALUES]) -> Self {
        Self {
            mean: std::array::from_fn(|i| values[i]),
            quat: std::array::from_fn(|i| values[3 + i]),
            log_scale: std::array::from_fn(|i| values[7 + i]),
            logit_opacity: values[10],
            sh: std::array::from_fn(|k| std::array::from_fn(|c| values[11 + 3 * k + c])),
        }
    }
}

/// A camera in the float type of a twin; the meaning of each field is [`Camera`]'s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View<R> {
    /// Image width and height, pixels.
    pub size_px: [u32; 2],
    /// Focal lengths x and y, pixels.
    pub focal: [R; 2],
    /// Principal point, pixels, top-left corner of the image at 0.
    pub centre: [R; 2],
    /// World to camera.
    pub rotation: Mat3<R>,
    /// World to camera.
    pub translation: Vec3<R>,
    /// Camera centre in world space.
    pub position: Vec3<R>,
    /// Centres must lie beyond this depth to be drawn, world units.
    pub near_z: R,
    /// `None` for a pinhole.
    pub lens: Option<Fisheye<R>>,
}

impl<R: Real> View<R> {
    /// Converts a camera; the centre is computed in `R` from the converted pose. The near plane is that of
    /// nothing in particular, see [`View::beyond`].
    #[must_use]
    pub fn new(camera: &Camera) -> Self {
        let of = |v: f32| R::of(f64::from(v));
        let rotation = camera.rotation.map(|row| row.map(of));
        let translation = camera.translation.map(of);
        Self {
            size_px: [camera.width_px, camera.height_px],
            focal: [of(camera.fx), of(camera.fy)],
            centre: [of(camera.cx), of(camera.cy)],
            rotation,
            translation,
            position: kiln_scene::math::mat_vec(kiln_scene::math::transpose(rotation), translation).map(|v| -v),
            near_z: of(DEFAULT_NEAR_Z),
            lens: camera.lens.map(|lens| lens.to()),
        }
    }

    /// The same with another near plane, world units.
    #[must_use]
    pub fn beyond(self, near_z: f32) -> Self {
        Self {
            near_z: R::of(f64::from(near_z)),
            ..self
        }
    }

    /// Where a point in camera axes is in the picture, pixels, top-left corner of the image at 0, and its depth: its z, or its
    /// distance where the camera has a lens. `None` when it is too near or beyond what is drawn.
    #[must_use]
    pub fn seen(&self, point: Vec3<R>) -> Option<([R; 2], R)> {
        let [x, y, z] = point;
        let (place, depth) = match &self.lens {
            Some(lens) if (x * x + y * y).sqrt().atan2(z) > lens.drawn() => return None,
            Some(lens) => (lens.place(point), kiln_scene::math::norm(point)),
            None => ([x / z, y / z], z),
        };
        let at = std::array::from_fn(|axis| place[axis] * self.focal[axis] + self.centre[axis]);
        (!depth.is_nan() && depth > self.near_z).then_some((at, depth))
    }

    /// A world point in camera axes.
    #[must_use]
    pub fn to_camera(&self, point: Vec3<R>) -> Vec3<R> {
        kiln_scene::math::add(kiln_scene::math::mat_vec(self.rotation, point), self.translation)
    }
}
