//! Ends a run whose evaluations stopped improving (`schedule.early_stop`).

use crate::eval::Means;
use crate::record::events::Event;
use kiln_config::{EarlyStop, PlateauMetric};

/// Watches one figure over the evaluations of a run.
#[derive(Clone, Debug)]
pub(super) struct Stagnation {
    options: EarlyStop,
    /// Iteration and value of the best evaluation.
    best: Option<(u32, f64)>,
    /// Evaluations since then.
    since: u32,
}

impl Stagnation {
    pub(crate) const fn new(options: EarlyStop) -> Self {
        Self {
            options,
            best: None,
            since: 0,
        }
    }

    /// Takes the means of an evaluation over the test views, or over the training views when there are no others; gives
    /// the event with which the run ends, when it shall. An evaluation without the figure is no better than the best.
    pub(super) fn take(&mut self, iteration: u32, mean: Option<Means>) -> Option<Event> {
        let EarlyStop {
            patience,
            min_delta,
            metric,
        } = self.options;
        let value = mean
            .and_then(|mean| figure(&mean, metric))
            .filter(|value| value.is_finite());
        let better = |value: f64| match (self.best, metric) {
            (None, _) => true,
            (Some((_, best)), PlateauMetric::Psnr | PlateauMetric::Ssim) => value - best > min_delta,
            (Some((_, best)), PlateauMetric::Lpips | PlateauMetric::L1) => best - value > min_delta,
        };
        if let Some(value) = value.filter(|value| better(*value)) {
            self.best = Some((iteration, value));
            self.since = 0;
            return None;
        }
        self.since += 1;
        (self.since >= patience).then(|| Event::EarlyStop {
            metric,
            best: self.best.map(|(_, value)| value),
            best_it: self.best.map_or(0, |(it, _)| it),
            evaluations: self.since,
            min_delta,
        })
    }
}

fn figure(mean: &Means, metric: PlateauMetric) -> Option<f64> {
    match metric {
        PlateauMetric::Psnr => Some(mean.metrics.psnr_image),
        PlateauMetric::Ssim => mean.metrics.ssim_valid.or(Some(mean.metrics.ssim)),
        PlateauMetric::Lpips => mean.lpips,
        PlateauMetric::L1 => Some(mean.metrics.l1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::ViewMetrics;

    fn mean(figure: f64) -> Means {
        let metrics = ViewMetrics {
            l1: figure,
            psnr: 0.0,
            psnr_image: figure,
            ssim: figure,
            ssim_valid: None,
        };
        Means {
            n: 1,
            metrics,
            lpips: None,
            psnr_fitted_half: None,
        }
    }

    /// Iterations at which a run over `figures` would end.
    fn ends(options: EarlyStop, figures: &[f64]) -> Option<(u32, Event)> {
        let mut stagnation = Stagnation::new(options);
        (1..).zip(figures).find_map(|(i, figure)| {
            let event = stagnation.take(100 * i, Some(mean(*figure)))?;
            Some((100 * i, event))
        })
    }

    #[test]
    fn a_run_ends_after_as_many_evaluations_without_gain_as_it_has_patience() {
        let options = EarlyStop {
            patience: 2,
            min_delta: 0.1,
            metric: PlateauMetric::Psnr,
        };
        let event = Event::EarlyStop {
            metric: PlateauMetric::Psnr,
            best: Some(21.0),
            best_it: 200,
            evaluations: 2,
            min_delta: 0.1,
        };
        assert_eq!(
            event.to_string(),
            "stopping early: psnr was best at iteration 200 (21.0000) and 2 evaluations since were no better by more than 0.1 \
             (`schedule.early_stop.min_delta`)"
        );
        assert_eq!(ends(options, &[20.0, 21.0, 21.05, 21.08, 30.0]), Some((400, event)));
        // A gain in between starts the count again; small steps add up from the best, not from the last.
        assert_eq!(ends(options, &[20.0, 19.0, 20.2, 20.25, 20.31, 20.2]), None);
        assert_eq!(ends(options, &[f64::NAN, 20.0, f64::NAN, 20.5, 20.9]), None);
    }

    #[test]
    fn errors_and_distances_improve_downwards() {
        for metric in [PlateauMetric::L1, PlateauMetric::Psnr] {
            let options = EarlyStop {
                patience: 1,
                min_delta: 0.0,
                metric,
            };
            let falling = ends(options, &[0.3, 0.2, 0.1]).map(|(it, _)| it);
            assert_eq!(falling, (metric == PlateauMetric::Psnr).then_some(200));
        }
        let options = EarlyStop {
            patience: 2,
            min_delta: 0.0,
            metric: PlateauMetric::Lpips,
        };
        // Without LPIPS there is nothing that could improve.
        assert!(matches!(
            ends(options, &[0.3; 4]),
            Some((200, Event::EarlyStop { best: None, .. }))
        ));
    }

    #[test]
    fn ssim_is_that_of_whole_windows_where_there_are_any() {
        let mut both = mean(0.5);
        both.metrics.ssim_valid = Some(0.75);
        assert_eq!(figure(&both, PlateauMetric::Ssim), Some(0.75));
        assert_eq!(figure(&mean(0.5), PlateauMetric::Ssim), Some(0.5));
    }
}
