//! Reports in time that capacities will not suffice, and requests more room where the budget has bytes left.
//!
//! The status words of the steps have what share of the Gaussians was visible and how many tile intersections they made.
//! After a densification the largest of both since the last one, times the new number of Gaussians, is what the steps to
//! come may want. It is an estimate from above: children are smaller than their parents.

use super::{Context, Watch};
use crate::plan::{BytesPer, CapacitySource, PlanReport, RoomLimit, Unit};
use crate::record::events::{Event, EventRow, StallBuffer};
use crate::run::RunError;
use crate::step::Capacities;
use crate::train::StepStatus;
use kiln_kernels::counters::Counters;
use kiln_kernels::views::Variants;
use kiln_program::Class;

/// Share of a capacity from which on it is said.
const NEAR: f64 = 0.9;
/// The estimate must have grown by this factor before it is said again.
const AGAIN: f64 = 1.25;
/// Requested room, times what steps were seen to want: the model goes on growing.
const AHEAD: f64 = 1.5;
/// Least requested room, times what there is: so that a run is planned again few times.
const DOUBLED: f64 = 2.0;
/// Room has to be worth a new plan: at least so much times what is wanted.
const WORTH: f64 = 1.1;

/// Largest demand of the steps since the last densification.
pub(super) struct CapacityWatch {
    capacities: Capacities,
    /// Tile intersections that the budget would hold; those of the plan where nothing can change.
    most: f64,
    /// What leaves more room, for people.
    remedy: &'static str,
    /// Visible Gaussians, a Gaussian of the model.
    visible: f64,
    /// Intersections, a Gaussian of the model.
    intersections: f64,
    /// The estimates that were said last, visible and intersections.
    said: [f64; 2],
}

impl CapacityWatch {
    /// For a run that is planned as `report` says.
    /// On a device whose largest tensor has room for `bindable` intersections.
    pub(crate) fn new(report: &PlanReport, variants: &Variants, bindable: u32) -> Self {
        let capacities = report.capacities;
        let planned = f64::from(capacities.i_cap);
        let may_grow = matches!(
            report.capacities_from,
            CapacitySource::Generous | CapacitySource::Budget
        ) && capacities.triangles.is_none();
        let mut limit = RoomLimit::Budget;
        let most = if may_grow {
            let bytes = BytesPer::of(Unit::Intersection, &capacities, variants);
            // All of them at once, although some share bytes: it will fit.
            let each = bytes.class(Class::Arena) + bytes.class(Class::Persistent);
            let free = report
                .budget
                .cap_bytes
                .saturating_sub(report.device_bytes + report.driver_bytes);
            let of_budget = planned + free as f64 / each.max(1.0);
            if of_budget > f64::from(bindable) {
                limit = RoomLimit::Device;
            }
            of_budget.min(bindable.into()).max(planned)
        } else {
            planned
        };
        Self {
            capacities,
            most,
            remedy: limit.remedy(&report.budget),
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

    /// Intersections to make room for when steps want `wanted`; none when there is enough, or no memory for as many.
    fn room(&self, wanted: f64) -> Option<u32> {
        let planned = f64::from(self.capacities.i_cap);
        let room = (AHEAD * wanted).max(DOUBLED * planned).min(self.most);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a conversion that saturates, of what is not negative"
        )]
        (wanted > planned && room >= WORTH * wanted).then_some(room as u32)
    }

    /// Takes note of a densification that left `gaussians` Gaussians: what to do when a capacity may soon be too small.
    fn grown(&mut self, gaussians: u32) -> Option<Advice> {
        let n = f64::from(gaussians);
        // A model never has more visible Gaussians than Gaussians.
        let wanted = [self.visible.min(1.0) * n, self.intersections * n];
        (self.visible, self.intersections) = (0.0, 0.0);
        if let Some(room) = self.room(wanted[1]) {
            return Some(Advice::Room(room));
        }
        let Capacities { v_cap, i_cap, .. } = self.capacities;
        let near = [
            self.capacities.may_see_too_many() && wanted[0] > NEAR * f64::from(v_cap),
            // Below what is planned there may be room yet.
            wanted[1] > f64::from(i_cap) * if self.most > f64::from(i_cap) { 1.0 } else { NEAR },
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
        Some(Advice::Say(Event::Warning {
            message: format!(
                "with {gaussians} Gaussians a step may want {:.0} of {v_cap} visible records and {:.0} of {i_cap} tile \
                 intersections; steps that want more run in bands, which is slower: {}",
                wanted[0], wanted[1], self.remedy
            ),
        }))
    }
}

/// What follows from a capacity that may soon be too small.
#[derive(Clone, Debug, PartialEq)]
enum Advice {
    /// A new plan with room for as many tile intersections.
    Room(u32),
    /// Nothing but to say so.
    Say(Event),
}

impl Watch for CapacityWatch {
    fn event(&mut self, row: &EventRow, ctx: &mut Context<'_>) {
        let advice = match row.event {
            Event::Densify { gaussians, .. } => self.grown(gaussians),
            Event::Stall {
                buffer: StallBuffer::Intersections,
                wanted,
                ..
            } => self.room(wanted as f64).map(Advice::Room),
            _ => None,
        };
        match advice {
            Some(Advice::Room(room)) => ctx.orders.room = ctx.orders.room.max(Some(room)),
            Some(Advice::Say(warning)) => ctx.tell(row.it, warning),
            None => {}
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

    /// 10 000 Gaussians at most, for which there is room in groups of 256; the budget holds `most` intersections.
    fn with_budget(v_cap: u32, i_cap: u32, most: u32) -> CapacityWatch {
        CapacityWatch {
            capacities: Capacities::new(10_000, v_cap, i_cap, 3, [(64, 64)]),
            most: most.into(),
            remedy: "",
            visible: 0.0,
            intersections: 0.0,
            said: [0.0; 2],
        }
    }

    /// All of the budget is taken.
    fn headroom(v_cap: u32, i_cap: u32) -> CapacityWatch {
        with_budget(v_cap, i_cap, i_cap)
    }

    fn step(gaussians: u32, visible: u32, intersections: u32) -> Counters {
        Counters {
            gaussians,
            visible,
            intersections,
            ..Counters::default()
        }
    }

    fn message(advice: Option<Advice>) -> String {
        match advice {
            Some(Advice::Say(Event::Warning { message })) => message,
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

    #[test]
    fn room_is_asked_for_while_the_budget_holds_what_steps_want() {
        let mut room = with_budget(10_000, 10_000, 1_000_000);
        room.note(&step(1000, 1000, 1900));
        assert_eq!(room.grown(5000), None, "9 500 of 10 000 is enough");
        room.note(&step(5000, 5000, 9000));
        assert_eq!(room.grown(10_000), Some(Advice::Room(27_000)), "half as much again");
        assert_eq!(room.room(10_001.0), Some(20_000), "at least twice what there is");
        assert_eq!(room.room(900_000.0), Some(1_000_000), "all that the budget holds");
        assert_eq!(room.room(950_000.0), None, "too little of it would be left");
        assert_eq!(headroom(4000, 10_000).room(20_000.0), None, "no list is larger");
        room.note(&step(1000, 1000, 99_000));
        let text = message(room.grown(10_000));
        assert!(text.contains("990000 of 10000 tile"), "{text}");
    }
}
