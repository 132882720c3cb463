//! `train.photo_colors`: whether photos get colours of their own where it is not set, and what these begin with.
//!
//! Owns the limits. What the photos show at shared points decides: a difference in exposure or white balance that is the same all over a
//! photo is no property of the scene. A light that moves with the camera looks like one and is not: it is in the scene, and goes with the
//! distance.

mod gains;

use super::{PlanError, training_options};
use kiln_config::{PhotoColors, Profile};
use kiln_scene::{Difference, Exposures, FEW_PHOTOS, SceneIndex, SceneKind, SceneOptions, exposures};

/// Most photos whose gains are measured, where photo colours are on.
const MOST_PHOTOS: usize = 250;

/// Points of a photo at which its colours are compared with those of others.
pub const SEEN_POINTS: u32 = 4096;

/// Least spread, and least clearness of it: natural logarithms, and units of what is left at a point. Measured:
/// docs/notebook/quality.md.
struct Limit {
    spread: f64,
    clearness: f64,
}

/// Exposures differ where one of these is reached: by little and clearly, or by much.
const EXPOSURE: [Limit; 2] = [
    Limit {
        spread: 0.07,
        clearness: 3.8,
    },
    Limit {
        spread: 0.125,
        clearness: 2.0,
    },
];
/// The same for white balance.
const WHITE_BALANCE: Limit = Limit {
    spread: 0.055,
    clearness: 1.5,
};
/// Power of the distance below which the light moves with the camera. A flash has -0.9 in stored colours, and more where it lies beside
/// the lens.
const FLASH: f64 = -0.6;

impl Limit {
    fn is_reached(&self, difference: &Difference) -> bool {
        difference.spread >= self.spread && difference.clearness() >= self.clearness
    }
}

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
        "photos differ by {:.1} % in exposure, {:.1} times what is left, and by {:.1} % in white balance, {:.1} times",
        100.0 * found.brightness.spread,
        found.brightness.clearness(),
        100.0 * balance.spread,
        balance.clearness(),
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
    let is_on = EXPOSURE.iter().any(|limit| limit.is_reached(&found.brightness))
        || [red, blue]
            .iter()
            .any(|difference| WHITE_BALANCE.is_reached(difference));
    (is_on, format!("{sign}{corners}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(exposure: [f64; 2], balance: [f64; 2], falloff: f64) -> Exposures {
        let of = |[spread, left]: [f64; 2]| Difference { spread, left };
        Exposures {
            brightness: of(exposure),
            white_balance: [of(balance), of([0.0, 0.01])],
            vignetting: Some(-0.3),
            falloff,
            photos: Vec::new(),
        }
    }

    #[test]
    fn photos_that_differ_clearly_or_by_much_get_colours() {
        let is_on = |exposure, balance| decided(Some(&differing(exposure, balance, 0.0))).0;
        let alike = [0.01, 0.02];
        assert!(!is_on(alike, alike));
        assert!(is_on([0.1, 0.025], alike) && !is_on([0.1, 0.03], alike));
        assert!(is_on([0.2, 0.08], alike) && !is_on([0.2, 0.15], alike));
        assert!(is_on(alike, [0.08, 0.04]) && !is_on(alike, [0.04, 0.01]));
    }

    #[test]
    fn a_flash_is_no_exposure_and_what_is_unknown_is_off() {
        let (on, why) = decided(Some(&differing([0.2, 0.03], [0.1, 0.03], -2.6)));
        assert!(!on && why.contains("moves with the camera"), "{why}");
        let (on, why) = decided(None);
        assert!(!on && why.starts_with("unknown"), "{why}");
        let (_, why) = decided(Some(&differing([0.1, 0.02], [0.01, 0.01], 0.1)));
        assert_eq!(
            why,
            "photos differ by 10.0 % in exposure, 5.0 times what is left, and by 1.0 % in white balance, 1.0 times; corners 26 % darker"
        );
    }
}
