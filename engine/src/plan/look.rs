//! How a model is meant to be drawn.

use kiln_config::{Background, ModelKind, Profile};
use kiln_scene::DEFAULT_NEAR_Z;

/// Background colour of a profile.
#[must_use]
pub(crate) fn background(profile: &Profile) -> [f32; 3] {
    match profile.model.background {
        Background::Black | Background::Random => [0.0; 3],
        Background::White => [1.0; 3],
    }
}

/// Variance of the screen-space dilation of plain 3D Gaussian Splatting (Kerbl et al. 2023), square pixels.
pub(crate) const CLASSIC_KERNEL_SIZE: f32 = 0.3;

/// How a model is meant to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// Variance of the screen-space filter, square pixels.
    pub(crate) kernel_size: f32,
    /// Plain dilation without opacity compensation (Kerbl et al. 2023) instead of the Mip filter.
    pub(crate) classic: bool,
    /// Highest SH degree that is evaluated.
    pub(crate) sh_degree: u32,
    /// Centres must lie beyond this depth to be drawn, world units.
    pub(crate) near_z: f32,
}

impl Look {
    /// The look that `profile` trains; of one whose near plane is not known yet it is the usual one.
    pub(crate) fn of(profile: &Profile, sh_degree: u32) -> Self {
        let classic = profile.model.kind == ModelKind::Classic;
        Self {
            kernel_size: if classic {
                CLASSIC_KERNEL_SIZE
            } else {
                profile.mip.kernel_size
            },
            classic,
            sh_degree,
            near_z: profile.model.near.unwrap_or(DEFAULT_NEAR_Z),
        }
    }
}
