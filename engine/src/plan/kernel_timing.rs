//! Which kernels are the quickest on a card without measurements: each way to sum gradients and to draw is timed once, on a
//! made-up view, before the run is planned.
//!
//! There is nothing to measure where the answer is known (NVIDIA cards, CPU drivers), where bytes must repeat, where the
//! fault `reduction` names the kernels, or without a clock on the device.

use std::sync::Arc;

use super::sample_view::{Sample, SampleView};
use super::{Faults, PlanError};
use kiln_config::Profile;
use kiln_gpu::memory::MemoryError;
use kiln_gpu::vk::{Caps, Device, DeviceKind, Tier, VkError};
use kiln_kernels::views::{Reduction, Threads, Variants};

/// PCI vendor whose cards were measured: the rules' choice won on all of them.
const MEASURED_VENDOR: u32 = 0x10de;
/// Share by which kernels must be quicker than those of the rules.
const MARGIN: f64 = 0.05;
/// Runs timed of each; the best counts. One more before them brings clocks and caches up.
const RUNS: u32 = 5;
/// Times the best so far, and no more runs are spent: some kernels take twenty times as long on some cards.
const HOPELESS: f64 = 4.0;

/// The kernels that may take the place of `chosen`, none of which was tried yet: those that need no more memory.
pub(super) fn candidates(
    caps: &Caps,
    tier: Tier,
    profile: &Profile,
    faults: &Faults,
    chosen: &Variants,
) -> Vec<Variants> {
    let is_pinned = profile.train.deterministic || faults.reduction.is_some();
    let is_known = caps.kind == DeviceKind::Cpu || caps.vendor_id == MEASURED_VENDOR;
    if is_pinned || is_known || tier != Tier::Fast || caps.timestamp_period_ns <= 0.0 {
        return Vec::new();
    }
    let reductions = [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange];
    let possible = reductions
        .into_iter()
        .filter(|r| *r != Reduction::Atomic || caps.float_atomics);
    let all = possible.flat_map(|reduction| {
        [Threads::Pixels, Threads::Columns].map(|threads| Variants {
            reduction,
            threads,
            ..*chosen
        })
    });
    let segmented = |v: &Variants| v.reduction == Reduction::Segmented;
    let fits = |v: &Variants| (!segmented(v) || segmented(chosen)) && (!v.orders_tiles() || chosen.orders_tiles());
    all.filter(|v| v != chosen && fits(v)).collect()
}

/// How long kernels took.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTiming {
    /// Kernels and milliseconds of a forward and backward pass over the view; those of the rules first.
    pub times: Vec<(Variants, f64)>,
}

impl KernelTiming {
    /// Times `rules`, the kernels that the rules chose, and the `others`; none where there are no others, or where the
    /// rules' kernels cannot be timed.
    ///
    /// # Errors
    /// [`PlanError::Vulkan`] when the device is lost. Memory that is refused is no error: the rules stand.
    pub fn measure(device: &Arc<Device>, rules: &Variants, others: &[Variants]) -> Result<Option<Self>, PlanError> {
        if others.is_empty() {
            return Ok(None);
        }
        let mut view = match SampleView::new(device, Sample::LARGE, rules) {
            Ok(view) => view,
            Err(PlanError::Memory(error)) => return not_lost(error).map(|()| None),
            Err(error) => return Err(error),
        };
        let mut times: Vec<(Variants, f64)> = Vec::new();
        for variants in std::iter::once(rules).chain(others) {
            let best = times.iter().map(|(_, ms)| *ms).fold(f64::INFINITY, f64::min);
            match milliseconds(&mut view, variants, best) {
                Ok(Some(ms)) => times.push((*variants, ms)),
                Ok(None) => {}
                Err(error) => not_lost(error)?,
            }
            if times.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(Self { times }))
    }

    /// The kernels to run with: those of the rules unless others are quicker by more than 5 %.
    #[must_use]
    pub fn quickest(&self) -> Variants {
        let (rules, limit) = self.times[0];
        let best = self.times.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|(_, ms)| *ms < (1.0 - MARGIN) * limit)
            .map_or(rules, |(variants, _)| *variants)
    }
}

impl std::fmt::Display for KernelTiming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernels {}, timed at start:", self.quickest().name())?;
        for (index, (variants, ms)) in self.times.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {} {ms:.2} ms", variants.name())?;
        }
        Ok(())
    }
}

/// Shortest of some runs, ms; none when the view does not fit its tensors or the device has no clock.
fn milliseconds(view: &mut SampleView, variants: &Variants, best_so_far: f64) -> Result<Option<f64>, MemoryError> {
    let program = view.compile(variants, true)?;
    let mut best = f64::INFINITY;
    for run in 0..=RUNS {
        if view.run(&program)? == 0 {
            return Ok(None);
        }
        let passes = program.times(0)?;
        if passes.is_empty() {
            return Ok(None);
        }
        let ms = passes.iter().map(|pass| pass.ns).sum::<f64>() / 1e6;
        if run > 0 {
            best = best.min(ms);
        }
        if ms > HOPELESS * best_so_far {
            return Ok(Some(ms));
        }
    }
    Ok(Some(best))
}

/// A device that is lost ends the run; anything else leaves it with the rules' kernels.
fn not_lost(error: MemoryError) -> Result<(), PlanError> {
    match error {
        MemoryError::Vulkan(error @ VkError::Lost { .. }) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::plan::open::variants_for;
    use kiln_config::{Inputs, resolve};

    fn caps(kind: DeviceKind, float_atomics: bool) -> Caps {
        let mut caps = Caps::default();
        (caps.kind, caps.subgroup_size, caps.timestamp_period_ns) = (kind, 32, 1.0);
        (caps.subgroup_ops, caps.float_atomics) = (true, float_atomics);
        caps
    }

    fn profile() -> Profile {
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            ..Inputs::default()
        };
        resolve(&inputs).unwrap()
    }

    fn names(caps: &Caps, tier: Tier, profile: &Profile, faults: &Faults) -> Vec<String> {
        let chosen = variants_for(caps, tier, profile, faults).unwrap();
        let list = candidates(caps, tier, profile, faults, &chosen);
        list.iter().map(Variants::name).collect()
    }

    #[test]
    fn candidates_do_with_the_memory_of_the_choice() {
        let (auto, none) = (profile(), Faults::default());
        let gpu = caps(DeviceKind::Discrete, true);
        let expected = ["atomic+columns", "compare_exchange+pixels", "compare_exchange+columns"];
        assert_eq!(names(&gpu, Tier::Fast, &auto, &none), expected);
        let without = caps(DeviceKind::Integrated, false);
        assert_eq!(names(&without, Tier::Fast, &auto, &none), ["compare_exchange+columns"]);
    }

    #[test]
    fn known_and_pinned_kernels_are_not_timed() {
        let (auto, none, gpu) = (profile(), Faults::default(), caps(DeviceKind::Discrete, true));
        assert!(names(&gpu, Tier::Portable, &auto, &none).is_empty());
        assert!(names(&caps(DeviceKind::Cpu, true), Tier::Fast, &auto, &none).is_empty());
        let alterations: [fn(&mut Caps); 2] = [|c| c.vendor_id = MEASURED_VENDOR, |c| c.timestamp_period_ns = 0.0];
        for alter in alterations {
            let mut caps = gpu.clone();
            alter(&mut caps);
            assert!(names(&caps, Tier::Fast, &auto, &none).is_empty());
        }
        let mut repeats = profile();
        repeats.train.deterministic = true;
        assert!(names(&gpu, Tier::Fast, &repeats, &none).is_empty());
        let pinned = Faults {
            reduction: Some(Reduction::Atomic),
            ..Faults::default()
        };
        assert!(names(&gpu, Tier::Fast, &auto, &pinned).is_empty());
    }

    #[test]
    fn others_must_be_clearly_quicker() {
        let gpu = caps(DeviceKind::Discrete, true);
        let chosen = variants_for(&gpu, Tier::Fast, &profile(), &Faults::default()).unwrap();
        let other = Variants {
            threads: Threads::Columns,
            ..chosen
        };
        let of = |ms: f64| KernelTiming {
            times: vec![(chosen, 1.0), (other, ms)],
        };
        assert_eq!(of(0.96).quickest(), chosen);
        assert_eq!(of(0.94).quickest(), other);
        assert_eq!(
            of(0.94).to_string(),
            "kernels atomic+columns, timed at start: atomic+pixels 1.00 ms, atomic+columns 0.94 ms"
        );
    }
}
