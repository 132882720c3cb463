//! How a profile asks for its scene to be read.

use super::{PlanError, lenses, losses};
use kiln_config::plugins::Maps;
use kiln_config::{NormalMaps, Profile};
use kiln_scene::{Alpha, AlphaChoice, Axes, HoldOut, MOST_FIT_POINTS, MaskChoice, Resolution, SceneOptions, Undistort};

/// How the scene is read.
///
/// # Errors
/// [`PlanError::Scene`] when the resolution is no size an image can have.
pub fn scene_options(profile: &Profile) -> Result<SceneOptions, PlanError> {
    Ok(SceneOptions {
        images: (profile.dataset.images != "images").then(|| profile.dataset.images.clone()),
        resolution: Resolution::from_number(i64::from(profile.dataset.resolution))?,
        eval: profile.dataset.hold_out != kiln_config::HoldOut::No,
        hold_out: match &profile.dataset.hold_out {
            kiln_config::HoldOut::Yes | kiln_config::HoldOut::No => HoldOut::Usual,
            kiln_config::HoldOut::Every(every) => HoldOut::Every(*every as usize),
            kiln_config::HoldOut::Listed(file) => HoldOut::Listed(file.into()),
        },
        alpha: match profile.dataset.alpha {
            kiln_config::Alpha::Auto => AlphaChoice::Auto,
            kiln_config::Alpha::Mask => AlphaChoice::Only(Alpha::Mask),
            kiln_config::Alpha::Blend => AlphaChoice::Only(Alpha::Composite),
            kiln_config::Alpha::Ignore => AlphaChoice::Only(Alpha::Ignore),
        },
        undistort: match profile.dataset.undistort {
            kiln_config::Undistort::Auto if !lenses::needs_pinholes(profile) => Undistort::ExceptFisheye,
            kiln_config::Undistort::Auto | kiln_config::Undistort::Inside => Undistort::Inside,
            kiln_config::Undistort::Whole => Undistort::Whole,
        },
        masks: match profile.dataset.masks.as_str() {
            "auto" => MaskChoice::Auto,
            "off" => MaskChoice::Off,
            folder => MaskChoice::Folder(folder.into()),
        },
        follow_links: profile.dataset.follow_links,
        depths: None,
        normals: None,
        seen_points: 0,
    })
}

/// How the scene is read for what looks along the straight rays of pinholes, such as meshes: fisheyes that training keeps as they are
/// are undistorted whole.
///
/// # Errors
/// See [`scene_options`].
pub fn pinhole_options(profile: &Profile) -> Result<SceneOptions, PlanError> {
    let mut options = scene_options(profile)?;
    if options.undistort == Undistort::ExceptFisheye {
        options.undistort = Undistort::Whole;
    }
    Ok(options)
}

/// How the scene is read for training, which alone looks at maps of photos.
///
/// # Errors
/// See [`scene_options`].
pub fn training_options(profile: &Profile) -> Result<SceneOptions, PlanError> {
    let losses = losses::losses(profile);
    let depths = profile.dataset.depths.as_ref();
    let depths = depths.filter(|_| losses.need_maps(Maps::Depths));
    let normals = profile.dataset.normals.as_ref();
    let normals = normals.filter(|_| losses.need_maps(Maps::Normals));
    let axes = |maps: &NormalMaps| match maps.axes {
        kiln_config::NormalsAxes::Opengl => Axes::Opengl,
        kiln_config::NormalsAxes::Opencv => Axes::Opencv,
        kiln_config::NormalsAxes::Lub => Axes::Lub,
        kiln_config::NormalsAxes::Rdb => Axes::Rdb,
    };
    Ok(SceneOptions {
        depths: depths.map(Into::into),
        normals: normals.map(|maps| ((&maps.path).into(), axes(maps))),
        // maps are held against the points that their photos are known to show
        seen_points: if depths.is_some() || normals.is_some() {
            MOST_FIT_POINTS
        } else {
            0
        },
        ..scene_options(profile)?
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
