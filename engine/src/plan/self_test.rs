//! Proof at start that kernels chosen for their speed compute what the portable ones compute, on the device at hand.
//!
//! A small built-in view goes forward and backward with the portable kernels, and once more with each fast kernel in
//! place of its portable sibling. A fast kernel that gives another image or other gradients is not used in this run,
//! and a warning says so. The test has memory of its own, a few MiB that are given back before the run's plan is
//! committed. Where only portable kernels were chosen there is nothing to prove and nothing runs.

use std::sync::Arc;

use super::PlanError;
use super::kernel_timing::{KernelTiming, candidates};
use super::open::{OpenDevice, rendering_variants, variants_for};
use super::sample_view::{Sample, SampleView};
use kiln_config::Profile;
use kiln_gpu::memory::MemoryError;
use kiln_gpu::vk::{Device, VkError};
use kiln_kernels::generated::sort_scatter;
use kiln_kernels::views::{Reduction, Threads, Variants};
use kiln_kernels::{rasterize, rasterize_backward};

/// Largest difference, summed over a channel, as a share of the sum of the portable kernels' magnitudes. Rounding in
/// another order makes about 1e-6; one splat of the view left out of a sum makes some 1e-3.
const TOLERANCE: f64 = 1e-4;
/// Kernel variants that a run keeps to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The variants.
    pub variants: Variants,
    /// What was found where the quickest kernels had to be measured, a sentence for people.
    pub timing: Option<String>,
    /// Which kernels failed the test and what was seen.
    pub warnings: Vec<String>,
}

impl Pinned {
    /// Chooses and tests variants for training.
    ///
    /// # Errors
    /// See [`variants_for`]; [`PlanError::Memory`] when the portable kernels do not run either.
    pub fn for_training(open: &OpenDevice, profile: &Profile) -> Result<Self, PlanError> {
        let wanted = variants_for(open.device.caps(), open.tier, profile, &open.faults)?;
        let (mut pinned, proof) = Self::tested(&open.device, wanted, open.faults.fail_self_test)?;
        let Some(mut proof) = proof else { return Ok(pinned) };
        let mut proven = Vec::new();
        for candidate in candidates(open.device.caps(), open.tier, profile, &open.faults, &pinned.variants) {
            // A kernel that is not selected and does not work is no news.
            if proof.trouble_of(&candidate)?.is_none() {
                proven.push(candidate);
            }
        }
        drop(proof);
        if let Some(timing) = KernelTiming::measure(&open.device, &pinned.variants, &proven)? {
            pinned.variants = timing.quickest();
            pinned.timing = Some(timing.to_string());
        }
        Ok(pinned)
    }

    /// The same for rendering, where nothing is summed.
    pub(crate) fn for_rendering(open: &OpenDevice) -> Result<Self, PlanError> {
        let wanted = rendering_variants(open.device.caps(), open.tier, &open.faults);
        Ok(Self::tested(&open.device, wanted, open.faults.fail_self_test)?.0)
    }

    /// Keeps of `wanted` what passes; with `spoil`, what the fast kernels compute is changed a little before it is looked at.
    /// No proof where there is nothing to prove.
    fn tested(device: &Arc<Device>, wanted: Variants, spoil: bool) -> Result<(Self, Option<Proof>), PlanError> {
        let portable = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 0,
            // The only choice that software drivers and the portable tier make.
            threads: Threads::Columns,
            loops: wanted.loops,
        };
        let mut pinned = Self {
            variants: wanted,
            timing: None,
            warnings: Vec::new(),
        };
        if wanted == portable {
            return Ok((pinned, None));
        }
        let mut proof = Proof::new(device, &wanted, &portable, spoil)?;
        for (kernel, take) in parts(&wanted) {
            let mut candidate = portable;
            take(&mut candidate, &wanted);
            if candidate == portable {
                continue;
            }
            if let Some(trouble) = proof.trouble_of(&candidate)? {
                take(&mut pinned.variants, &portable);
                pinned.warnings.push(format!(
                    "self-test: kernel `{kernel}` on `{}` {trouble}; the portable kernel is used instead",
                    device.caps().name
                ));
            }
        }
        Ok((pinned, Some(proof)))
    }
}

/// The sample view, and what the portable kernels make of it.
struct Proof {
    view: SampleView,
    reference: Outcome,
    /// Change what is compared, for tests.
    spoil: bool,
}

impl Proof {
    fn new(device: &Arc<Device>, wanted: &Variants, portable: &Variants, spoil: bool) -> Result<Self, PlanError> {
        let mut view = SampleView::new(device, Sample::SMALL, wanted)?;
        let reference = Outcome::of(&mut view, portable)?;
        Ok(Self { view, reference, spoil })
    }

    /// What is wrong with kernels; none where they compute what the portable ones do.
    ///
    /// # Errors
    /// When the device was lost.
    fn trouble_of(&mut self, candidate: &Variants) -> Result<Option<String>, PlanError> {
        Ok(match Outcome::of(&mut self.view, candidate) {
            Ok(mut found) => {
                if self.spoil {
                    found.spoil();
                }
                let difference = self.reference.difference(&found);
                (difference > TOLERANCE)
                    .then(|| format!("differs by {difference:.1e} from the portable kernel, more than {TOLERANCE:.0e}"))
            }
            Err(MemoryError::Vulkan(error @ VkError::Lost { .. })) => return Err(error.into()),
            Err(error) => Some(format!("does not run: {error}")),
        })
    }
}

/// Copies one choice from the second variants to the first.
type Take = fn(&mut Variants, &Variants);

/// The choices that are tested one by one, each with the kernel that `wanted` takes.
fn parts(wanted: &Variants) -> [(&'static str, Take); 3] {
    [
        (sort_scatter::SUBGROUP.shader.name, |to, from| {
            to.sort_subgroup = from.sort_subgroup
        }),
        (rasterize::shader(wanted).name, |to, from| to.threads = from.threads),
        (rasterize_backward::sums(wanted).name, |to, from| {
            to.reduction = from.reduction
        }),
    ]
}

/// What a step makes of the view: the image, then the three streams of 2D gradients.
struct Outcome {
    visible: u32,
    streams: [Vec<[f32; 4]>; 4],
}

impl Outcome {
    fn of(view: &mut SampleView, variants: &Variants) -> Result<Self, MemoryError> {
        let program = view.compile(variants, false)?;
        let visible = view.run(&program)?;
        Ok(Self {
            visible,
            streams: view.streams(visible)?,
        })
    }

    /// Largest difference of a channel; infinite when the two cannot be compared.
    fn difference(&self, other: &Self) -> f64 {
        if self.visible != other.visible {
            return f64::INFINITY;
        }
        let mut largest = 0.0_f64;
        for (wanted, found) in self.streams.iter().zip(&other.streams) {
            let (mut size, mut off) = ([0.0_f64; 4], [0.0_f64; 4]);
            for (wanted, found) in wanted.iter().zip(found) {
                for (((size, off), wanted), found) in size.iter_mut().zip(&mut off).zip(wanted).zip(found) {
                    *size += f64::from(wanted.abs());
                    *off += f64::from((wanted - found).abs());
                }
            }
            for (size, off) in size.into_iter().zip(off) {
                let share = if off == 0.0 { 0.0 } else { off / size };
                largest = largest.max(if share.is_nan() { f64::INFINITY } else { share });
            }
        }
        largest
    }

    /// A small error everywhere.
    fn spoil(&mut self) {
        for value in self.streams.iter_mut().flatten().flatten() {
            *value *= 1.001;
        }
    }
}
