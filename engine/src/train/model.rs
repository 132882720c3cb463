//! Scene and first model of a run, as the profile asks for them.

use std::path::Path;

use super::{TrainError, losses, order};
use crate::config::{self, DatasetKind, Profile};
use crate::gaussians::Gaussians;
use crate::gaussians::init;
use crate::plugins::Init;
use crate::scene::{
    Alpha, AlphaChoice, Camera, KindChoice, MaskChoice, Point, Resolution, SceneIndex, SceneKind, SceneOptions,
    read_points,
};

/// Makes the model that `profile.init` asks for. A scene without points starts from random ones: in front of the cameras,
/// or, as is usual for NeRF-synthetic objects, in a box.
///
/// # Errors
/// [`TrainError::Scene`] when a file of points cannot be read, [`TrainError::Init`] when no Gaussian can be made.
pub fn initial_model(profile: &Profile, scene: &SceneIndex) -> Result<Gaussians, TrainError> {
    let seed = profile.train.seed;
    let in_front = |count| {
        let cameras: Vec<Camera> = scene.train.iter().map(|view| view.camera.clone()).collect();
        init::frustum_points(&cameras, scene.extent, count, seed)
    };
    let (points, [opacity, size]): (Vec<Point>, [f32; 2]) = match &profile.init {
        Init::SfmPoints(options) if !scene.points.is_empty() => {
            (scene.points.clone(), [options.opacity, options.scale])
        }
        Init::SfmPoints(options) => {
            let points = match scene.kind {
                SceneKind::Blender | SceneKind::Multiscale => init::random_points(init::RANDOM_POINTS, seed),
                SceneKind::Colmap | SceneKind::Nerfstudio => in_front(init::RANDOM_POINTS),
            };
            (points, [options.opacity, options.scale])
        }
        Init::RandomBox(options) => {
            let mut points = init::random_points(options.count, seed);
            let scale = options.half_side / 1.3;
            for point in &mut points {
                point.position = point.position.map(|x| x * scale);
            }
            (points, [options.opacity, options.scale])
        }
        Init::RandomFrustum(options) => (in_front(options.count), [options.opacity, options.scale]),
        Init::Ply(options) => (read_points(Path::new(&options.path))?, [options.opacity, options.scale]),
    };
    let mut model = init::from_points(&points, profile.model.sh_degree)?;
    let logit = (opacity / (1.0 - opacity)).ln();
    model.logit_opacities.fill(logit);
    // Adding ln 1 = 0 changes no bit.
    for value in model.log_scales.as_flattened_mut() {
        *value += size.ln();
    }
    Ok(order::of_first(model, profile, scene))
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
            DatasetKind::Multiscale => KindChoice::Only(SceneKind::Multiscale),
            DatasetKind::Nerfstudio => KindChoice::Only(SceneKind::Nerfstudio),
        },
        images: (profile.dataset.images != "images").then(|| profile.dataset.images.clone()),
        resolution: Resolution::from_number(i64::from(profile.dataset.resolution))?,
        scale: 1.0 / f64::from(profile.train.resolution_scale),
        eval: profile.dataset.eval,
        alpha: match profile.dataset.alpha {
            config::Alpha::Auto => AlphaChoice::Auto,
            config::Alpha::Mask => AlphaChoice::Only(Alpha::Mask),
            config::Alpha::Blend => AlphaChoice::Only(Alpha::Composite),
            config::Alpha::Ignore => AlphaChoice::Only(Alpha::Ignore),
        },
        masks: match profile.dataset.masks.as_str() {
            "auto" => MaskChoice::Auto,
            "off" => MaskChoice::Off,
            folder => MaskChoice::Folder(folder.into()),
        },
        mask_invert: profile.dataset.mask_invert,
        seen_points: losses::depth(profile).map_or(0, |depth| depth.points),
        follow_links: profile.dataset.follow_links,
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
