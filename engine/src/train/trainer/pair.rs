//! The trainer's side of steps that compare with a neighbouring view: which one, its uniforms and photo, and its submission.

use super::{Flight, Trainer, no_place};
use crate::plan::{Job, Look, NeighborViews, schedule};
use crate::step::{PairTensors, Part, Terms, Turns};
use crate::train::bands::BandedView;
use crate::train::{TrainError, uniforms};
use kiln_gpu::memory::MemoryError;
use kiln_kernels::counters::Counters;
use kiln_kernels::uniforms::StepUniforms;
use kiln_scene::{Camera, SceneIndex};

/// Whom views are compared with; nothing where they are not.
pub(super) struct Pairs {
    tensors: Option<PairTensors>,
    views: NeighborViews,
    /// Of the training views, at the size they are trained in now.
    cameras: Vec<Camera>,
    /// Training view that the next step compares with.
    next: Option<usize>,
}

impl Pairs {
    pub(super) fn new(tensors: Option<PairTensors>) -> Self {
        Self {
            tensors,
            views: NeighborViews::default(),
            cameras: Vec::new(),
            next: None,
        }
    }

    fn tensors(&self) -> Result<&PairTensors, MemoryError> {
        self.tensors.as_ref().ok_or_else(|| no_room("pair", 0))
    }

    /// Goes by the training views of `scene`, whose sizes change between phases and whose poses do not.
    pub(super) fn set(&mut self, scene: &SceneIndex) {
        if self.tensors.is_none() {
            return;
        }
        if self.cameras.is_empty() {
            self.views = NeighborViews::of(scene);
        }
        self.cameras = scene.train.iter().map(|view| view.camera.clone()).collect();
    }
}

/// What there is no room for.
fn no_room(tensor: &str, bytes: u64) -> MemoryError {
    MemoryError::OutOfRange {
        tensor: tensor.to_owned(),
        offset: 0,
        bytes,
    }
}

/// The neighbour that a step in flight compares with; its ring slot is that of the step.
pub(crate) struct Drawn {
    /// What the slot holds.
    block: StepUniforms,
    /// Page of resident images that has its photo.
    page: usize,
}

impl Flight {
    /// What is submitted before the step when it runs whole.
    pub(super) fn neighbor_job(&self) -> Option<Job> {
        let drawn = self.neighbor.as_ref()?;
        Some(Job::Step(Terms::Neighbor, drawn.page))
    }
}

impl Trainer {
    /// The training view that the next step compares training view `index` with; none where the loss does not, and for a view without
    /// neighbours.
    #[must_use]
    pub fn neighbor_of(&self, index: usize) -> Option<usize> {
        let iteration = self.iteration() + 1;
        if self.pairs.tensors.is_none() || !schedule::pairs_at(&self.profile, iteration) {
            return None;
        }
        let seed = uniforms::seed(&self.profile);
        self.pairs.views.pick(index, (seed, iteration))
    }

    /// The next step compares with training view `index`, the [`Trainer::neighbor_of`] its own. `photo` is that view's, as
    /// [`Photo::bytes`](kiln_scene::Photo::bytes) has it; none where training images stay on the device. A step that is not given a
    /// neighbour has none.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the plan has no room for the photo.
    pub fn compare_with(&mut self, index: usize, photo: Option<&[u8]>) -> Result<(), TrainError> {
        if let Some(photo) = photo {
            let slot = self.iteration() % self.report.capacities.slots;
            let rings = self.pairs.tensors()?.rings;
            let bytes = photo.len() as u64;
            if bytes > rings.images_stride || self.is_resident() {
                return Err(no_room("ring/neighbor_images", bytes).into());
            }
            let view = rings.images.slice(u64::from(slot) * rings.images_stride, bytes);
            self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(photo);
        }
        self.pairs.next = Some(index);
        Ok(())
    }

    /// Training views that steps have nothing to compare with; none where the loss does not.
    #[must_use]
    pub fn views_alone(&self) -> usize {
        self.pairs.views.alone()
    }

    /// What the step in ring slot `slot` found in its comparison, once it is over; none where it had none.
    pub(super) fn pair_means(&self, slot: u32, flight: &Flight) -> Result<Option<[f32; 2]>, TrainError> {
        if flight.neighbor.is_none() {
            return Ok(None);
        }
        let view = self.tensors.rings.means(slot);
        let [_, _, geometry, photometric]: [f32; 4] = bytemuck::pod_read_unaligned(self.gpu.memory().host(&view)?);
        Ok(Some([geometry, photometric]))
    }

    /// Writes the uniforms of the neighbour that the step in ring slot `slot` was given.
    pub(super) fn fill_neighbor(&mut self, slot: u32) -> Result<Option<Drawn>, TrainError> {
        let Some(index) = self.pairs.next.take() else {
            return Ok(None);
        };
        let camera = self.pairs.cameras.get(index).ok_or_else(|| no_place(index, 0))?;
        let iteration = self.iteration();
        let look = Look::of(&self.profile, schedule::sh_degree_at(&self.profile, iteration));
        let mut block = uniforms::render(&self.profile, camera, &look);
        block.iteration = iteration;
        let mut page = 0;
        if self.is_resident() {
            let place = self.tensors.resident.place(index).ok_or_else(|| no_place(index, 0))?;
            block.image_offset = u32::try_from(place.offset / 4).map_err(|_| no_place(index, 0))?;
            page = place.page;
        }
        let rings = self.pairs.tensors()?.rings;
        let at = u64::from(slot) * rings.uniforms_stride;
        let view = rings.uniforms.slice(at, size_of::<StepUniforms>() as u64);
        let bytes = bytemuck::bytes_of(&block);
        self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        Ok(Some(Drawn { block, page }))
    }

    /// Draws a neighbour in bands. The inner error is the status word of a stall.
    pub(super) fn neighbor_in_bands(
        &mut self,
        slot: u32,
        drawn: &Drawn,
        turns: Turns,
    ) -> Result<Result<BandedView, Counters>, TrainError> {
        let bands = self.banded_forward(slot, &drawn.block, (Terms::Neighbor, turns), true)?;
        if bands.is_ok() {
            let rest = Job::Band(Terms::Neighbor, turns, Part::Loss(drawn.page));
            self.gpu.submit(self.jobs.need(rest)?, 0)?;
        }
        Ok(bands)
    }
}
