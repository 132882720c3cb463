//! Training photos that are left out of training while the model grows, and say when more Gaussians are of no more use.
//!
//! A model of few photos can draw them ever better with ever more Gaussians and draw everything else worse. Photos that no step
//! has seen tell: where they are drawn hardly better than some hundred steps before, births end, and these photos are trained
//! like the others from then on.

use crate::train::Judged;
use kiln_config::Profile;

/// Photos that judge, of all: one in so many, at least and at most so many.
const ONE_IN: usize = 10;
const FEWEST: usize = 3;
const MOST: usize = 8;
/// Photos without which none is spared.
const PHOTOS: usize = 16;
/// Judgements between the first and the last iteration at which Gaussians are born.
const JUDGEMENTS: u32 = 9;
/// Share of a run after which every photo is trained, in percent.
const LATEST: u64 = 70;

/// Which photos judge, when, and what they ask.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judges {
    /// Indices of training views, ascending.
    pub(super) views: Vec<usize>,
    /// Iterations between two judgements, after which iteration they begin, and the last at which there is one.
    every: u32,
    from: u32,
    last: u32,
    /// Gain of PSNR between two judgements below which births end, dB.
    least_gain: f32,
}

/// What follows from a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// More Gaussians are of use.
    Grow,
    /// Births end: the photos gained so many dB.
    EndBirths(f64),
    /// The time of judgements is over, and births end as the settings say.
    Over,
}

impl Judges {
    /// Those of a run over `photos` training views; `None` where the strategy asks for none or there are too few photos.
    pub(super) fn of(profile: &Profile, photos: usize) -> Option<Self> {
        let densify = &profile.strategy.error_guided()?.densify;
        let least_gain = densify.least_gain?;
        if photos < PHOTOS {
            return None;
        }
        let count = (photos / ONE_IN).clamp(FEWEST, MOST);
        let latest = u64::from(profile.schedule.iterations) * LATEST / 100;
        let latest = u32::try_from(latest).unwrap_or(u32::MAX);
        // A judgement falls on a densification, which it decides: they are at multiples of `densify.every`.
        let step = (densify.until - densify.from) / JUDGEMENTS;
        Some(Self {
            views: (0..count).map(|k| (2 * k + 1) * photos / (2 * count)).collect(),
            every: step.next_multiple_of(densify.every).max(1),
            from: densify.from,
            last: densify.until.min(latest),
            least_gain,
        })
    }

    /// What is said before the first step of a run over the views `names`.
    pub(super) fn start(&self, names: &[&str]) -> String {
        let spared: Vec<&str> = self.views.iter().filter_map(|view| names.get(*view).copied()).collect();
        format!(
            "{} of {} photos are left out of training until births end, which they decide (`strategy.densify.least_gain`): {}",
            self.views.len(),
            names.len(),
            spared.join(", ")
        )
    }

    /// What is said where births end by the photos' gain, dB.
    pub(super) fn end(&self, gain: f64, gaussians: u32) -> String {
        format!(
            "births end at {gaussians} Gaussians: {} photos that were left out of training gained {gain:.2} dB in {} iterations, less than \
             `strategy.densify.least_gain`, {}; they are trained from here on",
            self.views.len(),
            self.every,
            self.least_gain
        )
    }

    /// True when the photos judge after `iteration`, or are to be set free.
    pub(super) fn is_due(&self, iteration: u32) -> bool {
        iteration >= self.last || (iteration > self.from && iteration.is_multiple_of(self.every))
    }

    /// Takes the mean PSNR of the photos after `iteration`; what is not finite says nothing.
    pub(super) fn take(&self, iteration: u32, psnr: f64, judged: &mut Judged) -> Verdict {
        let gain = judged.psnr.map(|before| psnr - before).filter(|gain| gain.is_finite());
        judged.psnr = Some(psnr).filter(|psnr| psnr.is_finite());
        match gain {
            Some(gain) if gain < f64::from(self.least_gain) => {
                judged.over = true;
                judged.births_end = Some(iteration);
                Verdict::EndBirths(gain)
            }
            _ if iteration >= self.last => {
                judged.over = true;
                Verdict::Over
            }
            _ => Verdict::Grow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUDGES: Judges = Judges {
        views: Vec::new(),
        every: 500,
        from: 500,
        last: 4900,
        least_gain: 0.2,
    };

    #[test]
    fn births_end_where_photos_that_no_step_saw_gain_little() {
        let mut judged = Judged::default();
        let due: Vec<u32> = (1..=5000).filter(|it| JUDGES.is_due(*it)).take(9).collect();
        assert_eq!(due, [1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 4900]);
        assert_eq!(JUDGES.take(1000, 25.0, &mut judged), Verdict::Grow);
        assert_eq!(JUDGES.take(1500, 25.5, &mut judged), Verdict::Grow);
        assert!(!judged.over && !judged.ends_births(u32::MAX));
        assert_eq!(JUDGES.take(2000, 25.625, &mut judged), Verdict::EndBirths(0.125));
        assert!(judged.over && judged.ends_births(2000) && !judged.ends_births(1999));
    }

    #[test]
    fn judgements_end_with_the_time_for_them() {
        let mut judged = Judged::default();
        assert_eq!(JUDGES.take(4500, f64::NAN, &mut judged), Verdict::Grow);
        assert_eq!(JUDGES.take(4900, 20.0, &mut judged), Verdict::Over);
        assert!(judged.over && !judged.ends_births(u32::MAX));
    }
}
