//! The report of a plan: sizes, bytes and which passes need the arena.

use serde::Serialize;

use super::capacity::CapacitySource;
use super::demand::Demand;
use super::room::RoomLimit;
use crate::step::Capacities;
use kiln_gpu::memory::{Budget, MIB, Plan};
use kiln_program::{Class, Tag};

/// What `kiln plan` prints and `memory.jsonl` starts with.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Sizes.
    pub capacities: Capacities,
    /// Where visible records and intersections come from.
    pub capacities_from: CapacitySource,
    /// What keeps them below what was counted of the first model; none where they are not.
    pub short_of: Option<RoomLimit>,
    /// What the run was seen to need.
    pub demand: Demand,
    /// What it may take.
    pub budget: Budget,
    /// Device bytes of the plan, as requested from the driver.
    pub device_bytes: u64,
    /// Device bytes that the driver takes for itself beside them; only of drivers that are known to.
    #[serde(skip)]
    pub driver_bytes: u64,
    /// Host-visible bytes of the plan.
    pub host_bytes: u64,
    /// Bytes per class, in a fixed order.
    pub classes: Vec<(Class, u64)>,
    /// Arena bytes that live at the same time at the worst moment.
    pub arena_live_bytes: u64,
    /// Who needs the arena, most bytes first.
    pub arena_uses: Vec<ArenaUse>,
}

impl PlanReport {
    /// What people should know where steps will run in bands from the start: what binds, and what to do about it.
    #[must_use]
    pub fn shortage(&self) -> Option<String> {
        let limit = self.short_of?;
        let Capacities { v_cap, i_cap, .. } = self.capacities;
        let remedy = limit.remedy(&self.budget);
        Some(match limit {
            RoomLimit::Budget => format!(
                "the cap of {} MiB holds {v_cap} visible records and {i_cap} tile intersections, {}; {remedy}",
                self.budget.cap_bytes / MIB,
                self.capacities_from.describe(self.capacities.triangles.is_some())
            ),
            RoomLimit::Device => format!(
                "there is room for {i_cap} tile intersections, less than counted over the training views: expect steps in bands; {remedy}"
            ),
        })
    }

    /// What the arena holds at its fullest moment, by purpose, most bytes first.
    pub fn arena_purposes(&self) -> impl Iterator<Item = (Tag, u64)> {
        self.arena_uses
            .first()
            .into_iter()
            .flat_map(|fullest| fullest.purposes.iter().copied())
    }
}

/// Arena bytes of one use at its worst moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArenaUse {
    /// Name of the program; parts of a banded step and programs that differ in a setting are one.
    pub name: String,
    /// Pass at the worst moment; empty when the use needs no arena.
    pub pass: &'static str,
    /// Bytes live then.
    pub bytes: u64,
    /// The same by purpose, most bytes first.
    pub purposes: Vec<(Tag, u64)>,
}

/// The worst moment of each use, most bytes first. The arena is as large as the first.
pub(super) fn arena_uses(placed: &Plan) -> Vec<ArenaUse> {
    // Models are written to disk through the host-visible window.
    let mut uses = vec![ArenaUse {
        name: "export".to_owned(),
        pass: "",
        bytes: 0,
        purposes: Vec::new(),
    }];
    for peak in &placed.arena_peaks {
        let name = peak.program.split(',').next().unwrap_or_default();
        let at = uses.iter().position(|u| u.name == name).unwrap_or_else(|| {
            uses.push(ArenaUse {
                name: name.to_owned(),
                pass: "",
                bytes: 0,
                purposes: Vec::new(),
            });
            uses.len() - 1
        });
        if let Some(entry) = uses.get_mut(at).filter(|u| peak.bytes > u.bytes) {
            entry.bytes = peak.bytes;
            entry.pass = peak.command;
            entry.purposes = peak.by_tag.iter().map(|(tag, bytes)| (*tag, *bytes)).collect();
            entry.purposes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        }
    }
    // Stable: of equal needs the program listed first owns the arena, the step before all others.
    uses.rotate_left(1);
    uses.sort_by_key(|u| std::cmp::Reverse(u.bytes));
    uses
}
