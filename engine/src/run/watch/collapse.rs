//! Warns of a model that loses nearly all of its Gaussians.
//!
//! In a schedule too short for its resets and prunings Gaussians go faster than training makes them opaque again. Nothing else
//! of such a run looks wrong before its scores.

use super::{Context, Watch};
use crate::record::events::{Event, EventRow};
use crate::record::words::count;
use crate::run::RunError;
use crate::train::StepStatus;
use crate::train::checkpoint::CheckpointState;

/// Runs that never had as many are too small to judge.
const FEWEST: u32 = 1000;
/// Less than one in so many left is a collapse.
const SHARE: u32 = 10;

/// The most Gaussians that the run had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Collapse {
    most: u32,
    said: bool,
}

impl Collapse {
    /// Takes note of a count; a warning the first time that nearly all are gone.
    fn note(&mut self, left: u32) -> Option<Event> {
        self.most = self.most.max(left);
        if self.said || self.most < FEWEST || left >= self.most / SHARE {
            return None;
        }
        self.said = true;
        Some(Event::Warning {
            message: format!(
                "the model has {} left of the {} that it had: they are pruned faster than training makes them opaque again, as in \
                 a schedule too short for its resets and prunings; a larger `--steps-scaler` or more `--iterations` give them \
                 time, a larger `strategy.reset.every` makes fewer resets, a lower `strategy.prune.opacity` keeps fainter \
                 Gaussians",
                count(left, "Gaussian"),
                self.most
            ),
        })
    }
}

impl Watch for Collapse {
    fn resume(&mut self, from: &CheckpointState) {
        self.most = from.gaussians;
    }

    fn event(&mut self, row: &EventRow, ctx: &mut Context<'_>) {
        let (Event::Densify { gaussians, .. } | Event::Cull { gaussians, .. }) = row.event else {
            return;
        };
        self.reported(row.it, gaussians, ctx);
    }

    fn step(&mut self, step: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        self.reported(step.iteration, step.counters.gaussians, ctx);
        Ok(())
    }
}

impl Collapse {
    fn reported(&mut self, it: u32, left: u32, ctx: &mut Context<'_>) {
        // Triangles are joined, which makes them fewer by design.
        if ctx.profile.is_triangles() {
            return;
        }
        if let Some(event) = self.note(left) {
            ctx.tell(it, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(counts: &[u32]) -> Vec<u32> {
        let mut collapse = Collapse::default();
        let is_told = |left: &u32| collapse.note(*left).is_some();
        counts.iter().copied().filter(is_told).collect()
    }

    #[test]
    fn it_is_said_once_when_nearly_all_are_gone() {
        assert_eq!(said(&[9_000, 24_000, 12_000, 2_400, 2_399, 619, 700, 0]), [2_399]);
        assert_eq!(said(&[1_000, 0, 0]), [0]);
        assert!(said(&[24_000, 9_000, 30_000, 3_000]).is_empty(), "a tenth is kept");
    }

    #[test]
    fn small_models_and_growing_ones_are_left_alone() {
        assert!(said(&[999, 3, 0]).is_empty());
        assert!(said(&[500, 5_000, 50_000]).is_empty());
        let mut collapse = Collapse {
            most: 24_000,
            said: false,
        };
        let message = collapse.note(619).map(|event| event.to_string()).unwrap_or_default();
        for words in [
            "619 Gaussians left of the 24000",
            "--steps-scaler",
            "strategy.reset.every",
        ] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
}
