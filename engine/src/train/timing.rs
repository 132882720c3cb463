//! Where training time goes: device time per pass, averaged over windows of iterations, and the host's share.
//!
//! Some steps run from a second recording that writes timestamps. They are steps like all others, in flight with the
//! ones around them, and their times are read when their status word is. So the device's clocks are those of training.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::plan::{BytesPer, Unit};
use crate::step::Capacities;
use kiln_gpu::vk::PassTime;
use kiln_kernels::counters::Counters;
use kiln_kernels::views::Variants;
use kiln_program::Class;

/// Iterations in a window.
const WINDOW: u32 = 1000;

/// Mean device time of one pass of the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassRow {
    /// Pass name; passes of the same shader are added up.
    pub pass: String,
    /// Dispatches or copies a step.
    pub calls: f64,
    /// Milliseconds a step.
    pub ms: f64,
}

/// Timed steps of up to 1000 iterations in a row; means over these steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowTimes {
    /// First iteration of the window.
    pub from: u32,
    /// Last timed iteration.
    pub to: u32,
    /// Steps timed.
    pub steps: u32,
    /// Gaussians in the model.
    pub gaussians: f64,
    /// Visible Gaussians.
    pub visible: f64,
    /// Share of the stored SH coefficients that took part; the others are not moved.
    pub sh_share: f64,
    /// Tile intersections.
    pub intersections: f64,
    /// Sum over passes, milliseconds a step.
    pub total_ms: f64,
    /// The passes, in order of cost.
    pub passes: Vec<PassRow>,
}

/// Bytes that training keeps of a Gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GaussianBytes {
    /// Centre, rotation, scales, opacity.
    pub geometry: f64,
    /// SH coefficients.
    pub sh: f64,
    /// These with their moments, and what counts their steps.
    pub sh_state: f64,
    /// Everything: values, moments, statistics, filter.
    pub all: f64,
}

impl GaussianBytes {
    /// Those of a run with these capacities and kernels.
    #[must_use]
    pub fn of(capacities: &Capacities, variants: &Variants) -> Self {
        let per = BytesPer::of(Unit::Gaussian, capacities, variants);
        let of = |tensor: &str| per.tensor(tensor);
        Self {
            geometry: of("model/geometry"),
            sh: of("model/sh"),
            sh_state: ["model/sh", "model/sh_m", "model/sh_v"].map(of).iter().sum(),
            all: per.class(Class::Persistent),
        }
    }
}

/// What `timings.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timings {
    /// One step of so many was timed.
    pub every: u32,
    /// Iterations of this process.
    pub iterations: u32,
    /// Training-loop seconds of this process.
    pub loop_s: f64,
    /// Seconds of these in which the submitting thread waited for the device, or for a photo on its way into the ring.
    pub waited_s: f64,
    /// What remains, milliseconds a step: the submitting thread's own work.
    pub host_ms: f64,
    /// What a model of bytes moved needs besides counts.
    pub gaussian_bytes: GaussianBytes,
    /// Device times, window by window.
    pub windows: Vec<WindowTimes>,
}

/// A finished step with its pass times.
#[derive(Clone, Debug)]
pub struct TimedStep {
    /// Iteration.
    pub iteration: u32,
    /// Share of the SH coefficients that took part.
    pub sh_share: f64,
    /// Its counters.
    pub counters: Counters,
    /// Its passes, in order.
    pub passes: Vec<PassTime>,
}

/// Sums of one window.
#[derive(Clone, Debug, Default)]
struct Sums {
    to: u32,
    steps: u32,
    gaussians: f64,
    visible: f64,
    sh_share: f64,
    intersections: f64,
    passes: BTreeMap<&'static str, (f64, f64)>,
}

/// Adds up timed steps; as large after a long run as its windows are many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    windows: BTreeMap<u32, Sums>,
}

impl Timing {
    pub(crate) fn add(&mut self, step: &TimedStep) {
        let window = step.iteration.saturating_sub(1) / WINDOW;
        let sums = self.windows.entry(window).or_default();
        sums.to = sums.to.max(step.iteration);
        sums.steps += 1;
        sums.gaussians += f64::from(step.counters.gaussians);
        sums.visible += f64::from(step.counters.visible);
        sums.sh_share += step.sh_share;
        sums.intersections += f64::from(step.counters.intersections);
        for time in &step.passes {
            let entry = sums.passes.entry(time.pass).or_default();
            entry.0 += 1.0;
            entry.1 += time.ns / 1e6;
        }
    }

    /// The report of `iterations` that took `seconds`, `waited` of them for the device.
    pub(crate) fn report(
        &self,
        every: u32,
        iterations: u32,
        seconds: f64,
        waited: Duration,
        gaussian_bytes: GaussianBytes,
    ) -> Timings {
        let waited_s = waited.as_secs_f64();
        Timings {
            every,
            iterations,
            loop_s: seconds,
            waited_s,
            host_ms: 1e3 * (seconds - waited_s).max(0.0) / f64::from(iterations.max(1)),
            gaussian_bytes,
            windows: self.windows.iter().map(|(window, sums)| sums.mean(*window)).collect(),
        }
    }
}

impl Sums {
    fn mean(&self, window: u32) -> WindowTimes {
        let count = f64::from(self.steps.max(1));
        let mut passes: Vec<PassRow> = self
            .passes
            .iter()
            .map(|(pass, (calls, ms))| PassRow {
                pass: (*pass).to_owned(),
                calls: calls / count,
                ms: ms / count,
            })
            .collect();
        passes.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        WindowTimes {
            from: window * WINDOW + 1,
            to: self.to,
            steps: self.steps,
            gaussians: self.gaussians / count,
            visible: self.visible / count,
            sh_share: self.sh_share / count,
            intersections: self.intersections / count,
            total_ms: passes.iter().map(|p| p.ms).sum(),
            passes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_one_shader_add_up_and_windows_part() {
        let step = |iteration, ns| TimedStep {
            iteration,
            sh_share: if iteration < 1000 { 0.0625 } else { 0.25 },
            counters: Counters {
                gaussians: iteration,
                ..Counters::default()
            },
            passes: vec![
                PassTime { pass: "a", ns },
                PassTime { pass: "b", ns: 5e6 },
                PassTime { pass: "a", ns },
            ],
        };
        let mut timing = Timing::default();
        for (iteration, ns) in [(500, 1e6), (1000, 3e6), (1001, 7e6)] {
            timing.add(&step(iteration, ns));
        }
        let bytes = GaussianBytes {
            geometry: 44.0,
            sh: 192.0,
            sh_state: 576.0,
            all: 728.125,
        };
        let report = timing.report(500, 1001, 3.0, Duration::from_millis(1999), bytes);
        assert!((report.host_ms - 1.0).abs() < 1e-9, "{}", report.host_ms);
        let (first, second) = (&report.windows[0], &report.windows[1]);
        let rows: Vec<_> = first.passes.iter().map(|p| (p.pass.as_str(), p.calls, p.ms)).collect();
        assert_eq!(rows, [("b", 1.0, 5.0), ("a", 2.0, 4.0)]);
        assert!((first.total_ms - 9.0).abs() < 1e-9, "{}", first.total_ms);
        assert_eq!((first.from, first.to, first.steps), (1, 1000, 2));
        assert!((first.gaussians - 750.0).abs() < 1e-9);
        assert!((first.sh_share - 0.15625).abs() < 1e-9);
        assert_eq!((second.from, second.to, second.steps), (1001, 1001, 1));
    }
}
