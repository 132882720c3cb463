//! Gaussians of a file that can be drawn, and those that are left out.
//!
//! A file of a million Gaussians with one NaN among them is a model without that one. What has a meaning is kept: opacities of 0 and
//! 1, whose logits are infinite, and scales of 0, whose logarithms are, become the nearest finite values.

use super::{Notes, PlyError};
use kiln_gaussians::Gaussians;

/// Largest coordinate, standard deviation and filter: squares of larger ones are infinite in 32 bits.
const FARTHEST: f32 = 1e18;
/// Its logarithm.
const LARGEST_LOG: f32 = 41.446_53;
/// Logarithm of the smallest normal number, for scales of 0.
const SMALLEST_LOG: f32 = -87.336_54;
/// Logits of the smallest opacity and of the largest below 1.
const LOGITS: [f32; 2] = [-87.336_54, 17.328_68];

/// Makes Gaussian `at` of a model drawable, or says why it cannot be.
fn judge(model: &mut Gaussians, at: usize, notes: &mut Notes) -> Result<(), &'static str> {
    fn check(values: &[f32], not_finite: &'static str, too_far: &'static str) -> Result<(), &'static str> {
        match values {
            values if values.iter().any(|value| !value.is_finite()) => Err(not_finite),
            values if values.iter().any(|value| value.abs() > FARTHEST) => Err(too_far),
            _ => Ok(()),
        }
    }
    let rest = 3 * model.rest_coefficients();
    check(
        &model.means[at],
        "a position that is not finite",
        "a position beyond 1e18",
    )?;
    check(
        &model.filter_3d[at..=at],
        "a 3D filter that is not finite",
        "a 3D filter beyond 1e18",
    )?;
    let colours = model.sh0[at].iter().chain(&model.sh_rest[at * rest..(at + 1) * rest]);
    if colours.copied().any(|value| !value.is_finite()) {
        return Err("a colour that is not finite");
    }
    let quat = &mut model.quats[at];
    if quat.iter().any(|value| !value.is_finite()) {
        return Err("a rotation that is not finite");
    }
    if !quat.iter().map(|value| value * value).sum::<f32>().is_normal() {
        // Too small or too large to be squared in 32 bits.
        let length = quat.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err("a rotation without length");
        }
        *quat = quat.map(|value| (f64::from(value) / length) as f32);
    }
    let scales = &mut model.log_scales[at];
    if scales.iter().any(|log| log.is_nan()) {
        return Err("a scale that is not a number");
    }
    if scales.iter().any(|log| *log > LARGEST_LOG) {
        return Err("a scale beyond 1e18");
    }
    let logit = &mut model.logit_opacities[at];
    if logit.is_nan() {
        return Err("an opacity that is not a number");
    }
    if logit.is_infinite() {
        *logit = LOGITS[usize::from(*logit > 0.0)];
        notes.ends += 1;
    }
    if scales.contains(&f32::NEG_INFINITY) {
        *scales = scales.map(|log| log.max(SMALLEST_LOG));
        notes.flat += 1;
    }
    Ok(())
}

/// Looks at the last Gaussian of a model, number `number` of its file, and takes it out again where it cannot be drawn.
pub(super) fn keep_last(model: &mut Gaussians, number: u64, notes: &mut Notes) -> bool {
    let Some(last) = model.len().checked_sub(1) else {
        return false;
    };
    notes.of += 1;
    match judge(model, last, notes) {
        Ok(()) => true,
        Err(what) => {
            model.truncate(last);
            left_out(number, what, notes);
            false
        }
    }
}

fn left_out(number: u64, what: &'static str, notes: &mut Notes) {
    notes.left_out += 1;
    notes.first.get_or_insert((number, what));
}

/// Leaves out what cannot be drawn of a whole model.
///
/// # Errors
/// [`PlyError::NoneSound`] where that is all of it.
pub(in crate::export) fn sift(model: &mut Gaussians, notes: &mut Notes) -> Result<(), PlyError> {
    let mut is_kept = Vec::new();
    for at in 0..model.len() {
        notes.of += 1;
        if let Err(what) = judge(model, at, notes) {
            is_kept.resize(at, true);
            is_kept.push(false);
            left_out(at as u64, what, notes);
        }
    }
    if notes.left_out > 0 {
        model.keep(&is_kept);
    }
    some_left(notes)
}

/// An error where nothing of a model is left.
pub(in crate::export) fn some_left(notes: &Notes) -> Result<(), PlyError> {
    match notes.first {
        Some((_, what)) if notes.left_out == notes.of => Err(PlyError::NoneSound { count: notes.of, what }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scene::math::sigmoid;

    fn model(n: usize) -> Gaussians {
        Gaussians {
            sh_degree: 1,
            means: (0..n).map(|i| [i as f32, 0.0, 0.0]).collect(),
            quats: vec![[2.0, 0.0, 0.0, 0.0]; n],
            log_scales: vec![[-3.0; 3]; n],
            logit_opacities: vec![0.0; n],
            sh0: vec![[0.5; 3]; n],
            sh_rest: (0..9 * n).map(|i| (i / 9) as f32).collect(),
            filter_3d: vec![0.0; n],
        }
    }

    /// What happens to a model, and what is said of it.
    type Damage = (fn(&mut Gaussians), &'static str);

    #[test]
    fn one_bad_value_leaves_one_gaussian_out() {
        let damages: [Damage; 12] = [
            (|m| m.means[2][1] = f32::NAN, "position that is not finite"),
            (|m| m.means[2][1] = f32::NEG_INFINITY, "position that is not finite"),
            (|m| m.means[2][1] = -1e30, "position beyond"),
            (|m| m.quats[2] = [0.0; 4], "rotation without length"),
            (|m| m.quats[2][3] = f32::INFINITY, "rotation that is not finite"),
            (|m| m.log_scales[2][0] = f32::NAN, "scale that is not a number"),
            (|m| m.log_scales[2][0] = f32::INFINITY, "scale beyond"),
            (|m| m.log_scales[2][0] = 60.0, "scale beyond"),
            (|m| m.logit_opacities[2] = f32::NAN, "opacity"),
            (|m| m.sh0[2][2] = f32::INFINITY, "colour"),
            (|m| m.sh_rest[2 * 9 + 8] = f32::NAN, "colour"),
            (|m| m.filter_3d[2] = f32::NAN, "filter"),
        ];
        let expected = model(5).taken(&[0, 1, 3, 4]);
        for (damage, what) in damages {
            let mut damaged = model(5);
            damage(&mut damaged);
            let mut notes = Notes::default();
            let mut last = damaged.taken(&[0, 1, 2]);
            sift(&mut damaged, &mut notes).unwrap();
            assert_eq!(damaged, expected, "{what}");
            assert_eq!((notes.of, notes.left_out), (5, 1), "{what}");
            let line = notes.lines().remove(0);
            assert!(
                line.contains("1 of 5") && line.contains("number 2, with ") && line.contains(what),
                "{line}"
            );
            assert!(!keep_last(&mut last, 2, &mut Notes::default()));
            assert_eq!(last, model(2), "{what}");
        }
    }

    #[test]
    fn what_has_a_meaning_stays() {
        let mut odd = model(4);
        odd.logit_opacities = vec![f32::INFINITY, f32::NEG_INFINITY, 1e4, -200.0];
        odd.log_scales[1] = [f32::NEG_INFINITY, -3.0, -3.0];
        odd.log_scales[2] = [-200.0, 41.0, 0.0];
        odd.quats[3] = [0.0, 1e-30, 0.0, -1e-30];
        let mut notes = Notes::default();
        sift(&mut odd, &mut notes).unwrap();
        assert_eq!((odd.len(), notes.left_out, notes.ends, notes.flat), (4, 0, 2, 1));
        assert!(odd.logit_opacities.iter().all(|logit| logit.is_finite()));
        assert!(sigmoid(odd.logit_opacities[0]) > 0.999_999_9 && sigmoid(odd.logit_opacities[1]) < 1e-37);
        assert_eq!(odd.logit_opacities[2..], [1e4, -200.0]);
        assert!(odd.log_scales[1][0].exp() > 0.0 && odd.log_scales[1][1..] == [-3.0; 2]);
        assert_eq!(odd.log_scales[2], [-200.0, 41.0, 0.0]);
        assert!((odd.quats[3][1] - 0.5_f32.sqrt()).abs() < 1e-6 && odd.quats[3][3] < 0.0);
        assert_eq!(notes.lines().len(), 2);
    }

    #[test]
    fn a_model_without_a_sound_gaussian_is_an_error() {
        let mut bad = model(2);
        bad.means[0][0] = f32::NAN;
        bad.quats[1] = [0.0; 4];
        let error = sift(&mut bad, &mut Notes::default()).unwrap_err().to_string();
        assert!(
            error.contains("none of its 2 Gaussians") && error.contains("position"),
            "{error}"
        );
        let mut notes = Notes::default();
        sift(&mut Gaussians::default(), &mut notes).unwrap();
        assert_eq!(notes, Notes::default());
    }
}
