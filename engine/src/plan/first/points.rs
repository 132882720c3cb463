//! Points that become Gaussians: the scene's, random ones, or those of a file.

use std::path::Path;

use crate::gaussians::init;
use crate::plan::PlanError;
use crate::plugins::{PointsPlyOptions, RandomBoxOptions, RandomFrustumOptions, SfmPointsOptions};
use crate::scene::{Camera, Point, SceneIndex, SceneKind, read_points};

/// What random points are called.
pub(super) const RANDOM: &str = "random points";

/// Points, and what the Gaussians at them look like.
pub(super) struct Points {
    pub(super) points: Vec<Point>,
    /// What they are, for people.
    pub(super) source: &'static str,
    pub(super) opacity: f32,
    /// Share of the size that their neighbours give them.
    pub(super) size: f32,
    /// What was left out of their file.
    pub(super) left_out: Option<String>,
}

impl Points {
    /// The sparse points; random ones where a scene has none.
    pub(super) fn sparse(options: &SfmPointsOptions, seed: u64, scene: &SceneIndex) -> Self {
        let (points, source) = match scene.kind {
            _ if !scene.points.is_empty() => (scene.points.clone(), "sparse points"),
            // Around zero of the data set, which an origin leaves.
            SceneKind::Blender | SceneKind::Multiscale if scene.origin == [0.0; 3] => {
                let half_side = init::object_half_side(&cameras(scene));
                (init::random_points(init::RANDOM_POINTS, half_side, seed), RANDOM)
            }
            _ => {
                let points = init::frustum_points(&cameras(scene), scene.extent, init::RANDOM_POINTS, seed);
                (points, RANDOM)
            }
        };
        Self {
            points,
            source,
            opacity: options.opacity,
            size: options.scale,
            left_out: None,
        }
    }

    /// Random points in a box around zero.
    pub(super) fn in_box(options: &RandomBoxOptions, seed: u64) -> Self {
        Self {
            points: init::random_points(options.count, options.half_side, seed),
            source: RANDOM,
            opacity: options.opacity,
            size: options.scale,
            left_out: None,
        }
    }

    /// Random points in front of the cameras.
    pub(super) fn in_front(options: &RandomFrustumOptions, seed: u64, scene: &SceneIndex) -> Self {
        Self {
            points: init::frustum_points(&cameras(scene), scene.extent, options.count, seed),
            source: RANDOM,
            opacity: options.opacity,
            size: options.scale,
            left_out: None,
        }
    }

    /// The points of a file.
    ///
    /// # Errors
    /// [`PlanError::Scene`] when it cannot be read.
    pub(super) fn of_file(options: &PointsPlyOptions, scene: &SceneIndex) -> Result<Self, PlanError> {
        let (points, reported) = read_points(Path::new(&options.path), scene.origin)?;
        Ok(Self {
            points,
            source: "given points",
            opacity: options.opacity,
            size: options.scale,
            left_out: (!reported.is_empty()).then(|| reported.join("; ")),
        })
    }
}

fn cameras(scene: &SceneIndex) -> Vec<Camera> {
    scene.cameras_together().into_iter().cloned().collect()
}
