//! Where a step's time goes: device time per pass, averaged over views.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::vk::PassTime;

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

/// Device time of a step, pass by pass in order of cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepTimes {
    /// Steps timed.
    pub steps: u32,
    /// Gaussians in the model.
    pub gaussians: u32,
    /// Sum over passes, milliseconds a step.
    pub total_ms: f64,
    /// The passes.
    pub passes: Vec<PassRow>,
}

impl StepTimes {
    /// Averages the times of `steps`.
    #[must_use]
    pub fn mean(steps: &[Vec<PassTime>], gaussians: u32) -> Self {
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for time in steps.iter().flatten() {
            let entry = sums.entry(time.pass).or_default();
            entry.0 += 1.0;
            entry.1 += time.ns / 1e6;
        }
        let count = steps.len().max(1) as f64;
        let mut passes: Vec<PassRow> = sums
            .into_iter()
            .map(|(pass, (calls, ms))| PassRow {
                pass: pass.to_owned(),
                calls: calls / count,
                ms: ms / count,
            })
            .collect();
        passes.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        let total_ms = passes.iter().map(|p| p.ms).sum();
        Self {
            steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            gaussians,
            total_ms,
            passes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_one_shader_add_up() {
        let step = |ns| {
            vec![
                PassTime { pass: "a", ns },
                PassTime { pass: "b", ns: 5e6 },
                PassTime { pass: "a", ns },
            ]
        };
        let times = StepTimes::mean(&[step(1e6), step(3e6)], 7);
        let rows: Vec<_> = times.passes.iter().map(|p| (p.pass.as_str(), p.calls, p.ms)).collect();
        assert_eq!(rows, [("b", 1.0, 5.0), ("a", 2.0, 4.0)]);
        assert!((times.total_ms - 9.0).abs() < 1e-9, "{}", times.total_ms);
    }
}
