//! The fit behind exposures: a part of the photo, a part of the point, and slopes along what is known beside them.
//!
//! Robust least squares: samples far off, of points that another thing hides or that shine, count less (Huber 1964). Sums go in the order
//! of the samples, so that equal samples give equal figures.

/// Rounds of fitting points and photos in turn: while weights change, and in the end.
const ROUNDS: u32 = 15;
const LAST_ROUNDS: u32 = 50;
/// Times that samples are weighed anew.
const WEIGHINGS: u32 = 5;
/// Deviations within which a sample counts whole.
const WHOLE: f64 = 1.5;
/// Median of the absolute deviations of a normal distribution, in units of its standard deviation, as a factor the other way.
const OF_MEDIAN: f64 = 1.4826;

/// A quantity of a point in a photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) photo: usize,
    pub(super) point: usize,
    /// Natural logarithm of the quantity.
    pub(super) log: f64,
    /// What it may go with beside photo and point.
    pub(super) beside: [f64; 2],
}

/// What samples are made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// Parts of the photos, and how many samples each has.
    of_photo: Vec<f64>,
    counts: Vec<usize>,
    /// Slopes along what stands beside, with their standard errors.
    pub(super) slopes: [f64; 2],
    pub(super) errors: [f64; 2],
    /// Deviation of what is left.
    pub(super) left: f64,
}

/// Samples with their weights.
struct Weighed<'a> {
    samples: &'a [Sample],
    weights: Vec<f64>,
    photos: usize,
    points: usize,
}

impl Weighed<'_> {
    /// Fits `values` by photos and points: the photos' parts, and what is left of each value.
    fn parts(&self, values: &[f64], rounds: u32) -> (Vec<f64>, Vec<f64>) {
        let mut of_photo = vec![0.0; self.photos];
        let mut of_point = vec![0.0; self.points];
        for _ in 0..rounds {
            of_point = self.means(self.points, |s| s.point, |s, value| value - of_photo[s.photo], values);
            of_photo = self.means(self.photos, |s| s.photo, |s, value| value - of_point[s.point], values);
        }
        let pairs = self.samples.iter().zip(values);
        let left = pairs.map(|(s, value)| value - of_photo[s.photo] - of_point[s.point]);
        let left = left.collect();
        (of_photo, left)
    }

    /// Weighted mean of what is `left` of the values at each index below `count`, 0 where there is none.
    fn means(
        &self,
        count: usize,
        index: impl Fn(&Sample) -> usize,
        left: impl Fn(&Sample, f64) -> f64,
        values: &[f64],
    ) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); count];
        for ((sample, weight), value) in self.samples.iter().zip(&self.weights).zip(values) {
            let (sum, weights) = &mut sums[index(sample)];
            *sum += weight * left(sample, *value);
            *weights += weight;
        }
        sums.into_iter()
            .map(|(sum, weights)| if weights > 0.0 { sum / weights } else { 0.0 })
            .collect()
    }

    /// Weighted sum of the products of two lists.
    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        let pairs = self.weights.iter().zip(a).zip(b);
        pairs.map(|((weight, a), b)| weight * a * b).sum()
    }

    /// Slopes of `left` along `beside`, both without the parts of photos and points, and the inverse of their matrix' diagonal.
    fn slopes(&self, left: &[f64], beside: &[Vec<f64>; 2]) -> ([f64; 2], [f64; 2]) {
        let [x, y] = beside;
        let (xx, xy, yy) = (self.product(x, x), self.product(x, y), self.product(y, y));
        let (xl, yl) = (self.product(x, left), self.product(y, left));
        let determinant = xx * yy - xy * xy;
        // What hardly varies, such as the distance of a turntable, has no slope.
        let [has_x, has_y] = [xx, yy].map(|square| square > 1e-9 * self.samples.len() as f64);
        match (has_x, has_y) {
            (true, true) if determinant > 1e-9 * xx * yy => (
                [(yy * xl - xy * yl) / determinant, (xx * yl - xy * xl) / determinant],
                [yy / determinant, xx / determinant],
            ),
            (_, true) => ([0.0, yl / yy], [0.0, 1.0 / yy]),
            (true, false) => ([xl / xx, 0.0], [1.0 / xx, 0.0]),
            (false, false) => ([0.0; 2], [0.0; 2]),
        }
    }
}

impl Fit {
    /// Fits samples of so many photos and points: a photo that shows the brighter part of the scene is no brighter for it.
    pub(super) fn of(samples: &[Sample], photos: usize, points: usize) -> Self {
        let mut weighed = Weighed {
            samples,
            weights: vec![1.0; samples.len()],
            photos,
            points,
        };
        let logs: Vec<f64> = samples.iter().map(|sample| sample.log).collect();
        let (mut slopes, mut inverse, mut left) = ([0.0; 2], [0.0; 2], 0.0);
        for _ in 0..WEIGHINGS {
            let beside = [0, 1].map(|k| {
                let values: Vec<f64> = samples.iter().map(|sample| sample.beside[k]).collect();
                weighed.parts(&values, ROUNDS).1
            });
            let (_, of_logs) = weighed.parts(&logs, ROUNDS);
            (slopes, inverse) = weighed.slopes(&of_logs, &beside);
            let of_slopes = |at: usize| slopes[0] * beside[0][at] + slopes[1] * beside[1][at];
            let off: Vec<f64> = of_logs
                .iter()
                .enumerate()
                .map(|(at, log)| (log - of_slopes(at)).abs())
                .collect();
            left = OF_MEDIAN * median(&off);
            for (weight, off) in weighed.weights.iter_mut().zip(&off) {
                *weight = (WHOLE * left / off.max(1e-12)).min(1.0);
            }
        }
        let straight: Vec<f64> = samples
            .iter()
            .map(|sample| sample.log - slopes[0] * sample.beside[0] - slopes[1] * sample.beside[1])
            .collect();
        let mut counts = vec![0; photos];
        samples.iter().for_each(|sample| counts[sample.photo] += 1);
        Self {
            of_photo: weighed.parts(&straight, LAST_ROUNDS).0,
            counts,
            slopes,
            errors: inverse.map(|value| left * value.max(0.0).sqrt()),
            left,
        }
    }

    /// The part of a photo that has at least so many samples.
    pub(super) fn of_photo(&self, photo: usize, least: usize) -> Option<f64> {
        (self.counts[photo] >= least).then(|| self.of_photo[photo])
    }

    /// Standard deviation over the photos with at least `least` samples; `None` where they are fewer than `photos`.
    pub(super) fn spread(&self, least: usize, photos: usize) -> Option<f64> {
        let parts = (0..self.counts.len()).filter_map(|photo| self.of_photo(photo, least));
        let parts: Vec<f64> = parts.collect();
        if parts.len() < photos {
            return None;
        }
        let count = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / count;
        let square = parts.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        Some((square / count).sqrt())
    }
}

/// The median; 0 of nothing.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Each photo shows a fifth of the points, which get brighter along the way.
    fn samples(gains: &[f64]) -> Vec<Sample> {
        let shown = |photo: usize, point: usize| (point + 400 - 20 * photo) % 400 < 80;
        let pairs = (0..gains.len()).flat_map(|photo| (0..400).map(move |point| (photo, point)));
        pairs
            .filter(|(photo, point)| shown(*photo, *point))
            .map(|(photo, point)| Sample {
                photo,
                point,
                log: gains[photo].ln() - 0.005 * point as f64 + 0.01 * ((photo * 7 + point * 13) % 11) as f64,
                beside: [0, 1].map(|k| ((photo * 29 + point * (17 + k)) % 31) as f64 / 31.0),
            })
            .collect()
    }

    fn spread(samples: &[Sample], photos: usize, points: usize) -> Option<f64> {
        Fit::of(samples, photos, points).spread(16, 3)
    }

    #[test]
    fn gains_are_told_from_points_that_differ() {
        let equal = spread(&samples(&[0.8; 20]), 20, 400).unwrap();
        assert!(equal < 0.01, "{equal}");
        let gains: Vec<f64> = (0..20)
            .map(|photo| (0.15 * if photo % 2 == 0 { 1.0_f64 } else { -1.0 }).exp())
            .collect();
        let found = spread(&samples(&gains), 20, 400).unwrap();
        assert!((found - 0.15).abs() < 0.01, "{found}");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(spread(&[], 0, 0), None);
        assert_eq!(spread(&samples(&[1.0, 2.0]), 2, 400), None);
        let few: Vec<Sample> = samples(&[1.0; 20]).into_iter().filter(|s| s.point < 10).collect();
        assert_eq!(spread(&few, 20, 400), None);
    }

    #[test]
    fn slopes_are_found_beside_gains_and_outliers_count_little() {
        let gains: Vec<f64> = (0..20).map(|photo| 1.0 + 0.2 * f64::from(photo % 3)).collect();
        let mut samples = samples(&gains);
        let before = Fit::of(&samples, 20, 400);
        for sample in &mut samples {
            sample.log += -2.0 * sample.beside[0] + 0.3 * sample.beside[1];
        }
        for sample in samples.iter_mut().step_by(17) {
            sample.log += 1.5;
        }
        let found = Fit::of(&samples, 20, 400);
        let moved = [0, 1].map(|k| found.slopes[k] - before.slopes[k]);
        assert!(
            (moved[0] + 2.0).abs() < 0.02 && (moved[1] - 0.3).abs() < 0.02,
            "{moved:?}"
        );
        let spreads = [&before, &found].map(|fit| fit.spread(16, 3).unwrap());
        assert!((spreads[0] - spreads[1]).abs() < 0.01, "{spreads:?}");
        assert!(
            found.left < 0.06 && found.errors.iter().all(|error| *error < 0.01),
            "{found:?}"
        );
        // The same along one thing that never varies.
        samples.iter_mut().for_each(|sample| sample.beside[0] = 0.7);
        assert_eq!(Fit::of(&samples, 20, 400).slopes[0], 0.0);
    }
}
