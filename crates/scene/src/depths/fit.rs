//! What the values of a depth map mean: a straight line from them to depth or to its inverse, fitted to the sparse points that a
//! photo shows.
//!
//! Networks that guess depth from one photo give it up to scale and shift, phones in units of their own. Owns the choice between
//! the two meanings and the fit, which half of the points may be wrong for (least median of squares, Rousseeuw 1984).

use crate::SplitMix64;

/// Fewest points that a fit is made from.
pub(super) const LEAST_POINTS: usize = 8;
/// Lines through two points that are tried.
const TRIALS: usize = 256;
/// Points within so many medians of the best line make the final one: 2.5 standard deviations of normal errors.
const INLIERS: f64 = 2.5 * 1.4826;
/// Least share of a depth that points may be off and count.
const LEAST_INLIER: f64 = 0.01;

/// What a map's values are a line of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Inverse depth: what is near is large.
    Inverse,
    /// Depth.
    Depth,
}

/// How inverse depth follows from a map's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthFit {
    /// What `scale` and `shift` give.
    pub meaning: Meaning,
    /// Multiplies a value; above 0.
    pub scale: f64,
    /// Is added then.
    pub shift: f64,
    /// Median over the points of how far the line is off, as the logarithm of a ratio of depths.
    pub error: f64,
    /// Median inverse depth of the points, per world unit: what inverse depths of the photo are measured in.
    pub unit: f64,
}

impl DepthFit {
    /// Inverse depth of a value, per world unit; none where the line leads behind the camera or to infinity.
    #[must_use]
    pub fn inverse_depth(&self, value: f32) -> Option<f64> {
        let line = self.scale * f64::from(value) + self.shift;
        let inverse = match self.meaning {
            Meaning::Inverse => line,
            Meaning::Depth => 1.0 / line,
        };
        (inverse > 0.0 && inverse.is_finite()).then_some(inverse)
    }

    /// A line of inverse depth that is given, measured at pairs of a map's value and a depth, world units; `unit` where there is no pair.
    pub(super) fn given(scale: f64, shift: f64, pairs: &[(f32, f32)], unit: f64) -> Self {
        let mut fit = Self {
            meaning: Meaning::Inverse,
            scale,
            shift,
            error: 0.0,
            unit,
        };
        if !pairs.is_empty() {
            let error = |&(value, depth): &(f32, f32)| off((f64::from(value), 1.0 / f64::from(depth)), scale, shift);
            fit.error = median(pairs.iter().map(error).collect());
            fit.unit = median(pairs.iter().map(|(_, depth)| 1.0 / f64::from(*depth)).collect());
        }
        fit
    }

    /// The line for pairs of a map's value and a depth, world units; none where no rising line is near half of the points. `seed`
    /// draws the trials.
    #[must_use]
    pub fn of(pairs: &[(f32, f32)], seed: u64) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = pairs
            .iter()
            .map(|&(value, depth)| (f64::from(value), f64::from(depth)))
            .filter(|(value, depth)| value.is_finite() && *depth > 0.0 && depth.is_finite())
            .collect();
        if pairs.len() < LEAST_POINTS {
            return None;
        }
        let unit = median(pairs.iter().map(|(_, depth)| 1.0 / depth).collect());
        let [inverse, depth] = [Meaning::Inverse, Meaning::Depth].map(|meaning| line(&pairs, meaning, seed));
        let better = match (inverse, depth) {
            (Some(inverse), Some(depth)) if depth.2 < inverse.2 => Some((Meaning::Depth, depth)),
            (Some(inverse), _) => Some((Meaning::Inverse, inverse)),
            (None, depth) => depth.map(|depth| (Meaning::Depth, depth)),
        };
        let (meaning, (scale, shift, error)) = better?;
        Some(Self {
            meaning,
            scale,
            shift,
            error,
            unit,
        })
    }
}

/// Scale, shift and error of the best rising line.
fn line(pairs: &[(f64, f64)], meaning: Meaning, seed: u64) -> Option<(f64, f64, f64)> {
    let points: Vec<(f64, f64)> = pairs
        .iter()
        .map(|&(value, depth)| {
            (
                value,
                if meaning == Meaning::Inverse {
                    1.0 / depth
                } else {
                    depth
                },
            )
        })
        .collect();
    let count = u32::try_from(points.len()).ok()?;
    let mut random = SplitMix64::new(seed);
    let measured = |scale: f64, shift: f64| {
        let sound = scale > 0.0 && scale.is_finite() && shift.is_finite();
        sound.then(|| {
            (
                scale,
                shift,
                median(points.iter().map(|&point| off(point, scale, shift)).collect()),
            )
        })
    };
    let trials = (0..TRIALS).filter_map(|_| {
        let [a, b] = [0; 2].map(|_| points[random.below(count) as usize]);
        let scale = (a.1 - b.1) / (a.0 - b.0);
        measured(scale, a.1 - scale * a.0)
    });
    let better = |a: (f64, f64, f64), b: (f64, f64, f64)| if b.2 < a.2 { b } else { a };
    let best = trials.reduce(better).filter(|(.., error)| error.is_finite())?;
    let (scale, shift, error) = best;
    let most = (INLIERS * error).max(LEAST_INLIER);
    let inliers = points.iter().filter(|&&point| off(point, scale, shift) <= most);
    // least squares of relative errors
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(value, wanted) in inliers {
        let weight = 1.0 / (wanted * wanted);
        w += weight;
        x += weight * value;
        y += weight * wanted;
        xx += weight * value * value;
        xy += weight * value * wanted;
    }
    let scale = (w * xy - x * y) / (w * xx - x * x);
    let refined = measured(scale, (y - scale * x) / w);
    Some(refined.map_or(best, |refined| better(best, refined)))
}

/// How far a line is off at a point: the logarithm of the ratio, either way.
fn off((value, wanted): (f64, f64), scale: f64, shift: f64) -> f64 {
    let line = scale * value + shift;
    if line > 0.0 {
        (line / wanted).ln().abs()
    } else {
        f64::INFINITY
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Depths from 1 to 9, and values that `value` makes of them; every fifth point is of something else.
    fn pairs(value: impl Fn(f64) -> f64, outliers: bool) -> Vec<(f32, f32)> {
        let mut random = SplitMix64::new(9);
        (0..200)
            .map(|n| {
                let depth = f64::from(1.0 + 8.0 * random.next_f32());
                let odd = f64::from(1.0 + 8.0 * random.next_f32());
                let seen = if outliers && n % 5 == 0 { odd } else { depth };
                (value(seen) as f32, depth as f32)
            })
            .collect()
    }

    fn agrees(fit: &DepthFit, value: impl Fn(f64) -> f64) {
        for depth in [1.0, 2.5, 6.0, 9.0] {
            let found = 1.0 / fit.inverse_depth(value(depth) as f32).unwrap();
            assert!((found / depth - 1.0).abs() < 2e-3, "{depth}: {found}");
        }
    }

    #[test]
    fn scale_shift_and_meaning_are_found_among_outliers() {
        for outliers in [false, true] {
            // a network's disparity in 16 bits, and a phone's millimetres in a scene of another unit
            let disparity = |depth: f64| (40_000.0 / depth + 3000.0) / 65_536.0;
            let fit = DepthFit::of(&pairs(disparity, outliers), 1).unwrap();
            assert_eq!(fit.meaning, Meaning::Inverse);
            agrees(&fit, disparity);
            let millimetres = |depth: f64| 430.0 * depth;
            let fit = DepthFit::of(&pairs(millimetres, outliers), 1).unwrap();
            assert_eq!(fit.meaning, Meaning::Depth);
            agrees(&fit, millimetres);
            assert!((0.15..0.35).contains(&fit.unit), "{}", fit.unit);
        }
    }

    #[test]
    fn maps_that_say_nothing_have_no_line() {
        assert!(DepthFit::of(&pairs(|depth| depth, false)[..LEAST_POINTS - 1], 1).is_none());
        assert!(DepthFit::of(&[(3.0, 2.0); 50], 1).is_none());
        // noise has a line, which is far off
        let mut noise = SplitMix64::new(4);
        let noise: Vec<(f32, f32)> = (0..200)
            .map(|_| (noise.next_f32(), 1.0 + 8.0 * noise.next_f32()))
            .collect();
        assert!(DepthFit::of(&noise, 1).is_none_or(|fit| fit.error > 0.2));
        let fit = DepthFit {
            meaning: Meaning::Inverse,
            scale: 1.0,
            shift: -0.5,
            error: 0.0,
            unit: 1.0,
        };
        assert_eq!((fit.inverse_depth(0.25), fit.inverse_depth(f32::NAN)), (None, None));
    }
}
