//! Growth of the model's memory, for the allocators that do not take the capacity at the start.
//!
//! They have room for the Gaussians there are. Before a densification, whose births are not known yet, they make room for a
//! child of every Gaussian: `sparse` binds pages, and takes those without use back after it; `naive` does as trainers
//! without a plan do, takes every tensor of the model anew, copies row by row, and has all programs recorded again.

use std::collections::BTreeMap;

use super::Trainer;
use crate::eval::lpips::LpipsTensors;
use crate::memory::RowCopy;
use crate::memory::backend::{BackendKind, Rows};
use crate::plan::{TrainPlan, schedule};
use crate::step::{ModelTensor, model_tensors};
use crate::train::bands::BandRing;
use crate::train::compiled::Programs;
use crate::train::probe::Probe;
use crate::train::{TrainError, upload};

/// Makes the plans of a run that grows.
pub(crate) struct Growing {
    plan: TrainPlan,
    /// Workspace of LPIPS after the last growth, until it is fetched.
    moved_lpips: Option<LpipsTensors>,
}

impl Growing {
    /// The plan to start with for `gaussians`, and how it grows; where nothing grows, the plan as it is.
    pub(crate) fn start(plan: TrainPlan, gaussians: usize) -> Result<(TrainPlan, Option<Self>), TrainError> {
        if plan.backend.kind != BackendKind::Naive {
            return Ok((plan, None));
        }
        let n_cap = u32::try_from(gaussians).unwrap_or(u32::MAX);
        let first = plan.resized(n_cap.min(plan.tensors.capacities.n_cap))?;
        let moved_lpips = first.lpips.clone();
        Ok((first, Some(Self { plan, moved_lpips })))
    }
}

/// Room to make for a densification of `n` Gaussians where there is room for `n_cap` and never will be more than `n_limit`.
fn wanted_room(n: u32, n_cap: u32, n_limit: u32) -> Option<u32> {
    let wanted = n.saturating_mul(2).min(n_limit);
    // Half as much again, so that a model that grows slowly is not copied each time.
    (wanted > n_cap).then(|| wanted.max(n_cap / 2 * 3).min(n_limit))
}

impl Trainer {
    /// Workspace of LPIPS when it moved since the last call.
    pub(crate) fn take_moved_lpips(&mut self) -> Option<LpipsTensors> {
        self.growing.as_mut()?.moved_lpips.take()
    }

    /// Makes room before the densification that is held back, if there is one.
    pub(super) fn make_room_for_births(&mut self) -> Result<(), TrainError> {
        let is_densify = |iteration| schedule::events_at(&self.profile, iteration).densify;
        let grows = self.growing.is_some() || self.gpu.memory().is_paged();
        if !grows || !self.held.is_some_and(is_densify) {
            return Ok(());
        }
        self.finish()?;
        let n = self.counters()?.gaussians;
        let c = self.tensors.capacities;
        if self.gpu.memory().is_paged() {
            return self.fill(n.saturating_mul(2).min(c.n_limit));
        }
        match wanted_room(n, c.n_cap, c.n_limit) {
            Some(n_cap) => self.grow(n_cap),
            None => Ok(()),
        }
    }

    /// Takes back what a densification did not use, where memory comes page by page.
    pub(super) fn give_back_room(&mut self, densified: bool) -> Result<(), TrainError> {
        if !densified || !self.gpu.memory().is_paged() {
            return Ok(());
        }
        // Reading the count waits for everything before it.
        let n = self.counters()?.gaussians;
        self.fill(n)
    }

    /// Gives the tensors of the model pages for `n` Gaussians; nothing is in flight.
    fn fill(&mut self, n: u32) -> Result<(), TrainError> {
        for tensor in model_tensors(&self.tensors) {
            let used = u64::from(n.saturating_sub(tensor.first).min(tensor.stride));
            let row_bytes = tensor.row_bytes();
            let rows = Rows {
                rows: tensor.rows,
                row_bytes,
                used_bytes: (row_bytes * used).div_ceil(u64::from(tensor.stride)),
            };
            self.gpu.memory_mut().fill(&tensor.view, rows)?;
        }
        Ok(())
    }

    /// Makes room for `n` Gaussians.
    pub(super) fn make_room(&mut self, n: u32) -> Result<(), TrainError> {
        if self.gpu.memory().is_paged() {
            return self.fill(n);
        }
        if self.growing.is_some() && n > self.tensors.capacities.n_cap {
            return self.grow(n);
        }
        Ok(())
    }

    /// Reallocates the model; nothing is in flight.
    fn grow(&mut self, n_cap: u32) -> Result<(), TrainError> {
        let Some(growing) = &mut self.growing else {
            return Ok(());
        };
        let plan = growing.plan.resized(n_cap)?;
        let rows = copies(
            self.gpu.memory().table().tensors(),
            &model_tensors(&self.tensors),
            &model_tensors(&plan.tensors),
        );
        let cap_bytes = self.report.budget.cap_bytes;
        self.uploads.clear();
        self.gpu.grow(plan.table.clone(), &plan.programs(), cap_bytes, &rows)?;
        self.programs = Programs::new(&self.gpu, &plan, self.profile.debug.timed_every > 0)?;
        let least = self.profile.debug.bands;
        let ring = BandRing::new(plan.bands, plan.record_bands.as_ref(), least, self.report.capacities);
        self.banding.move_to(ring);
        self.histogram_back = plan.histogram_back;
        self.readback = plan.readback;
        self.tensors = plan.tensors;
        let places = upload::places(&mut self.gpu, &self.tensors.rings)?;
        self.uploads.refill(places);
        let probe = plan.probe.as_ref().map(|tensors| Probe::new(&self.gpu, tensors));
        self.probe = probe.transpose()?;
        growing.moved_lpips = plan.lpips;
        Ok(())
    }
}

/// How the rows of each tensor are copied, by name; chunks that were not there have nothing to copy.
fn copies(table: &[crate::program::TensorDesc], old: &[ModelTensor], new: &[ModelTensor]) -> BTreeMap<String, RowCopy> {
    let copy = |(old, new): (&ModelTensor, &ModelTensor)| {
        let name = table.get(old.view.tensor.index())?.name.clone();
        let copy = RowCopy {
            rows: old.rows,
            old_bytes: old.row_bytes(),
            new_bytes: new.row_bytes(),
        };
        Some((name, copy))
    };
    std::iter::zip(old, new).filter_map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_a_child_of_every_gaussian_up_to_the_limit() {
        assert_eq!(wanted_room(100, 256, 10_000), None);
        assert_eq!(wanted_room(200, 256, 10_000), Some(400));
        assert_eq!(wanted_room(1010, 2000, 10_000), Some(3000), "half as much again");
        assert_eq!(wanted_room(6000, 9000, 10_000), Some(10_000));
        assert_eq!(wanted_room(6000, 10_000, 10_000), None);
    }
}
