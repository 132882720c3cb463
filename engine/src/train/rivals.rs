//! Kernels that a run may take instead of those that the rules chose: which they are, and their part of the plan.
//!
//! A rival computes the same in the same memory: only what fits the tensors planned for the rules' choice, and what leaves
//! the arena as large as it is. Runs that must repeat byte for byte have none, nor have those that are told their kernels.

use super::{TrainError, TrainPlan};
use crate::config::{self, Profile};
use crate::kernels::views::{Reduction, Variants};
use crate::memory::{PlanLimits, Program};
use crate::step::{self, StepTensors};
use crate::vk::{Caps, DeviceKind, Tier};

/// The step with other kernels.
pub struct Rival {
    /// Its kernels.
    pub variants: Variants,
    /// One for each page that photos are in, else one; as those of the plan.
    pub steps: Vec<Program>,
}

impl Rival {
    /// The step on `tensors`, which were planned for other kernels.
    fn of(tensors: &StepTensors, variants: &Variants) -> Self {
        let tensors = StepTensors {
            variants: *variants,
            ..tensors.clone()
        };
        Self {
            variants: *variants,
            steps: step::train_steps(&tensors),
        }
    }
}

/// The kernels that could take the place of `chosen`, none of which was tried yet.
pub(super) fn rivals(caps: &Caps, tier: Tier, profile: &Profile, chosen: &Variants) -> Vec<Variants> {
    let debug = &profile.debug;
    let is_pinned = profile.train.deterministic || debug.reduction != config::Reduction::Auto;
    let races = match debug.race {
        config::Race::Auto => caps.kind != DeviceKind::Cpu,
        config::Race::On => true,
        config::Race::Off => false,
    };
    if is_pinned || !races || tier != Tier::Fast {
        return Vec::new();
    }
    let reductions = [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange];
    let possible = reductions
        .into_iter()
        .filter(|r| *r != Reduction::Atomic || caps.float_atomics);
    let ways = possible.flat_map(|reduction| {
        [false, true].map(|columns| Variants {
            reduction,
            columns,
            ..*chosen
        })
    });
    ways.filter(|way| way != chosen && fits(way, chosen)).collect()
}

/// True when tensors made for `planned` have all the room that `way` needs.
fn fits(way: &Variants, planned: &Variants) -> bool {
    let segmented = |v: &Variants| v.reduction == Reduction::Segmented;
    (!segmented(way) || segmented(planned)) && (!way.orders_tiles() || planned.orders_tiles())
}

impl TrainPlan {
    /// Adds the steps of those `rivals` that need no more memory, within `limits`, than there is.
    ///
    /// # Errors
    /// See [`TrainPlan::place`].
    pub fn with_rivals(mut self, rivals: &[Variants], limits: PlanLimits) -> Result<Self, TrainError> {
        if rivals.is_empty() {
            return Ok(self);
        }
        let planned_bytes = self.place(limits)?.device_bytes();
        for variants in rivals {
            self.rivals.push(Rival::of(&self.tensors, variants));
            if self.place(limits)?.device_bytes() > planned_bytes {
                self.rivals.pop();
            }
        }
        Ok(self)
    }

    /// The rivals of `other`, on the tensors of this plan.
    #[must_use]
    pub(super) fn with_rivals_of(mut self, other: &Self) -> Self {
        let rivals = other.rivals.iter();
        self.rivals = rivals.map(|rival| Rival::of(&self.tensors, &rival.variants)).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::variants_for;
    use super::*;
    use crate::config::{Inputs, resolve};

    fn caps(kind: DeviceKind, float_atomics: bool) -> Caps {
        let mut caps = Caps::default();
        (caps.kind, caps.subgroup_size) = (kind, 32);
        (caps.subgroup_ops, caps.float_atomics) = (true, float_atomics);
        caps
    }

    fn profile(alter: impl Fn(&mut Profile)) -> Profile {
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            ..Inputs::default()
        };
        let mut profile = resolve(&inputs).unwrap();
        alter(&mut profile);
        profile
    }

    fn names(caps: &Caps, tier: Tier, profile: &Profile) -> Vec<String> {
        let chosen = variants_for(caps, tier, profile).unwrap();
        rivals(caps, tier, profile, &chosen)
            .iter()
            .map(Variants::name)
            .collect()
    }

    #[test]
    fn rivals_do_with_the_memory_of_the_choice() {
        let auto = profile(|_| ());
        let gpu = caps(DeviceKind::Discrete, true);
        let expected = ["atomic+columns", "compare_exchange+pixels", "compare_exchange+columns"];
        assert_eq!(names(&gpu, Tier::Fast, &auto), expected);
        let without = caps(DeviceKind::Integrated, false);
        assert_eq!(names(&without, Tier::Fast, &auto), ["compare_exchange+columns"]);
        // the portable tier has no kernels to choose from, software drivers only when asked
        assert!(names(&gpu, Tier::Portable, &auto).is_empty());
        let software = caps(DeviceKind::Cpu, true);
        assert!(names(&software, Tier::Fast, &auto).is_empty());
        let on = profile(|p| p.debug.race = config::Race::On);
        let expected = [
            "segmented+columns",
            "atomic+pixels",
            "atomic+columns",
            "compare_exchange+pixels",
            "compare_exchange+columns",
        ];
        assert_eq!(names(&software, Tier::Fast, &on), expected);
    }

    #[test]
    fn pinned_kernels_have_no_rivals() {
        let gpu = caps(DeviceKind::Discrete, true);
        let pinned: [fn(&mut Profile); 3] = [
            |p| p.train.deterministic = true,
            |p| p.debug.reduction = config::Reduction::Atomic,
            |p| p.debug.race = config::Race::Off,
        ];
        for alter in pinned {
            assert!(names(&gpu, Tier::Fast, &profile(alter)).is_empty());
        }
    }
}
