//! The CPU reference on a test's inputs, stepping its own copy of the model.

use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::{StepUniforms, flags};
use kiln_scene::Camera;
use kiln_twins::adam::{Adam, GroupStep, GroupSteps, Moments, adam};
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::loss::Weights;
use kiln_twins::project::{Filter2d, Settings, shown_radius};
use kiln_twins::statistics::{Statistics, accumulate};
use kiln_twins::step::{Step, step, surface_step, target_from_u8};

/// Learning rates by group: means, rotations, scales, opacity, SH0, higher SH.
pub const RATES: [f64; 6] = [1.6e-3, 1e-3, 5e-3, 5e-2, 2.5e-3, 1.25e-4];
/// Variance of the 2D Mip filter, px^2.
pub const KERNEL_SIZE: f32 = 0.1;
/// Behind every test's image; no 8-bit value, because where image and target are equal the sign of their difference is up to
/// the rounding of a division.
pub const BACKGROUND: [f32; 3] = [0.2013, 0.4187, 0.1034];

/// Uniforms of training step `iteration` (from 1) with every group at that many updates.
#[must_use]
pub fn uniforms(camera: &Camera, sh_degree: u32, iteration: u32) -> StepUniforms {
    let mut u = StepUniforms::for_camera(camera, BACKGROUND, KERNEL_SIZE);
    u.iteration = iteration;
    u.sh_degree = sh_degree;
    u.flags = flags::STATISTICS | flags::COUNT_FAINT | flags::UPDATE;
    for (group, rate) in RATES.iter().enumerate() {
        let f = Adam::default().factors::<f32>(GroupStep {
            rate: *rate,
            step: iteration,
        });
        u.adam_rate[group] = f.step_size;
        u.adam_scale[group] = f.second_scale;
    }
    u
}

/// Model, moments and statistics of the reference.
#[derive(Clone, Debug)]
pub struct Twin {
    /// Parameters.
    pub gaussians: Vec<Gaussian<f32>>,
    /// 3D filter.
    pub filter_3d: Vec<f32>,
    /// Adam's moments.
    pub moments: Vec<Moments<f32>>,
    /// Densification statistics.
    pub statistics: Vec<Statistics<f32>>,
    /// Filter, degree.
    pub settings: Settings,
    /// Weight of the loss of surfaces.
    pub normals: f32,
    /// Weight of the least standard deviations in the loss.
    pub flat: f32,
}

impl Twin {
    /// A copy of `model` that was never updated.
    #[must_use]
    pub fn new(model: &Gaussians) -> Self {
        Self {
            gaussians: Gaussian::from_model(model),
            filter_3d: model.filter_3d.clone(),
            moments: vec![Moments::ZERO; model.len()],
            statistics: vec![Statistics::default(); model.len()],
            settings: Settings {
                filter_2d: Filter2d::Mip {
                    kernel_size: f64::from(KERNEL_SIZE),
                },
                sh_degree: model.sh_degree,
                tight_tiles: true,
                dropout: None,
                plane_depths: false,
            },
            normals: 0.0,
            flat: 0.0,
        }
    }

    /// Which Gaussians have a radius on screen, visible or not.
    #[must_use]
    pub fn shown(&self, camera: &Camera) -> Vec<bool> {
        let view = View::new(camera);
        let pairs = self.gaussians.iter().zip(&self.filter_3d);
        let left_out = |id: u32| self.settings.dropout.is_some_and(|dropout| dropout.drops(id));
        let radius = |(gaussian, &filter): (&_, &f32)| shown_radius(gaussian, filter, &view, &self.settings);
        (0..)
            .zip(pairs)
            .map(|(id, pair)| radius(pair).is_some() && !left_out(id))
            .collect()
    }

    /// Forward and backward, no update.
    #[must_use]
    pub fn step(&self, camera: &Camera, target: &[u8]) -> Step<f32> {
        let (gaussians, filter_3d, settings) = (&self.gaussians, &self.filter_3d, &self.settings);
        let (view, target) = (View::new(camera), target_from_u8(target));
        let weights = Weights::default();
        if self.normals > 0.0 {
            surface_step(
                gaussians,
                filter_3d,
                &view,
                settings,
                BACKGROUND,
                &target,
                weights,
                self.normals,
            )
            .0
        } else {
            step(gaussians, filter_3d, &view, settings, BACKGROUND, &target, weights)
        }
    }

    /// A whole training step with the rates of [`uniforms`].
    pub fn train(&mut self, camera: &Camera, target: &[u8], iteration: u32) -> Step<f32> {
        let out = self.step(camera, target);
        let size = [camera.width_px, camera.height_px];
        let shown = self.shown(camera);
        accumulate(
            size,
            &shown,
            &out.forward.visible,
            &out.gradients_2d,
            &mut self.statistics,
        );
        let group = |i: usize| {
            Some(GroupStep {
                rate: RATES[i],
                step: iteration,
            })
        };
        let groups = GroupSteps {
            mean: group(0),
            quat: group(1),
            log_scale: group(2),
            opacity: group(3),
            sh0: group(4),
            sh_rest: group(5),
        };
        adam(
            &Adam::default(),
            &groups,
            &mut self.gaussians,
            &mut self.moments,
            &out.gradients,
        );
        out
    }
}
