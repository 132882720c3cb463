//! The uniform block of a step: everything that changes from step to step, written by the host into a ring slot.

use super::generated::common;
pub use super::generated::common::StepUniforms;
use kiln_scene::{Camera, DEFAULT_NEAR_Z, Fisheye};

/// Width of a tile in pixels.
pub const TILE_PX: u32 = 16;

/// The optimiser's parameter groups: indices of the rate tables and bits of the skip mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Group {
    /// Centres.
    Means = common::GROUP_MEANS,
    /// Rotations.
    Quats = common::GROUP_QUATS,
    /// Log scales.
    Scales = common::GROUP_SCALES,
    /// Opacity logits.
    Opacity = common::GROUP_OPACITY,
    /// Degree-0 colour.
    Sh0 = common::GROUP_SH0,
    /// Higher-degree colour.
    ShRest = common::GROUP_SH_REST,
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
    pub use super::common::{
        FLAG_ALPHA_GRADIENT as ALPHA_GRADIENT, FLAG_CLASSIC as CLASSIC, FLAG_COUNT_FAINT as COUNT_FAINT,
        FLAG_DENSITY as DENSITY, FLAG_NEAR as NEAR, FLAG_PLANE_DEPTHS as PLANE_DEPTHS, FLAG_POSES as POSES,
        FLAG_SCORES as SCORES, FLAG_STATISTICS as STATISTICS, FLAG_UPDATE as UPDATE,
    };
}

// Where SH is deferred, a table of vectors lies behind it.
const _: () = assert!(size_of::<StepUniforms>().is_multiple_of(16));

/// A camera's lens as the kernels take it, see `shaders/common/lens.glsl`; all 0 for a pinhole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LensWords {
    /// Radial terms.
    pub radial: [f32; 4],
    /// Tangential and prism terms.
    pub sideways: [f32; 4],
    /// Reach, radius and slope there, and the angle beyond which nothing is drawn.
    pub range: [f32; 4],
}

impl LensWords {
    /// The words of a lens; a pinhole has none.
    #[must_use]
    pub fn of(lens: Option<Fisheye>) -> Self {
        lens.map_or_else(Self::default, |lens| {
            let ([p1, p2], [s1, s2]) = (lens.tangential, lens.prism);
            let [radius, slope] = lens.radius(lens.reach);
            Self {
                radial: lens.radial,
                sideways: [p1, p2, s1, s2],
                range: [lens.reach, radius, slope, lens.drawn()],
            }
        })
    }
}

impl StepUniforms {
    /// Gives lists to tiles of `side_px` pixels, a divisor of [`TILE_PX`], and lets the band have them all.
    pub fn list_tiles(&mut self, side_px: u32) {
        self.list_px = side_px;
        [self.lists_x, self.lists_y] = [self.width, self.height].map(|side| side.div_ceil(side_px));
        self.band_end = self.lists_x * self.lists_y;
    }

    /// The camera's lens, if it has one.
    #[must_use]
    pub fn lens(&self) -> Option<Fisheye> {
        let [reach, ..] = self.lens_range;
        let [p1, p2, s1, s2] = self.lens_sideways;
        (reach > 0.0).then_some(Fisheye {
            radial: self.lens_radial,
            tangential: [p1, p2],
            prism: [s1, s2],
            reach,
        })
    }

    /// Uniforms for rendering `camera`: no loss, no update, the near plane of nothing in particular.
    #[must_use]
    pub fn for_camera(camera: &Camera, background: [f32; 3], kernel_size: f32) -> Self {
        let (r, t) = (&camera.rotation, &camera.translation);
        let row = |i: usize| [r[i][0], r[i][1], r[i][2], t[i]];
        let position = camera.position();
        let (w, h) = (camera.width_px as f32, camera.height_px as f32);
        let (tan_x, tan_y) = (0.5 * w / camera.fx, 0.5 * h / camera.fy);
        let tiles = [camera.width_px, camera.height_px].map(|side| side.div_ceil(TILE_PX));
        let lens = LensWords::of(camera.lens);
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
            tiles_x: tiles[0],
            tiles_y: tiles[1],
            iteration: 0,
            seed: 0,
            flags: 0,
            adam_skip_mask: 0,
            sh_degree: 3,
            image_offset: 0,
            band_begin: 0,
            band_end: tiles[0] * tiles[1],
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
            normals_weight: 0.0,
            flat_weight: 0.0,
            pose_rate: 0.0,
            pose_extent: 1.0,
            entropy_weight: 0.0,
            lists_x: tiles[0],
            lists_y: tiles[1],
            list_px: TILE_PX,
            lens_radial: lens.radial,
            lens_sideways: lens.sideways,
            lens_range: lens.range,
        }
    }
}
