//! The first model of a run.

use super::TrainError;
use crate::config::Profile;
use crate::gaussians::Gaussians;
use crate::gaussians::init;
use crate::plugins::Init;
use crate::scene::{Point, SceneIndex};

/// Makes the model that `profile.init` asks for. A scene without points falls back to the random box, as Blender scenes
/// have none.
///
/// # Errors
/// [`TrainError::Init`] when no Gaussian can be made.
pub fn initial_model(profile: &Profile, scene: &SceneIndex) -> Result<Gaussians, TrainError> {
    let (points, opacity): (Vec<Point>, f32) = match &profile.init {
        Init::SfmPoints(options) if !scene.points.is_empty() => (scene.points.clone(), options.opacity),
        Init::SfmPoints(options) => (init::random_points(init::RANDOM_POINTS, profile.train.seed), options.opacity),
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
