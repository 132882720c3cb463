//! Scene and first model of a run, as the profile asks for them.

use super::TrainError;
use crate::config::{DatasetKind, Profile};
use crate::gaussians::Gaussians;
use crate::gaussians::init;
use crate::plugins::Init;
use crate::scene::{KindChoice, Point, Resolution, SceneIndex, SceneKind, SceneOptions};

/// Makes the model that `profile.init` asks for. A scene without points falls back to the random box, as Blender scenes
/// have none.
///
/// # Errors
/// [`TrainError::Init`] when no Gaussian can be made.
pub fn initial_model(profile: &Profile, scene: &SceneIndex) -> Result<Gaussians, TrainError> {
    let (points, opacity): (Vec<Point>, f32) = match &profile.init {
        Init::SfmPoints(options) if !scene.points.is_empty() => (scene.points.clone(), options.opacity),
        Init::SfmPoints(options) => (
            init::random_points(init::RANDOM_POINTS, profile.train.seed),
            options.opacity,
        ),
        Init::RandomBox(options) => {
            let mut points = init::random_points(options.count, profile.train.seed);
            let scale = options.half_side / 1.3;
            for point in &mut points {
                point.position = point.position.map(|x| x * scale);
            }
            (points, options.opacity)
        }
    };
    let mut model = init::from_points(&points, profile.model.sh_degree)?;
    let logit = (opacity / (1.0 - opacity)).ln();
    model.logit_opacities.fill(logit);
    Ok(model)
}

/// How the scene is read.
///
/// # Errors
/// [`TrainError::Scene`] when the resolution is no size an image can have.
pub fn scene_options(profile: &Profile) -> Result<SceneOptions, TrainError> {
    Ok(SceneOptions {
        kind: match profile.dataset.kind {
            DatasetKind::Auto => KindChoice::Auto,
            DatasetKind::Colmap => KindChoice::Only(SceneKind::Colmap),
            DatasetKind::Blender => KindChoice::Only(SceneKind::Blender),
        },
        images: (profile.dataset.images != "images").then(|| profile.dataset.images.clone()),
        resolution: Resolution::from_number(i64::from(profile.dataset.resolution))?,
        scale: 1.0 / f64::from(profile.train.resolution_scale),
        eval: profile.dataset.eval,
        use_alpha: false,
        respect_principal_point: profile.dataset.respect_principal_point,
    })
}

/// GiB, as profiles state them, in bytes.
#[must_use]
pub fn gib_to_bytes(gib: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "profiles hold 0 to 1e6 GiB"
    )]
    let bytes = (gib.max(0.0) * (1u64 << 30) as f64) as u64;
    bytes
}
