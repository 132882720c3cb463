//! Figures of a scene that programs depend on.

use super::order;
use kiln_gaussians::morton::Frame;
use kiln_scene::SceneIndex;

/// Figures of a scene that programs depend on.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Largest focal length of a training camera, px.
    pub max_focal_px: f32,
    /// Extent, world units.
    pub extent: f32,
    /// How near the sparse points come to the cameras, world units; none without points.
    pub near_distance: Option<f32>,
    /// What Gaussians are sorted by.
    pub frame: Frame,
}

impl Measures {
    /// Those of `scene`.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        Self {
            max_focal_px: max_focal(scene),
            extent: scene.extent,
            near_distance: scene.near.distance,
            frame: order::frame(scene),
        }
    }
}

/// Largest horizontal focal length over the training cameras of `scene`, pixels: `f_max` of the 3D filter.
fn max_focal(scene: &SceneIndex) -> f32 {
    scene.train.iter().map(|v| v.camera.fx).fold(1e-6, f32::max)
}
