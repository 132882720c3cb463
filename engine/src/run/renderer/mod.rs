//! A model on a device for rendering only: no moments, no statistics, no steps.
//!
//! Room for intersections starts at a guess and grows when a view needs more, so that any model that fits the budget with
//! its largest view renders. A view with more visible Gaussians than records, where a binding ends before the model does
//! or under the fault `v_cap`, is drawn in bands. A model that does not fit is drawn in parts: for each band of tiles the
//! Gaussians that may touch it are put on the device, in the order of the file. The image depends on none of this.

mod stage;

use stage::{InParts, Stage, StagePlan};

use super::evaluation::Measure;
use super::model_parts::{Bounds, ModelParts};
use super::reach::View;
use super::{RunError, StoredError};
use crate::eval::lpips::{Lpips, LpipsWeights, Pair};
use crate::eval::{LpipsRange, depths};
use crate::plan::{Look, OpenDevice, ViewSums};
use crate::step::{Capacities, TileTooFull};
use crate::train::{TrainError, uniforms};
use kiln_config::Profile;
use kiln_gpu::memory::{Budget, Gpu};
use kiln_kernels::counters::Stall;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Reduction, Variants};
use kiln_scene::{Camera, Photo};

/// Bytes of a visible record.
const RECORD_BYTES: u64 = 16;
/// Bytes of a sort key.
const KEY_BYTES: u64 = 4;
/// Fewest Gaussians that a plan has room for.
const LEAST: u32 = 256;

/// Draws one model.
pub(super) struct Renderer<'a> {
    /// None until the first view, and while it is planned anew.
    stage: Option<Stage>,
    open: &'a OpenDevice,
    profile: &'a Profile,
    variants: Variants,
    model: ModelParts,
    look: Look,
    sizes_px: Vec<[u32; 2]>,
    /// Photos carry a mask.
    masked: bool,
    /// Some cameras have a lens.
    lens: bool,
    /// Intersections there must be room for, when the guess was too small.
    intersections: Option<u32>,
    /// A view has more of them than a binding.
    only_parts: bool,
    /// Not on the device yet.
    weights: Option<LpipsWeights>,
}

/// The views that a model is drawn for.
pub(super) struct DrawnViews {
    /// At most these sizes, pixels.
    sizes_px: Vec<[u32; 2]>,
    /// Photos carry a mask.
    masked: bool,
    /// Some cameras have a lens.
    lens: bool,
}

impl DrawnViews {
    /// Those of these cameras.
    pub(super) fn of<'c>(cameras: impl Iterator<Item = &'c Camera>, masked: bool) -> Self {
        let cameras: Vec<&Camera> = cameras.collect();
        Self {
            sizes_px: cameras
                .iter()
                .map(|camera| [camera.width_px, camera.height_px])
                .collect(),
            masked,
            lens: cameras.iter().any(|camera| camera.lens.is_some()),
        }
    }
}

impl<'a> Renderer<'a> {
    /// Draws `model` for such views, and computes LPIPS when there are weights.
    pub(super) fn new(
        open: &'a OpenDevice,
        profile: &'a Profile,
        variants: &Variants,
        model: ModelParts,
        look: Look,
        views: &DrawnViews,
        weights: Option<LpipsWeights>,
    ) -> Self {
        Self {
            stage: None,
            open,
            profile,
            // How gradients are summed does not matter here, and this variant needs no room for partial sums.
            variants: Variants {
                reduction: Reduction::Atomic,
                ..*variants
            },
            model,
            look,
            sizes_px: views.sizes_px.clone(),
            masked: views.masked,
            lens: views.lens,
            intersections: None,
            only_parts: false,
            weights,
        }
    }

    /// Puts the model on the device; gives how many of its Gaussians there is room for at a time, where that is not all.
    pub(super) fn prepare(&mut self) -> Result<Option<u32>, RunError> {
        let (stage, _) = self.stage()?;
        let at_once = stage.in_parts.as_ref().map(|parts| parts.capacity);
        Ok(at_once.filter(|room| (*room as usize) < self.model.len()))
    }

    /// Draws a view: RGB and transmittance, row by row.
    pub(super) fn image(&mut self, camera: &Camera) -> Result<Vec<[f32; 4]>, RunError> {
        Ok(self.draw(camera, &[], true)?.image.unwrap_or_default())
    }

    /// Draws and measures a view; without a photograph the sums say nothing.
    fn draw(&mut self, camera: &Camera, photo: &[u8], keep_image: bool) -> Result<ViewSums, RunError> {
        let block = uniforms::render(self.profile, camera, &self.look);
        self.draw_block(&block, photo, keep_image)
    }

    fn draw_block(&mut self, block: &StepUniforms, photo: &[u8], keep_image: bool) -> Result<ViewSums, RunError> {
        let least = self.open.faults.bands.unwrap_or(1);
        loop {
            let (stage, model) = self.stage()?;
            if let Some(InParts { bounds, capacity }) = stage.in_parts.take() {
                let drawn = draw_in_parts(stage, (model, &bounds, capacity), (block, photo, keep_image), least);
                stage.in_parts = Some(InParts { bounds, capacity });
                return drawn;
            }
            let counters = stage.run(block, photo, keep_image)?;
            let Some(stall) = counters.stall() else {
                return Ok(stage.readback.read(stage.gpu.memory(), block, keep_image, None)?);
            };
            if matches!(stall, Stall::Visible | Stall::Loops) && stage.has_bands() {
                return stage.run_in_bands(block, keep_image);
            }
            let planned = stage.tensors.capacities;
            let wanted = counters.intersections_wanted;
            // An eighth more, so that views only a little heavier need no plan of their own.
            self.intersections = Some(wanted.saturating_add(wanted / 8));
            // Parts are drawn in bands, whose loops are unrolled.
            let is_crowded = stall == Stall::Loops && !self.only_parts;
            if stall != Stall::Intersections && !is_crowded {
                return Err(TrainError::Stalled {
                    counters: Box::new(counters),
                    v_cap: planned.v_cap,
                    i_cap: planned.i_cap,
                }
                .into());
            }
            self.only_parts = is_crowded || self.capacities().i_cap < wanted;
            // The old plan is given back first: both need not fit together.
            let old = self.stage.take();
            self.weights = old.and_then(|stage| stage.lpips).map(Lpips::into_weights);
        }
    }

    fn stage(&mut self) -> Result<(&mut Stage, &mut ModelParts), RunError> {
        let stage = match self.stage.take() {
            Some(stage) => stage,
            None => self.commit()?,
        };
        Ok((self.stage.insert(stage), &mut self.model))
    }

    /// Plans for the whole model, or for as much of it as fits, and commits that.
    fn commit(&mut self) -> Result<Stage, RunError> {
        let cap = self.profile.memory.cap_gib.map(crate::plan::gib_to_bytes);
        let cap_bytes = Budget::of_device(&self.open.device, cap).cap_bytes;
        let forced = self.open.faults.resident;
        if let (None, false, Some(model)) = (forced, self.only_parts, self.model.in_memory_now()) {
            let whole = self.plan(&self.capacities(), false)?;
            if whole.fits(self.open, cap_bytes) {
                let mut stage = whole.commit(self.open, cap_bytes, self.weights.take())?;
                stage.write(model)?;
                return Ok(stage);
            }
        }
        let capacity = match forced {
            Some(capacity) => capacity,
            None => self.most(cap_bytes)?,
        };
        let plan = self.plan(&self.capacities_of(capacity), true)?;
        let mut stage = plan.commit(self.open, cap_bytes, self.weights.take())?;
        let bounds = self.model.bounds()?;
        stage.in_parts = Some(InParts { bounds, capacity });
        Ok(stage)
    }

    fn plan(&self, capacities: &Capacities, in_parts: bool) -> Result<StagePlan, RunError> {
        let has_lpips = self.weights.is_some();
        StagePlan::new(capacities, &self.variants, &self.sizes_px, has_lpips, in_parts)
    }

    /// Gaussians that there is room for, to a sixteenth; the fewest that a plan can have where not even those fit.
    fn most(&self, cap_bytes: u64) -> Result<u32, RunError> {
        let (mut low, mut high) = (LEAST, u32::try_from(self.model.len()).unwrap_or(u32::MAX));
        let fits = |n| Ok::<_, RunError>(self.plan(&self.capacities_of(n), true)?.fits(self.open, cap_bytes));
        if high <= low || fits(high)? {
            return Ok(high.max(low));
        }
        while high.saturating_sub(low) > low / 16 {
            let middle = low + (high - low) / 2;
            match fits(middle)? {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Ok(low)
    }

    /// Room for every Gaussian to be visible at once and for the intersections, as far as bindings reach.
    fn capacities(&self) -> Capacities {
        let n = u32::try_from(self.model.len()).unwrap_or(u32::MAX);
        let v_cap = self.records(n);
        // Small models have large splats, large models two to five intersections a splat.
        let guess = v_cap.saturating_mul(6).max(1 << 20);
        let i_cap = self.intersections.or(self.open.faults.i_cap).unwrap_or(guess);
        self.with(n, v_cap, i_cap)
    }

    /// Room for `n` Gaussians and twice as many intersections: what does not fit takes turns.
    fn capacities_of(&self, n: u32) -> Capacities {
        let v_cap = self.records(n);
        self.with(n, v_cap, self.open.faults.i_cap.unwrap_or(v_cap.saturating_mul(2)))
    }

    /// Records for `n` Gaussians, as far as bindings reach.
    fn records(&self, n: u32) -> u32 {
        let faults = &self.open.faults;
        faults.v_cap.unwrap_or(n).min(n).min(self.bound(RECORD_BYTES))
    }

    fn bound(&self, bytes: u64) -> u32 {
        let limits = Gpu::limits(&self.open.device);
        u32::try_from(limits.largest_tensor() / bytes).unwrap_or(u32::MAX)
    }

    fn with(&self, n: u32, v_cap: u32, i_cap: u32) -> Capacities {
        let i_cap = i_cap.max(v_cap).min(self.bound(KEY_BYTES));
        let sizes = self.sizes_px.iter().map(|size| (size[0], size[1]));
        let mut capacities = Capacities::new(n, v_cap, i_cap, self.model.sh_degree(), sizes);
        capacities.slots = 1;
        capacities.binding_bytes = Gpu::limits(&self.open.device).binding_bytes;
        capacities.masked = self.masked;
        capacities.lens = self.lens;
        capacities.cameras = 1;
        capacities
    }
}

/// Draws a view of a model that does not fit the device, in at least `least` bands of tiles.
fn draw_in_parts(
    stage: &mut Stage,
    (model, bounds, capacity): (&mut ModelParts, &[Bounds], u32),
    (block, photo, keep_image): (&StepUniforms, &[u8], bool),
    least: u32,
) -> Result<ViewSums, RunError> {
    let view = View::of(block);
    let mut counts = view.counts();
    for (index, part) in bounds.iter().enumerate() {
        if view.reach(part.lower, part.upper, part.sigma).is_none() {
            continue;
        }
        let (model, ids) = model.part(index)?;
        for (_, reach) in view.reaching(model, ids) {
            counts.add(&reach);
        }
    }
    let tiles = 0..block.tiles_x * block.tiles_y;
    let bands = counts.survey().pack(tiles, capacity, u32::MAX, least);
    let bands = bands.map_err(|TileTooFull { tile, splats }| StoredError::TileTooFull {
        column: tile % block.tiles_x,
        row: tile / block.tiles_x,
        gaussians: splats,
        capacity,
    })?;
    stage.run_in_parts((block, photo), keep_image, (model, bounds), (&view, &bands))
}

impl Measure for Renderer<'_> {
    fn sums(&mut self, camera: &Camera, photo: &Photo, keep_image: bool) -> Result<ViewSums, RunError> {
        self.draw(camera, photo.bytes(), keep_image)
    }

    fn near_light(&mut self, camera: &Camera, limit: f32) -> Result<Option<Vec<[f32; 4]>>, RunError> {
        let mut block = uniforms::render(self.profile, camera, &self.look);
        uniforms::for_near_light(&mut block, limit);
        Ok(self.draw_block(&block, &[], true)?.image)
    }

    fn depths(&mut self, camera: &Camera) -> Result<Option<Vec<f32>>, RunError> {
        let mut block = uniforms::render(self.profile, camera, &self.look);
        uniforms::for_depths(&mut block);
        let image = self.draw_block(&block, &[], true)?.image;
        Ok(image.map(|image| depths(&image)))
    }

    fn lpips(&mut self, pair: &Pair<'_, 4>, range: LpipsRange) -> Result<Option<f64>, RunError> {
        let (stage, _) = self.stage()?;
        match &mut stage.lpips {
            Some(lpips) => Ok(Some(lpips.distance(&mut stage.gpu, pair, range)?)),
            None => Ok(None),
        }
    }
}
