//! A model on a device, drawn with depth and normals; voxels beside it where there are to be any.
//!
//! Planned to the byte before anything is allocated: room for intersections, then for visible records, shrinks to what the
//! budget leaves, because views that have too many are drawn in bands and look the same.

use serde::Serialize;

use super::MeshError;
use crate::plan::{Faults, Look, OpenDevice};
use crate::step::{
    self, BAND_SLOTS, BandTensors, Capacities, LevelTensors, Part, Parts, RecordBandTensors, StepTensors, Turns,
};
use crate::train::{BandRing, TrainError, uniforms};
use kiln_config::Profile;
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Budget, Gpu, MemoryError, Plan, PlanLimits};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use kiln_kernels::counters::{Counters, Stall};
use kiln_kernels::depth_mask;
use kiln_kernels::fusion::{BRICK_BYTES, Voxels};
use kiln_kernels::level::{Level, POINT_BYTES};
use kiln_kernels::morton::Frame;
use kiln_kernels::surface_depth::Depths;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Reduction, Surface, Variants};
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_scene::Camera;

/// Bytes of a visible record's largest part, and of a sort key.
const RECORD_BYTES: u64 = 16;
const KEY_BYTES: u64 = 4;
/// Bricks of a part of the pool: 128 MiB, what the most modest drivers bind.
const PART_BRICKS: u32 = 1 << 16;
/// Most bricks there is room for at once; more go by in slabs.
pub(super) const MOST_BRICKS: u32 = 1 << 18;
/// Bricks whose bytes colours of vertices take turns in where there are no voxels: 16 MiB.
pub(super) const COLOR_BRICKS: u32 = 1 << 13;
/// Least visible records that are tried before a model is said not to fit.
const LEAST_RECORDS: u32 = 1 << 12;

/// The bricks there is room for.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// One bit for each brick of the space.
    pub(crate) bits: Span,
    /// Numbers of the bricks in the pool.
    pub(crate) keys: Span,
    /// Voxels, [`PART_BRICKS`] bricks each but for the last.
    pub(crate) parts: Vec<Span>,
    /// Bricks there is room for.
    pub(crate) bricks: u32,
}

impl Pool {
    fn new(table: &mut TensorTable, voxels: &Voxels, bricks: u32) -> Self {
        let mut add = |name: String, bytes| table.add(name, Class::Persistent, Tag::Other, bytes);
        let parts = (0..bricks.div_ceil(PART_BRICKS)).map(|part| {
            let here = (bricks - part * PART_BRICKS).min(PART_BRICKS);
            (part, u64::from(here) * BRICK_BYTES)
        });
        Self {
            parts: parts
                .map(|(part, bytes)| add(format!("mesh/voxels[{part}]"), bytes))
                .collect(),
            bits: add("mesh/brick_bits".to_owned(), voxels.bits_bytes()),
            keys: add("mesh/brick_keys".to_owned(), 4 * u64::from(bricks)),
            bricks,
        }
    }

    /// The parts of the pool that `count` bricks take: first brick, bricks, their keys, their voxels.
    pub(crate) fn used(&self, count: u32) -> impl Iterator<Item = (u32, u32, Span, Span)> + '_ {
        (0..)
            .step_by(PART_BRICKS as usize)
            .zip(&self.parts)
            .map_while(move |(first, part)| {
                let here = count.checked_sub(first)?.min(PART_BRICKS);
                let keys = self.keys.slice(4 * u64::from(first), 4 * u64::from(here));
                (here > 0).then(|| (first, here, keys, part.slice(0, u64::from(here) * BRICK_BYTES)))
            })
    }
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Gaussians of the model.
    pub(crate) gaussians: u32,
    /// Its SH degree.
    pub(crate) sh_degree: u32,
    /// Width and height of the views, pixels.
    pub(crate) sizes_px: Vec<[u32; 2]>,
    /// Which depths count.
    pub(crate) depths: Depths,
    /// Whether the views' photos have masks.
    pub(crate) masked: bool,
    /// A level of the density to take points on, and where the model is.
    pub(crate) level: Option<(Level, Frame)>,
}

/// Points on a level of the density.
struct LevelPlan {
    tensors: LevelTensors,
    prepare: Program,
    points: Vec<Program>,
}

/// Everything a stage allocates and executes, as data.
pub(crate) struct StagePlan {
    table: TensorTable,
    tensors: StepTensors,
    surface: Surface,
    bands: BandTensors,
    records: RecordBandTensors,
    pool: Option<Pool>,
    level: Option<LevelPlan>,
    /// Which pixels count, and what takes the depth from the others.
    mask: Option<(Span, Program)>,
    view: Program,
    clear: Program,
    parts: Parts,
    /// Bytes requested from the driver.
    sizes: StageSizes,
}

/// What a stage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StageSizes {
    /// Gaussians of the model.
    pub gaussians: u32,
    /// Visible records.
    pub v_cap: u32,
    /// Tile intersections.
    pub i_cap: u32,
    /// Bricks there is room for at once; 0 where depth is only drawn.
    pub bricks: u32,
    /// Device bytes, as requested from the driver.
    pub device_bytes: u64,
    /// Host-visible bytes.
    pub host_bytes: u64,
}

impl StagePlan {
    fn new(
        subject: &Subject,
        [v_cap, i_cap]: [u32; 2],
        pool: Option<(&Voxels, u32)>,
        variants: &Variants,
        limits: PlanLimits,
    ) -> Result<Self, MeshError> {
        let gaussians = subject.gaussians;
        let sizes = subject.sizes_px.iter().map(|size| (size[0], size[1]));
        let mut capacities = Capacities::new(gaussians, v_cap, i_cap, subject.sh_degree, sizes);
        capacities.slots = 1;
        capacities.cameras = 1;
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_surfaces(&mut table, &capacities, variants);
        let Some(surface) = tensors.pixels.surface else {
            return Err(MeshError::NoViews);
        };
        let bands = BandTensors::new(&mut table, &capacities, variants);
        let records = RecordBandTensors::new(&mut table, &tensors, false);
        let pool = pool.map(|(voxels, bricks)| Pool::new(&mut table, voxels, bricks));
        let level = match &subject.level {
            None => None,
            Some((level, frame)) => {
                let level = LevelTensors::new(&mut table, &capacities, *level, variants)?;
                Some(LevelPlan {
                    prepare: step::prepare_levels(&tensors, &level, frame),
                    points: step::level_points(&tensors, &level),
                    tensors: level,
                })
            }
        };
        let level_tensors = level.as_ref().map(|level| &level.tensors);
        let mut view = Program::new("view with depth");
        step::surface(&mut view, &tensors, subject.depths, level_tensors);
        // Whatever goes on from the view finds these.
        view.hold(&[tensors.pixels.image, surface.map]);
        let mask = subject.masked.then(|| {
            let pixels = capacities.max_pixels;
            let bytes = u64::from(pixels).next_multiple_of(4);
            let mask = table.add("mesh/mask".to_owned(), Class::Persistent, Tag::Other, bytes);
            let mut program = Program::new("mask depth");
            program.hold(&[tensors.pixels.image, surface.map]);
            depth_mask::record(&mut program, tensors.shared.uniforms, mask, surface.map, pixels);
            (mask, program)
        });
        let clear = step::clear_stall(&tensors);
        let parts = step::surface_in_bands(&tensors, &bands, &records, subject.depths, level_tensors);
        let mut plan = Self {
            table,
            tensors,
            surface,
            bands,
            records,
            pool,
            level,
            mask,
            view,
            clear,
            parts,
            sizes: StageSizes {
                gaussians,
                v_cap: capacities.v_cap,
                i_cap: capacities.i_cap,
                bricks: 0,
                device_bytes: 0,
                host_bytes: 0,
            },
        };
        let mut whole = plan.table.clone();
        Gpu::add_transfer(&mut whole);
        let placed = Plan::new(&whole, &plan.programs(), limits)?;
        plan.sizes.bricks = plan.pool.as_ref().map_or(0, |pool| pool.bricks);
        plan.sizes.device_bytes = placed.device_bytes();
        plan.sizes.host_bytes = placed.host_bytes();
        Ok(plan)
    }

    fn programs(&self) -> Vec<&Program> {
        [&self.view, &self.clear]
            .into_iter()
            .chain(self.parts.values())
            .chain(self.mask.iter().map(|(_, program)| program))
            .chain(
                self.level
                    .iter()
                    .flat_map(|level| level.points.iter().chain([&level.prepare])),
            )
            .collect()
    }

    /// The largest plan within the budget: with room for so many bricks of `voxels`, if there are to be any.
    ///
    /// # Errors
    /// [`MeshError::DoesNotFit`] when not even one brick fits, [`MeshError::NoGaussians`], [`MeshError::NoViews`].
    pub(crate) fn fit(
        subject: &Subject,
        voxels: Option<(&Voxels, u32)>,
        variants: &Variants,
        budget: Budget,
        limits: PlanLimits,
        faults: &Faults,
    ) -> Result<Self, MeshError> {
        if subject.gaussians == 0 {
            return Err(MeshError::NoGaussians);
        }
        if subject.sizes_px.is_empty() {
            return Err(MeshError::NoViews);
        }
        let variants = Variants {
            // Nothing is summed, and this one needs no room for partial sums.
            reduction: Reduction::Atomic,
            ..*variants
        };
        let bound = |bytes: u64| u32::try_from(limits.largest_tensor() / bytes).unwrap_or(u32::MAX);
        let n = subject.gaussians;
        let most = voxels.map_or(0, |(voxels, most)| {
            let all = u32::try_from(voxels.all()).unwrap_or(u32::MAX);
            faults.bricks.unwrap_or(most).min(all)
        });
        let build = |v_cap: u32, i_cap: u32, bricks: u32| {
            Self::new(
                subject,
                [v_cap, i_cap],
                voxels.map(|(v, _)| (v, bricks)),
                &variants,
                limits,
            )
        };
        let fits = |plan: &Self| plan.sizes.device_bytes <= budget.cap_bytes;
        let v_most = faults.v_cap.unwrap_or(n).min(n).min(bound(RECORD_BYTES));
        let i_most = faults.i_cap.unwrap_or(v_most.saturating_mul(6).max(1 << 20));
        let i_most = i_most.max(v_most).min(bound(KEY_BYTES));
        // Records and intersections shrink until a quarter of the bricks fits beside them.
        let mut caps = vec![[v_most, i_most], [v_most, i_most / 2], [v_most, v_most]];
        let mut v = v_most;
        while v / 2 >= LEAST_RECORDS {
            v /= 2;
            caps.push([v, v]);
        }
        let wanted = (most / 4).max(most.min(1));
        let mut least = None;
        for bricks in [wanted, most.min(1)] {
            for &[v_cap, i_cap] in &caps {
                let plan = build(v_cap, i_cap, bricks)?;
                if !fits(&plan) {
                    least = Some(plan);
                    continue;
                }
                let (mut low, mut high) = (bricks, most);
                let mut best = plan;
                while low < high {
                    let middle = low + (high - low).div_ceil(2);
                    let plan = build(v_cap, i_cap, middle)?;
                    if fits(&plan) {
                        (low, best) = (middle, plan);
                    } else {
                        high = middle - 1;
                    }
                }
                return Ok(best);
            }
        }
        let side = |axis: usize| subject.sizes_px.iter().map(|size| size[axis]).max().unwrap_or(0);
        Err(MeshError::DoesNotFit {
            needed_bytes: least.map_or(0, |plan| plan.sizes.device_bytes),
            gaussians: n,
            width: side(0),
            height: side(1),
            budget,
        })
    }

    /// What it takes.
    pub(crate) fn sizes(&self) -> StageSizes {
        self.sizes
    }
}

/// A committed plan with its model.
pub(crate) struct DepthStage<'a> {
    // Dropped before `gpu`, on which they were compiled.
    view: CompiledProgram,
    clear: CompiledProgram,
    prefix: CompiledProgram,
    forward: CompiledProgram,
    finish: CompiledProgram,
    ring: BandRing,
    points: Vec<CompiledProgram>,
    mask: Option<(Span, CompiledProgram)>,
    pub(crate) gpu: Gpu,
    pub(crate) pool: Option<Pool>,
    /// Image, transmittance in the fourth place.
    pub(crate) image: Span,
    /// Depth and normal.
    pub(crate) map: Span,
    /// Uniforms of the view that was drawn last.
    pub(crate) uniforms: Span,
    tensors: StepTensors,
    profile: &'a Profile,
    look: Look,
    /// Points on a level, where they are wanted.
    level: Option<LevelTensors>,
    /// Views drawn in bands.
    pub(crate) banded: u32,
}

impl<'a> DepthStage<'a> {
    /// Commits `plan` and writes the model.
    ///
    /// # Errors
    /// [`MeshError::Memory`].
    pub(crate) fn new(
        plan: StagePlan,
        (profile, model, look): (&'a Profile, &Gaussians, Look),
        open: &OpenDevice,
        budget: Budget,
    ) -> Result<Self, MeshError> {
        let programs = plan.programs();
        let mut gpu = Gpu::new(&open.device, plan.table.clone(), &programs, budget.cap_bytes)?;
        let compile = |program: Option<&Program>, slots: u32| {
            let options = RecordOptions {
                slots,
                ..RecordOptions::default()
            };
            let none = Program::new("nothing");
            gpu.compile(program.unwrap_or(&none), options)
        };
        let part = |part| plan.parts.get(&part);
        let points = plan.level.iter().flat_map(|level| &level.points);
        let points: Vec<CompiledProgram> = points
            .map(|program| compile(Some(program), 1))
            .collect::<Result<_, _>>()?;
        let mask = match &plan.mask {
            Some((span, program)) => Some((*span, compile(Some(program), 1)?)),
            None => None,
        };
        let stage = Self {
            points,
            mask,
            view: compile(Some(&plan.view), 1)?,
            clear: compile(Some(&plan.clear), 1)?,
            prefix: compile(part(Part::Prefix), 1)?,
            forward: compile(part(Part::Forward), BAND_SLOTS)?,
            finish: compile(part(Part::Finish), 1)?,
            ring: BandRing::new(
                plan.bands,
                Some(&plan.records),
                open.faults.bands,
                plan.tensors.capacities,
            ),
            image: plan.tensors.pixels.image,
            map: plan.surface.map,
            uniforms: plan.tensors.shared.uniforms,
            pool: plan.pool,
            profile,
            look,
            banded: 0,
            gpu: {
                step::write_model(&mut gpu, &plan.tensors, model)?;
                if let Some(level) = &plan.level {
                    gpu.run(&level.prepare)?;
                }
                gpu
            },
            level: plan.level.map(|level| level.tensors),
            tensors: plan.tensors,
        };
        Ok(stage)
    }

    /// Draws a view; image and depth map stay on the device until the next. Pixels that `mask` leaves out, a byte each, have no
    /// depth. Runs `next` on them, which must leave things as they are where nothing has a depth: it goes along with the view,
    /// before that is known to have fit.
    ///
    /// # Errors
    /// [`MeshError::Train`] when the device fails or a view cannot be drawn in bands either.
    pub(crate) fn draw(
        &mut self,
        camera: &Camera,
        mask: Option<&[u8]>,
        next: Option<&CompiledProgram>,
    ) -> Result<(), MeshError> {
        let block = uniforms::render(self.profile, camera, &self.look);
        self.put_uniforms(&block)?;
        let masked = self.mask.as_ref().zip(mask);
        if let Some(((span, _), mask)) = masked {
            self.gpu.write(&span.slice(0, mask.len() as u64), mask)?;
        }
        let then = [masked.map(|((_, program), _)| program), next];
        let mut ticket = self.gpu.submit(&self.view, 0)?;
        for program in then.into_iter().flatten() {
            ticket = self.gpu.submit(program, 0)?;
        }
        self.gpu
            .queue()
            .wait(ticket, "a view with depth")
            .map_err(MemoryError::from)?;
        let counters = self.status()?;
        match counters.stall() {
            None => Ok(()),
            Some(Stall::Visible | Stall::Intersections | Stall::Loops) => {
                self.draw_in_bands(&block)?;
                let mask = self.mask.as_ref().filter(|_| mask.is_some());
                for program in [mask.map(|(_, program)| program), next].into_iter().flatten() {
                    self.gpu.run_compiled(program)?;
                }
                Ok(())
            }
            Some(_) => Err(self.stalled(counters)),
        }
    }

    fn draw_in_bands(&mut self, block: &StepUniforms) -> Result<(), MeshError> {
        self.banded += 1;
        self.gpu.run_compiled(&self.clear)?;
        self.gpu.run_compiled(&self.prefix)?;
        let counters = self.status()?;
        let view = self.ring.pack(&self.gpu, block, &counters, Turns::Records)?;
        self.ring.submit(&mut self.gpu, &self.forward, &view.bands)?;
        self.gpu.run_compiled(&self.finish)?;
        let counters = self.status()?;
        match counters.stall() {
            None => Ok(()),
            Some(_) => Err(self.stalled(counters)),
        }
    }

    fn stalled(&self, counters: Counters) -> MeshError {
        MeshError::Train(TrainError::Stalled {
            counters: Box::new(counters),
            v_cap: self.tensors.capacities.v_cap,
            i_cap: self.tensors.capacities.i_cap,
        })
    }

    fn put_uniforms(&mut self, block: &StepUniforms) -> Result<(), MeshError> {
        let bytes = bytemuck::bytes_of(block);
        let slot = self.tensors.rings.uniforms.slice(0, bytes.len() as u64);
        self.gpu.memory_mut().host_mut(&slot)?.copy_from_slice(bytes);
        Ok(())
    }

    fn status(&self) -> Result<Counters, MeshError> {
        let status = self.tensors.rings.status.slice(0, size_of::<Counters>() as u64);
        Ok(bytemuck::pod_read_unaligned(self.gpu.memory().host(&status)?))
    }

    /// Depth, 0 for none, and normal, 0 for none, camera space, of the view that was drawn last, row by row.
    ///
    /// # Errors
    /// [`MeshError::Memory`].
    pub(crate) fn read_map(&mut self, camera: &Camera) -> Result<Vec<[f32; 4]>, MeshError> {
        let pixels = camera.width_px as usize * camera.height_px as usize;
        Ok(self.gpu.read(&self.map, pixels)?)
    }
    /// Place and outward normal, world space, of the points of the view that was drawn last, by their pixels; none where no points
    /// are planned.
    ///
    /// # Errors
    /// [`MeshError::Memory`].
    pub(crate) fn read_points(&mut self, camera: &Camera) -> Result<Vec<[[f32; 3]; 2]>, MeshError> {
        let mut found = Vec::new();
        let Some(level) = &self.level else {
            return Ok(found);
        };
        let room = (level.points.bytes / POINT_BYTES) as usize;
        let pixels = camera.width_px as usize * camera.height_px as usize;
        let mut left = pixels.min(level.level.candidates as usize);
        for program in &self.points {
            self.gpu.run_compiled(program)?;
            let batch: Vec<[[f32; 3]; 2]> = self.gpu.read(&level.points, left.min(room))?;
            left -= batch.len();
            found.extend(batch.into_iter().filter(|[_, normal]| *normal != [0.0; 3]));
        }
        Ok(found)
    }
}
