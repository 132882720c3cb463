//! The host's side of views in bands: what the device counted becomes bands, and bands become submissions.

use std::ops::Range;

use super::TrainError;
use crate::step::{self, BAND_SLOTS, BandTensors, Capacities, RecordBandTensors, Survey, TileTooFull, Turns};
use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::{CompiledProgram, Ticket};
use kiln_kernels::counters::{Counters, Stall};
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::Variants;
use kiln_program::Span;

/// Splats or triangles of a tile up to which no driver cuts the loops over them: llvmpipe ends them after 65 535 turns, and one takes up
/// to nine.
const CROWDED_TILE: u32 = 7000;

/// The ranges on their way to the device, and how to find them.
pub(crate) struct BandRing {
    tensors: BandTensors,
    survey_back: Option<Span>,
    /// Makes at least this many bands.
    least: u32,
    capacities: Capacities,
    /// Per slot: the range it holds and the last submission that reads it.
    slots: Vec<(Range<u32>, Option<Ticket>)>,
}

/// A view whose first part is done.
pub(crate) struct BandedView {
    /// Splats per tile.
    pub(crate) histogram: Vec<u32>,
    /// Visible Gaussians.
    pub(super) visible: u32,
    /// Bands, in tile order.
    pub(crate) bands: Vec<Range<u32>>,
}

impl BandedView {
    /// Splats of the fullest tile.
    pub(super) fn longest(&self) -> u32 {
        self.histogram.iter().copied().max().unwrap_or(0)
    }

    /// Tile intersections of the whole view.
    pub(super) fn intersections(&self) -> u32 {
        let sum: u64 = self.histogram.iter().map(|n| u64::from(*n)).sum();
        u32::try_from(sum).unwrap_or(u32::MAX)
    }
}

impl BandRing {
    pub(crate) fn new(
        tensors: BandTensors,
        records: Option<&RecordBandTensors>,
        least: Option<u32>,
        capacities: Capacities,
    ) -> Self {
        Self {
            tensors,
            survey_back: records.map(|r| r.survey_back),
            least: least.unwrap_or(1),
            capacities,
            slots: vec![(0..0, None); BAND_SLOTS as usize],
        }
    }

    /// Makes at least `least` bands from now on.
    pub(super) fn set_least(&mut self, least: u32) {
        self.least = least;
    }

    /// True when there are programs for views with more visible Gaussians than records.
    pub(super) fn has_records_in_turns(&self) -> bool {
        self.survey_back.is_some()
    }

    /// Bands of the view with uniforms `block` and status word `counters`, whose prefix for `turns` is done.
    ///
    /// # Errors
    /// [`TrainError::TileTooFull`].
    pub(crate) fn pack(
        &self,
        gpu: &Gpu,
        block: &StepUniforms,
        counters: &Counters,
        turns: Turns,
    ) -> Result<BandedView, TrainError> {
        let tiles = block.lists_x * block.lists_y;
        if turns == Turns::Records
            && let Some(view) = self.pack_records(gpu, block, counters, 0..tiles)?
        {
            return Ok(view);
        }
        let histogram = words(gpu, &self.tensors.histogram_back.slice(0, 4 * u64::from(tiles)))?;
        Ok(BandedView {
            bands: step::pack_bands(&histogram, self.capacities.band_cap(), self.least),
            histogram,
            visible: counters.visible,
        })
    }

    /// Bands of the tiles numbered `within` that take turns with the records; none where there are no programs for them.
    ///
    /// # Errors
    /// [`TrainError::TileTooFull`].
    pub(crate) fn pack_records(
        &self,
        gpu: &Gpu,
        block: &StepUniforms,
        counters: &Counters,
        within: Range<u32>,
    ) -> Result<Option<BandedView>, TrainError> {
        let Some(back) = &self.survey_back else { return Ok(None) };
        let survey = Survey::new(&words(gpu, back)?, block.lists_x * block.lists_y);
        let (v_cap, band_cap) = (self.capacities.v_cap, self.capacities.band_cap());
        let bands = survey.pack(within, v_cap, band_cap, self.least);
        let too_full = |TileTooFull { tile, splats }| TrainError::TileTooFull {
            iteration: block.iteration,
            column: tile % block.tiles_x,
            row: tile / block.tiles_x,
            splats,
            v_cap,
        };
        Ok(Some(BandedView {
            bands: bands.map_err(too_full)?,
            histogram: survey.splats,
            visible: counters.visible,
        }))
    }

    /// Submits `program` once per band, in order.
    pub(crate) fn submit(
        &mut self,
        gpu: &mut Gpu,
        program: &CompiledProgram,
        bands: &[Range<u32>],
    ) -> Result<(), TrainError> {
        for (slot, band) in (0..BAND_SLOTS).cycle().zip(bands) {
            let Some((range, last)) = self.slots.get_mut(slot as usize) else {
                continue;
            };
            if range != band {
                if let Some(ticket) = last {
                    gpu.queue().wait(*ticket, "a band")?;
                }
                let words = [band.start, band.end];
                let host = gpu.memory_mut().host_mut(&self.tensors.range(slot))?;
                host.copy_from_slice(bytemuck::cast_slice(&words));
                *range = band.clone();
            }
            *last = Some(gpu.submit(program, slot)?);
        }
        Ok(())
    }
}

/// What the host reads of a tensor of words.
fn words(gpu: &Gpu, view: &Span) -> Result<Vec<u32>, TrainError> {
    let bytes = gpu.memory().host(view)?;
    Ok(bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
}

/// How steps run when they do not run whole.
pub(super) struct Banding {
    pub(super) ring: BandRing,
    /// The fault `bands`: every step runs in at least so many bands.
    pub(super) asked: Option<u32>,
    /// Memory is short: every step runs in at least so many bands.
    pub(super) pressed: Option<u32>,
    /// The loops of bands are unrolled.
    has_crowded: bool,
    /// What the last banded step would not have fit whole for.
    pub(super) crowded: Option<Turns>,
    /// Steps done in bands.
    pub(super) steps: u32,
    /// Steps left out.
    pub(super) skipped: u32,
}

impl Banding {
    pub(crate) fn new(ring: BandRing, asked: Option<u32>, variants: &Variants) -> Self {
        Self {
            ring,
            asked,
            has_crowded: variants.for_bands() != *variants,
            pressed: None,
            crowded: None,
            steps: 0,
            skipped: 0,
        }
    }

    /// How the next step starts; none when it is tried whole.
    pub(super) fn turns(&self) -> Option<Turns> {
        self.crowded
            .or(self.asked.or(self.pressed).is_some().then_some(Turns::Lists))
    }

    /// Steps run in at least `least` bands from now on, or as they did before.
    pub(super) fn press(&mut self, least: Option<u32>) {
        self.pressed = least;
        self.ring.set_least(self.asked.max(least).unwrap_or(1));
    }

    /// True when a step whose longest list has so many splats is not to be tried whole: its loops would be cut.
    pub(super) fn is_crowded(&self, longest: u32) -> bool {
        self.has_crowded && longest > CROWDED_TILE
    }

    /// How to go on after a stall; none when there is no way.
    pub(super) fn way_out(&self, stall: Stall) -> Option<Turns> {
        match stall {
            Stall::Intersections => Some(Turns::Lists),
            Stall::Visible => self.ring.has_records_in_turns().then_some(Turns::Records),
            Stall::Loops => self.has_crowded.then_some(Turns::Lists),
            Stall::NonFinite => None,
        }
    }
}
