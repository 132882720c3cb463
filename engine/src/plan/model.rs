//! How a profile asks for its scene to be read.

use super::PlanError;
use crate::config::{self, Profile};
use crate::scene::{Alpha, AlphaChoice, HoldOut, MaskChoice, Resolution, SceneOptions};

/// How the scene is read.
///
/// # Errors
/// [`PlanError::Scene`] when the resolution is no size an image can have.
pub fn scene_options(profile: &Profile) -> Result<SceneOptions, PlanError> {
    Ok(SceneOptions {
        images: (profile.dataset.images != "images").then(|| profile.dataset.images.clone()),
        resolution: Resolution::from_number(i64::from(profile.dataset.resolution))?,
        eval: profile.dataset.hold_out != config::HoldOut::No,
        hold_out: match &profile.dataset.hold_out {
            config::HoldOut::Yes | config::HoldOut::No => HoldOut::Usual,
            config::HoldOut::Every(every) => HoldOut::Every(*every as usize),
            config::HoldOut::Listed(file) => HoldOut::Listed(file.into()),
        },
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
        follow_links: profile.dataset.follow_links,
        respect_principal_point: profile.dataset.respect_principal_point,
        // Nothing that trains looks at tracks.
        seen_points: 0,
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
