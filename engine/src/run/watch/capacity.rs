//! Says in time that capacities will not do.
//!
//! The status words of the steps tell what share of the Gaussians was visible and how many tile intersections they made.
//! After a densification the largest of both since the last one, times the new number of Gaussians, is what the steps to
//! come may want. It is an estimate from above: the newborn are smaller than their parents.

use super::{Context, Watch};
use crate::kernels::counters::Counters;
use crate::record::events::{Event, EventRow};
use crate::run::RunError;
use crate::step::Capacities;
use crate::train::StepStatus;

/// Share of a capacity from which on it is said.
const NEAR: f64 = 0.9;
/// The estimate must have grown by this factor before it is said again.
const AGAIN: f64 = 1.25;

/// Largest demand of the steps since the last densification.
pub(super) struct CapacityWarning {
    capacities: Capacities,
    /// Visible Gaussians, a Gaussian of the model.
    visible: f64,
    /// Intersections, a Gaussian of the model.
    intersections: f64,
    /// The estimates that were said last, visible and intersections.
    said: [f64; 2],
}

impl CapacityWarning {
    /// For a plan with `capacities`.
    pub(crate) fn new(capacities: Capacities) -> Self {
        Self {
            capacities,
            visible: 0.0,
            intersections: 0.0,
            said: [0.0; 2],
        }
    }

    /// Takes note of a finished step.
    fn note(&mut self, counters: &Counters) {
        let n = f64::from(counters.gaussians.max(1));
        self.visible = self.visible.max(f64::from(counters.visible) / n);
        self.intersections = self.intersections.max(f64::from(counters.intersections) / n);
    }

    /// Takes note of a densification that left `gaussians` Gaussians; a warning when a capacity may soon be too small.
    fn grown(&mut self, gaussians: u32) -> Option<Event> {
        let n = f64::from(gaussians);
        // A model never has more visible Gaussians than Gaussians.
        let wanted = [self.visible.min(1.0) * n, self.intersections * n];
        (self.visible, self.intersections) = (0.0, 0.0);
        let Capacities { v_cap, i_cap, .. } = self.capacities;
        let near = [
            self.capacities.may_see_too_many() && wanted[0] > NEAR * f64::from(v_cap),
            wanted[1] > NEAR * f64::from(i_cap),
        ];
        let news = (0..2).any(|k| near[k] && wanted[k] > AGAIN * self.said[k]);
        if !news {
            return None;
        }
        for k in 0..2 {
            if near[k] {
                self.said[k] = wanted[k];
            }
        }
        Some(Event::Warning {
            message: format!(
                "with {gaussians} Gaussians a step may want {:.0} of {v_cap} visible records and {:.0} of {i_cap} tile \
                 intersections; steps that want more run in bands, which is slower: a higher `memory.cap_gib` or a \
                 lower `memory.max_gaussians` leaves more room",
                wanted[0], wanted[1]
            ),
        })
    }
}

impl Watch for CapacityWarning {
    fn event(&mut self, row: &EventRow, ctx: &mut Context<'_>) {
        if let Event::Densify { gaussians, .. } = row.event
            && let Some(warning) = self.grown(gaussians)
        {
            ctx.tell(row.it, warning);
        }
    }

    fn step(&mut self, step: &StepStatus, _: &mut Context<'_>) -> Result<(), RunError> {
        self.note(&step.counters);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;

    /// 10 000 Gaussians at most, for which there is room in groups of 256.
    fn headroom(v_cap: u32, i_cap: u32) -> CapacityWarning {
        CapacityWarning::new(Capacities::new(10_000, v_cap, i_cap, 3, [(64, 64)]))
    }

    fn step(gaussians: u32, visible: u32, intersections: u32) -> Counters {
        Counters {
            gaussians,
            visible,
            intersections,
            ..Counters::default()
        }
    }

    fn message(event: Option<Event>) -> String {
        match event {
            Some(Event::Warning { message }) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn growth_towards_a_capacity_is_said_with_the_numbers() {
        let mut room = headroom(4000, 10_000);
        room.note(&step(1000, 300, 900));
        room.note(&step(1000, 400, 700));
        assert_eq!(room.grown(5000), None);
        room.note(&step(5000, 1900, 3000));
        let text = message(room.grown(9600));
        for part in ["9600 Gaussians", "3648 of 4000 visible", "5760 of 10000 tile"] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn the_same_is_not_said_twice() {
        let mut room = headroom(10_000, 10_000);
        let mut said = 0;
        for n in 1000..2000 {
            room.note(&step(n, n, 8 * n));
            said += u32::from(room.grown(n + 1).is_some());
        }
        // At 1126 Gaussians, and again with every quarter more: at 1408 and 1761.
        assert_eq!(said, 3);
    }

    #[test]
    fn a_record_for_every_gaussian_is_always_enough() {
        let mut room = headroom(10_000, 1_000_000);
        room.note(&step(5000, 5000, 5000));
        assert_eq!(room.grown(10_000), None);
    }

    #[test]
    fn only_steps_since_the_last_densification_count() {
        let mut room = headroom(4000, 10_000);
        room.note(&step(1000, 1000, 9000));
        assert!(room.grown(1100).is_some());
        room.note(&step(1100, 100, 100));
        assert_eq!(room.grown(9000), None);
    }
}
