//! `train.photo_colors`: whether photos get colours of their own where it is not set, and what these begin with.
//!
//! Owns the limits. What the photos show at shared points decides: a difference in exposure or white balance that is the same all over a
//! photo is no property of the scene. A light that moves with the camera looks like one and is not: it is in the scene, and goes with the
//! distance.

mod gains;

use super::{PlanError, training_options};
use kiln_config::{PhotoColors, Profile};
use kiln_scene::{Exposures, FEW_PHOTOS, SceneIndex, SceneKind, SceneOptions, exposures};

/// Most photos whose gains are measured, where photo colours are on.
const MOST_PHOTOS: usize = 250;

/// Points of a photo at which its colours are compared with those of others.
pub const SEEN_POINTS: u32 = 4096;

/// Spread of exposures, natural logarithms, from which photos disagree. Measured: docs/notebook/quality.md.
const EXPOSURE: f64 = 0.09;
/// The same of white balance.
const WHITE_BALANCE: f64 = 0.055;
/// Power of the distance below which the light moves with the camera. A flash has -0.9 in stored colours, and more where it lies beside
/// the lens.
const FLASH: f64 = -0.6;

/// Decides `train.photo_colors: auto` of `profile` by the photos of `scene`, and gives the views the gains that their photos show where photo
/// colours are on and they have none yet. What was decided and why, for people; `None` where there was nothing to decide. A run that goes
/// on (`is_new` is false) has its gains already.
///
/// # Errors
/// [`PlanError::Scene`] when the scene cannot be read again, with the points of its photos, or the system refuses threads to decode with.
pub fn settle_photo_colors(
    profile: &mut Profile,
    scene: &mut SceneIndex,
    is_new: bool,
) -> Result<Option<String>, PlanError> {
    let is_open = profile.photo_colors_are_open();
    if profile.train.photo_colors == PhotoColors::Auto && !is_open {
        profile.train.photo_colors = PhotoColors::Off;
    }
    let has_none = scene.train.iter().all(|view| view.gains == [1.0; 3]);
    let wants_gains = is_new && has_none && profile.train.photo_colors != PhotoColors::Off;
    if !is_open && !wants_gains {
        return Ok(None);
    }
    let seen = with_points(profile, scene)?;
    let measured = |most| seen.as_ref().map_or(Ok(None), |seen| exposures(seen, most));
    let (mut parts, mut found) = (Vec::new(), None);
    if is_open {
        found = measured(FEW_PHOTOS)?;
        let (is_on, why) = decided(found.as_ref());
        let (choice, word) = if is_on {
            (PhotoColors::On, "on")
        } else {
            (PhotoColors::Off, "off")
        };
        profile.train.photo_colors = choice;
        parts.push(format!("{word} ({why})"));
    }
    if wants_gains && profile.learns_photo_colors() {
        let all = match found {
            Some(found) if scene.train.len() <= FEW_PHOTOS => Some(found),
            _ => measured(MOST_PHOTOS)?,
        };
        parts.extend(all.and_then(|found| gains::set(scene, &found)));
    }
    Ok((!parts.is_empty()).then(|| format!("photo colours: {}", parts.join("; "))))
}

/// The scene with the points that its photos show; `None` of kinds that name none.
fn with_points(profile: &Profile, scene: &SceneIndex) -> Result<Option<SceneIndex>, PlanError> {
    if scene.kind != SceneKind::Colmap {
        return Ok(None);
    }
    let options = SceneOptions {
        seen_points: SEEN_POINTS,
        ..training_options(profile)?
    };
    Ok(Some(SceneIndex::load(&scene.root, &options)?))
}

/// Whether photos get colours of their own, and why.
fn decided(found: Option<&Exposures>) -> (bool, String) {
    let Some(found) = found else {
        let why = "unknown whether photos differ in exposure: no points that several photos show are named";
        return (false, why.to_owned());
    };
    let [red, blue] = found.white_balance;
    let balance = if red.spread > blue.spread { red } else { blue };
    let sign = format!(
        "photos differ by {:.1} % in exposure and by {:.1} % in white balance",
        100.0 * found.brightness.spread,
        100.0 * balance.spread,
    );
    let corners = match found.vignetting {
        Some(corner) if corner < 0.0 => format!("; corners {:.0} % darker", 100.0 * (1.0 - corner.exp())),
        _ => String::new(),
    };
    if found.falloff < FLASH {
        let why = format!(
            "the light moves with the camera: brightness goes with the distance to the power {:.1}",
            found.falloff
        );
        return (false, format!("{why}; {sign}{corners}"));
    }
    let is_on = found.brightness.spread >= EXPOSURE || balance.spread >= WHITE_BALANCE;
    (is_on, format!("{sign}{corners}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scene::Difference;

    fn differing(exposure: f64, balance: f64, falloff: f64) -> Exposures {
        let of = |spread| Difference { spread, left: 0.01 };
        Exposures {
            brightness: of(exposure),
            white_balance: [of(balance), of(0.0)],
            vignetting: Some(-0.3),
            falloff,
            photos: Vec::new(),
        }
    }

    #[test]
    fn photos_that_differ_get_colours() {
        let is_on = |exposure, balance| decided(Some(&differing(exposure, balance, 0.0))).0;
        assert!(!is_on(0.08, 0.05));
        assert!(is_on(0.1, 0.0) && is_on(0.0, 0.06));
    }

    #[test]
    fn a_flash_is_no_exposure_and_what_is_unknown_is_off() {
        let (on, why) = decided(Some(&differing(0.2, 0.1, -2.6)));
        assert!(!on && why.contains("moves with the camera"), "{why}");
        let (on, why) = decided(None);
        assert!(!on && why.starts_with("unknown"), "{why}");
        let (_, why) = decided(Some(&differing(0.1, 0.01, 0.1)));
        assert_eq!(
            why,
            "photos differ by 10.0 % in exposure and by 1.0 % in white balance; corners 26 % darker"
        );
    }
}
