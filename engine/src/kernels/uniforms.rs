//! The uniform block of a step: everything that changes from step to step, written by the host into a ring slot.

use crate::scene::{Camera, DEFAULT_NEAR_Z};

/// Width of a tile in pixels.
pub const TILE_PX: u32 = 16;

/// The optimiser's parameter groups: indices of the rate tables and bits of the skip mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Group {
    /// Centres.
    Means = 0,
    /// Rotations.
    Quats = 1,
    /// Log scales.
    Scales = 2,
    /// Opacity logits.
    Opacity = 3,
    /// Degree-0 colour.
    Sh0 = 4,
    /// Higher-degree colour.
    ShRest = 5,
}

impl Group {
    /// Bit of this group in `adam_skip_mask`.
    #[must_use]
    pub fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Bits of [`StepUniforms::flags`].
pub mod flags {
    /// Accumulate densification statistics.
    pub const STATISTICS: u32 = 1;
    /// Plain dilation without opacity compensation instead of the Mip filter.
    pub const CLASSIC: u32 = 2;
    /// Jitter the sample inside each pixel; takes rasterisers built for it ([`jitter`](crate::kernels::views::Variants::jitter)).
    pub const RAY_JITTER: u32 = 4;
    /// Run the optimiser.
    pub const UPDATE: u32 = 8;
    /// Sample the ground truth at the jittered positions; only with `RAY_JITTER`.
    pub const RESAMPLE: u32 = 16;
    /// Steps count in which a Gaussian is on screen but too faint for any pixel.
    pub const COUNT_FAINT: u32 = 64;
    /// Records carry depth in the place of colour: what is blended is expected depth times coverage. For rendering only.
    pub const DEPTH: u32 = 128;
    /// Statistics are those of scores: errors and largest weights in the place of gradients and radii. Takes gradients whose
    /// fourth value is splatted back ([`scores`](crate::kernels::views::Pixels::scores)).
    pub const SCORES: u32 = 256;
    /// Records of Gaussians nearer than [`super::StepUniforms::near_limit`] are white and all others black: what is blended
    /// is the weight of the near ones. For rendering only.
    pub const NEAR: u32 = 512;
    /// The fourth component of the image gradient is that of the final transmittance.
    pub const ALPHA_GRADIENT: u32 = 4096;
}

/// Mirror of `StepUniforms` in `shaders/common/step.glsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct StepUniforms {
    /// First row of the world-to-camera rotation, and translation.
    pub view_row0: [f32; 4],
    /// Second row.
    pub view_row1: [f32; 4],
    /// Third row.
    pub view_row2: [f32; 4],
    /// Camera centre, world space; learning rate of exposures.
    pub camera_position: [f32; 4],
    /// fx, fy, cx, cy with pixel centres on integers.
    pub intrinsics: [f32; 4],
    /// Limits of x/z (min, max) and y/z (min, max) for the Jacobian.
    pub slope_limits: [f32; 4],
    /// Background rgb; variance of the 2D filter, px^2.
    pub background: [f32; 4],
    /// Weights of L1 and D-SSIM, `1 / (3 * pixels)`, weight of the coverage.
    pub weights: [f32; 4],
    /// Image width, px.
    pub width: u32,
    /// Image height, px.
    pub height: u32,
    /// Tiles along x.
    pub tiles_x: u32,
    /// Tiles along y.
    pub tiles_y: u32,
    /// Training iteration, from 1.
    pub iteration: u32,
    /// Seed of the run's counter generators.
    pub seed: u32,
    /// See [`flags`].
    pub flags: u32,
    /// Bits of groups the optimiser leaves alone in this step.
    pub adam_skip_mask: u32,
    /// Active SH degree.
    pub sh_degree: u32,
    /// First word of the ground-truth slot.
    pub image_offset: u32,
    /// First tile to rasterise, tiles counted row by row.
    pub band_begin: u32,
    /// One past the last tile to rasterise.
    pub band_end: u32,
    /// Learning rate over `1 - beta1^n`, per group.
    pub adam_rate: [f32; 8],
    /// `1 / sqrt(1 - beta2^n)`, per group.
    pub adam_scale: [f32; 8],
    /// First-moment decay.
    pub beta1: f32,
    /// Second-moment decay.
    pub beta2: f32,
    /// Adam's epsilon.
    pub epsilon: f32,
    /// Training view, by its place among them.
    pub view: u32,
    /// Weight of the mean opacity in the loss.
    pub opacity_weight: f32,
    /// Weight of the mean standard deviation in the loss, per world unit.
    pub scale_weight: f32,
    /// Noise on the centres after the update, per world unit, see [`super::cpu::explore`].
    pub noise: f32,
    /// With [`flags::NEAR`]: the camera-space z below which a Gaussian is near, world units.
    pub near_limit: f32,
    /// Optimiser steps of SH before this one, see [`super::catch_up`].
    pub sh_steps: u32,
    /// Centres must lie beyond this depth to be drawn, world units.
    pub near_z: f32,
    /// Share of the Gaussians that this step leaves out, below 1, see [`super::cpu::dropout`]; 0 = none.
    pub dropout: f32,
    /// Weight of half an exposure's squared distance from doing nothing, in the loss.
    pub exposure_hold: f32,
    /// Fills the block up to whole vectors: the table of learning rates lies behind it.
    pub reserved: [u32; 4],
}

const _: () = assert!(size_of::<StepUniforms>().is_multiple_of(16));

impl StepUniforms {
    /// Uniforms for rendering `camera`: no loss, no update, the near plane of nothing in particular.
    #[must_use]
    pub fn for_camera(camera: &Camera, background: [f32; 3], kernel_size: f32) -> Self {
        let (r, t) = (&camera.rotation, &camera.translation);
        let row = |i: usize| [r[i][0], r[i][1], r[i][2], t[i]];
        let position = camera.position();
        let (w, h) = (camera.width_px as f32, camera.height_px as f32);
        let (tan_x, tan_y) = (0.5 * w / camera.fx, 0.5 * h / camera.fy);
        let tiles_y = camera.height_px.div_ceil(TILE_PX);
        Self {
            view_row0: row(0),
            view_row1: row(1),
            view_row2: row(2),
            camera_position: [position[0], position[1], position[2], 0.0],
            intrinsics: [camera.fx, camera.fy, camera.cx - 0.5, camera.cy - 0.5],
            // 1.3 times the half field of view, measured from the principal point.
            slope_limits: [
                -(camera.cx / camera.fx + 0.3 * tan_x),
                (w - camera.cx) / camera.fx + 0.3 * tan_x,
                -(camera.cy / camera.fy + 0.3 * tan_y),
                (h - camera.cy) / camera.fy + 0.3 * tan_y,
            ],
            background: [background[0], background[1], background[2], kernel_size],
            weights: [0.8, 0.2, 1.0 / (3.0 * w * h), 0.0],
            width: camera.width_px,
            height: camera.height_px,
            tiles_x: camera.width_px.div_ceil(TILE_PX),
            tiles_y,
            iteration: 0,
            seed: 0,
            flags: 0,
            adam_skip_mask: 0,
            sh_degree: 3,
            image_offset: 0,
            band_begin: 0,
            band_end: camera.width_px.div_ceil(TILE_PX) * tiles_y,
            adam_rate: [0.0; 8],
            adam_scale: [1.0; 8],
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-15,
            view: 0,
            opacity_weight: 0.0,
            scale_weight: 0.0,
            noise: 0.0,
            near_limit: 0.0,
            sh_steps: 0,
            near_z: DEFAULT_NEAR_Z,
            dropout: 0.0,
            exposure_hold: 0.0,
            reserved: [0; 4],
        }
    }
}
