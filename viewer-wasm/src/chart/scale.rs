//! Axes: where a value lies, and the round numbers beside it.

use crate::math::{exp, ln, log10, pow};

/// A range of values on a line of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// Values at the ends, the first the smaller.
    pub(crate) domain: [f64; 2],
    /// Pixels at the ends.
    pub(crate) range: [f64; 2],
    /// Whether equal steps are equal factors.
    pub(crate) log: bool,
}

impl Scale {
    /// A scale over the values, with a little air on both ends of a linear one; logarithmic only above 0.
    pub(crate) fn around(values: impl Iterator<Item = f64>, range: [f64; 2], log: bool) -> Self {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = usable.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high {
            (if log { 1.0 } else { 0.0 }, 1.0)
        } else {
            (low, high)
        };
        let domain = if log {
            let air = exp(ln(high / low) * 0.05).max(1.02);
            [low / air, high * air]
        } else {
            let air = if high > low {
                (high - low) * 0.06
            } else {
                high.abs().max(1e-9) * 0.1
            };
            let floor = if low >= 0.0 { 0.0_f64.max(low - air) } else { low - air };
            [floor, high + air]
        };
        Self { domain, range, log }
    }

    fn unit(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        if self.log {
            ln(value.max(f64::MIN_POSITIVE) / low) / ln(high / low)
        } else {
            (value - low) / (high - low)
        }
    }

    /// The pixel of a value.
    pub(crate) fn px(&self, value: f64) -> f64 {
        self.range[0] + self.unit(value) * (self.range[1] - self.range[0])
    }

    /// The value at a pixel.
    pub(crate) fn value(&self, px: f64) -> f64 {
        let share = (px - self.range[0]) / (self.range[1] - self.range[0]);
        let [low, high] = self.domain;
        if self.log {
            low * pow(high / low, share)
        } else {
            low + share * (high - low)
        }
    }

    /// About `wanted` round values inside.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let [low, high] = self.domain;
        if self.log && high / low > 8.0 {
            let decades = log10(high / low);
            let every = (decades / wanted as f64).ceil().max(1.0) as i32;
            let first = log10(low).ceil() as i32;
            let powers = (first..).step_by(every as usize).map(|power| 10_f64.powi(power));
            let mut ticks: Vec<f64> = powers.take_while(|v| *v <= high).collect();
            if ticks.len() < 3 {
                let finer = ticks
                    .clone()
                    .into_iter()
                    .chain([10_f64.powi(first - 1)])
                    .flat_map(|v| [2.0 * v, 5.0 * v]);
                ticks.extend(finer.filter(|v| *v >= low && *v <= high).collect::<Vec<_>>());
                ticks = crate::order::rising(ticks, |tick| *tick);
            }
            return ticks;
        }
        let step = round_step((high - low) / wanted.max(1) as f64);
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last).take(100).map(|k| k as f64 * step).collect()
    }
}

/// The next of 1, 2, 5, 10, ... at or above.
fn round_step(rough: f64) -> f64 {
    if rough <= 0.0 || !rough.is_finite() {
        return 1.0;
    }
    let power = pow(10.0, log10(rough).floor());
    let lead = rough / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|step| lead <= *step * 1.000_001);
    power * round.unwrap_or(10.0)
}

/// A value beside an axis: short, with `k` and `M`.
pub(crate) fn short(value: f64) -> String {
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1e6 => trimmed(format!("{:.2}", value / 1e6)) + "M",
        v if v >= 1e4 => trimmed(format!("{:.1}", value / 1e3)) + "k",
        v if v >= 100.0 => trimmed(format!("{value:.1}")),
        v if v >= 1.0 => trimmed(format!("{value:.2}")),
        v if v >= 1e-3 => trimmed(format!("{value:.4}")),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_pixels_belong_together() {
        for log in [false, true] {
            let scale = Scale {
                domain: [0.1, 1000.0],
                range: [200.0, 0.0],
                log,
            };
            for value in [0.1, 1.0, 77.0, 1000.0] {
                assert!((scale.value(scale.px(value)) - value).abs() < 1e-9 * value.max(1.0));
            }
            assert_eq!(scale.px(1000.0), 0.0);
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = |low, high, log| Scale {
            domain: [low, high],
            range: [0.0, 1.0],
            log,
        };
        assert_eq!(
            scale(0.0, 30_000.0, false).ticks(6),
            [0.0, 5e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4]
        );
        assert_eq!(
            scale(0.013, 0.021, false)
                .ticks(4)
                .iter()
                .map(|v| short(*v))
                .collect::<Vec<_>>(),
            ["0.014", "0.016", "0.018", "0.02"]
        );
        assert_eq!(scale(0.05, 2000.0, true).ticks(5), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(scale(2.0, 60.0, true).ticks(5), [2.0, 5.0, 10.0, 20.0, 50.0]);
        assert!(scale(0.0, f64::MIN_POSITIVE, false).ticks(5).len() <= 100);
    }

    #[test]
    fn a_scale_holds_its_values_and_empty_ones_are_harmless() {
        let around = |values: &[f64], log| Scale::around(values.iter().copied(), [0.0, 1.0], log).domain;
        let [low, high] = around(&[5.0, 9.0, f64::NAN], false);
        assert!(low < 5.0 && high > 9.0 && low > 4.0);
        assert_eq!(around(&[0.0, 10.0], false)[0], 0.0, "counts do not fall below nothing");
        assert!(around(&[0.0, 1.0, 10.0], true)[0] > 0.8, "0 has no logarithm");
        assert_eq!(around(&[], false)[0], 0.0);
        let flat = around(&[3.0], false);
        assert!(flat[0] < 3.0 && flat[1] > 3.0);
    }

    #[test]
    fn short_numbers() {
        let texts = [0.0, 1_500_000.0, 25_000.0, 1500.0, 27.5, 0.25, 0.000_12].map(short);
        assert_eq!(texts, ["0", "1.5M", "25k", "1500", "27.5", "0.25", "1.2e-4"]);
    }
}
