//! What a run says while it happens: the rows of `metrics.jsonl` and `memory.jsonl`, and what only the console shows.
//!
//! Owns the row types; their JSON is what viewers read, so a field is never renamed and never changes its unit. Numbers
//! that are not finite are written as `null`, because JSON has no other word for them, and read back as NaN. Readers
//! ignore keys they do not know. After a `resume` event, earlier rows with a larger `it` are void.

mod names;
mod wording;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use names::{Primitive, Stage};

use super::evaluated_view::EvaluatedView;
use super::findings::{MemoryPlace, PressureChange, SpillEvidence};
use crate::eval::LpipsRange;
use crate::eval::{EvalFile, Means, PoseSource, Spread};
use crate::export::{milliseconds, null_as_nan};
use crate::plan::CapacitySource;
use crate::step;
use kiln_config::PlateauMetric;
use kiln_gpu::vk::GpuSample;
use kiln_kernels::counters::Stall;
use kiln_kernels::histogram::BINS;
use kiln_scene::Split;

/// Everything the sinks receive.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// The plan is committed; the first event.
    Start(Start),
    /// A stage other than training moves on.
    Progress(Progress),
    /// A step whose status word has arrived; one a step, sinks choose which they keep.
    Train(TrainRow),
    /// An evaluation of one set.
    Eval(EvalRow),
    /// Something worth a row of its own.
    Event(EventRow),
    /// Memory figures; see [`Sinks::memory_due`](super::sinks::Sinks::memory_due).
    Memory(MemoryRow),
    /// What the card says of itself; see [`Sinks::gpu_due`](super::sinks::Sinks::gpu_due). Comes from cards that
    /// report it.
    Gpu(GpuRow),
    /// How the parameters are spread.
    Histograms(Histograms),
    /// A view of an evaluation that is to be looked at.
    View(Arc<EvaluatedView>),
}

/// Telemetry of the card.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuRow {
    /// Iteration.
    pub it: u32,
    /// The figures, some seconds old at most.
    pub sample: GpuSample,
}

/// Counts over all Gaussians, in the order of [`Quantity::ALL`](kiln_kernels::histogram::Quantity::ALL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histograms {
    /// Iteration.
    pub it: u32,
    /// Values in each bin.
    pub counts: Box<[[u32; BINS]; 4]>,
}

/// The frame of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// What the model is made of.
    pub primitive: Primitive,
    /// What its steps are called.
    pub stage: Stage,
    /// Iterations done before this process began: 0, or where it resumed.
    pub from: u32,
    /// Iterations of the whole run.
    pub iterations: u32,
    /// Most device memory the run may take, bytes.
    pub cap_bytes: u64,
    /// Planned capacities.
    pub capacities: Capacities,
}

/// Planned capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capacities {
    /// Gaussians.
    pub n_cap: u64,
    /// Visible records.
    pub v_cap: u64,
    /// Tile intersections.
    pub i_cap: u64,
}

impl From<step::Capacities> for Capacities {
    fn from(c: step::Capacities) -> Self {
        Self {
            n_cap: c.n_cap.into(),
            v_cap: c.v_cap.into(),
            i_cap: c.i_cap.into(),
        }
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which.
    pub stage: Stage,
    /// Items done.
    pub done: u32,
    /// Items in all.
    pub total: u32,
}

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MetricsRow {
    /// A training step.
    Train(TrainRow),
    /// An evaluation.
    Eval(EvalRow),
    /// Anything else.
    Event(EventRow),
}

/// A training step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrainRow {
    /// Iteration, from 1.
    pub it: u32,
    /// Loss of the step; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f32>")]
    pub loss: f32,
    /// Mean absolute error of the rendered training view, colours in [0, 1]; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f32>")]
    pub l1: f32,
    /// Mean disagreement between blended normals and those of the depth map; only in steps with the loss `normals`, and
    /// null when not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normals: Option<f32>,
    /// Mean distance of the density around samples from that of a surface; only in steps with the regularizer `density`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f32>,
    /// Mean squared distance of the normals at samples from those around; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density_normals: Option<f32>,
    /// Mean of exp(-e) e, where e is how many pixels a point comes back off from the neighbouring view, over the pixels where e is
    /// below 1; only in steps that the loss `neighbour` compares, and null when not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour_geometry: Option<f32>,
    /// Mean of exp(-e) (1 - NCC) over patches of the two photos; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour_photometric: Option<f32>,
    /// Gaussians in the model. In runs of triangles the same number as `triangles`, for readers that know no other key.
    pub gaussians: u32,
    /// Triangles in the model; only in runs of triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u32>,
    /// Vertices that these share; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u32>,
    /// Gaussians or triangles visible in the step.
    pub visible: u32,
    /// Pairs of a visible Gaussian or triangle and a tile in the step.
    pub intersections: u32,
    /// Iterations a second over the last 100; null before the second step.
    pub its: Option<f32>,
    /// Seconds of the training loop so far; decoding and evaluation do not count.
    #[serde(serialize_with = "milliseconds")]
    pub t_s: f64,
}

/// Means over the views of one set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvalRow {
    /// Iterations done.
    pub it: u32,
    /// Which views.
    pub set: Split,
    /// Number of views.
    pub n: u32,
    /// Mean absolute error, colours in [0, 1]; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub l1: f64,
    /// Mean of the three channels' PSNRs, dB; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub psnr: f64,
    /// PSNR of one squared error per image, dB; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub psnr_image: f64,
    /// SSIM with zero padding; null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub ssim: f64,
    /// SSIM over whole windows; null when no view is 11 pixels wide and high.
    pub ssim_valid: Option<f64>,
    /// LPIPS (VGG16); null when it was not computed.
    pub lpips: Option<f64>,
    /// `psnr_image` of each view's right half after the affine map of colours that fits its left half best; there with photo colours,
    /// and with LPIPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psnr_fitted_half: Option<f64>,
    /// Range the images had when they entered the LPIPS network.
    pub lpips_range: LpipsRange,
    /// Where cameras are; there when they are not where the data set says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poses: Option<PoseSource>,
    /// What the means hide.
    #[serde(flatten)]
    pub spread: Spread,
    /// Gaussians in the model. In runs of triangles the same number as `triangles`, for readers that know no other key.
    pub gaussians: u32,
    /// Triangles in the model; only in runs of triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u32>,
    /// Vertices that these share; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u32>,
    /// Mean opacity of the model, 0 to 1: of Gaussians as their file has it, of triangles over their vertices; absent in rows of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_opacity: Option<f64>,
    /// Seconds of the training loop so far.
    #[serde(serialize_with = "milliseconds")]
    pub t_s: f64,
}

impl EvalRow {
    /// The rows of an evaluation, test first.
    #[must_use]
    pub fn of(eval: &EvalFile) -> Vec<Self> {
        let row = |set: Split| {
            let report = eval.set(set)?;
            let Means {
                n,
                metrics,
                lpips,
                psnr_fitted_half,
            } = report.mean;
            Some(Self {
                it: eval.iteration,
                set,
                n,
                l1: metrics.l1,
                psnr: metrics.psnr,
                psnr_image: metrics.psnr_image,
                ssim: metrics.ssim,
                ssim_valid: metrics.ssim_valid,
                lpips,
                psnr_fitted_half,
                lpips_range: eval.lpips_range,
                poses: eval.poses,
                spread: report.spread.clone(),
                gaussians: eval.gaussians,
                triangles: eval.triangles,
                vertices: eval.vertices,
                mean_opacity: eval.mean_opacity,
                t_s: eval.t_s,
            })
        };
        [Split::Test, Split::Train].into_iter().filter_map(row).collect()
    }
}

/// Something that happened at an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRow {
    /// Iteration.
    pub it: u32,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened: `kind` names it, `detail` holds its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Event {
    /// Gaussians were added and removed.
    Densify {
        /// Copies of small Gaussians.
        clones: u32,
        /// Large Gaussians cut in two.
        splits: u32,
        /// Gaussians removed.
        deaths: u32,
        /// Gaussians afterwards.
        gaussians: u32,
    },
    /// Densification wanted more Gaussians than fit; the highest scores were kept.
    DensifyCapped {
        /// Births given up.
        dropped: u32,
        /// The capacity.
        n_cap: u64,
    },
    /// Gaussians went by what the training cameras say of them.
    Cull {
        /// Gaussians removed.
        removed: u32,
        /// Gaussians afterwards, a densification of the same iteration included.
        gaussians: u32,
    },
    /// Opacities were lowered.
    Reset {
        /// The largest opacity afterwards, 0 to 1.
        opacity: f32,
    },
    /// The 3D smoothing filter was recomputed.
    Filter {
        /// Training views it was computed from.
        views: u32,
    },
    /// A step did not fit its buffers and was done again in parts, or ended the run.
    Stall {
        /// Which buffer.
        buffer: StallBuffer,
        /// Entries the step wanted.
        wanted: u64,
        /// Entries there are.
        capacity: u64,
    },
    /// A step produced a value that is not finite and was skipped.
    Nonfinite {
        /// The pass that found it.
        pass: String,
        /// The tensor it was found in.
        tensor: String,
        /// First element.
        index: u64,
        /// Elements.
        count: u64,
    },
    /// Device memory lies in the host.
    Spill(SpillEvidence),
    /// Twenty steps in a row took far longer than those before.
    SlowStep {
        /// Their median, milliseconds.
        ms: f32,
        /// Median of the steps before, milliseconds.
        usual_ms: f32,
    },
    /// The driver lowered the memory this process may use.
    BudgetShrunk {
        /// Bytes before.
        from: u64,
        /// Bytes now.
        to: u64,
    },
    /// Where the memory of the run lies: at the start, and when that changes.
    Residency(MemoryPlace),
    /// Memory is short, or free again, and the run behaves accordingly.
    Pressure(PressureChange),
    /// The run ends before its last iteration, because evaluations stopped improving.
    EarlyStop {
        /// What was watched.
        metric: PlateauMetric,
        /// Its best value; null when no evaluation had one.
        best: Option<f64>,
        /// Iteration of the best value.
        best_it: u32,
        /// Evaluations since then.
        evaluations: u32,
        /// What an evaluation must be better by to count, in the unit of the metric; 0 in runs of older versions.
        #[serde(default)]
        min_delta: f64,
    },
    /// Training goes on from a checkpoint.
    Resume {
        /// The checkpoint file, relative to the run folder where it lies inside.
        checkpoint: String,
    },
    /// `live.ply` was renewed: a light snapshot of the model for who looks on.
    Live {
        /// Gaussians in it; triangles in a run of these.
        kept: u32,
        /// Gaussians in the model; triangles in a run of these.
        gaussians: u32,
    },
    /// Files were written.
    Save {
        /// Paths relative to the run folder.
        files: Vec<String>,
    },
    /// A part of the mesh that a run ends with is done.
    MeshStage(MeshStageRow),
    /// Where decoded images will be, before the first is decoded.
    Images {
        /// `dataset.residency`.
        residency: String,
        /// Images of all sets.
        images: u32,
        /// Host memory they need at most, bytes.
        host_bytes: u64,
        /// Host memory that could be had then, bytes; null where the system does not say.
        available_bytes: Option<u64>,
    },
    /// The first step of this process was submitted.
    FirstStep {
        /// Seconds since the process began to read the scene.
        seconds: f64,
        /// Images decoded until then.
        images: u32,
        /// Bytes of those, decoded.
        bytes: u64,
        /// Decoding threads.
        threads: u32,
    },
    /// The device was lost; it was opened anew, and training goes on from the newest checkpoint or from the start.
    DeviceLost {
        /// Iterations submitted then.
        iteration: u32,
        /// The call or program that noticed.
        noticed: String,
        /// What the device was at.
        at: String,
        /// Longest submission aimed at from now on, milliseconds.
        submit_ms: u32,
    },
    /// The device was at work and nothing was finished for long.
    Silence {
        /// For how long, when it was noticed.
        seconds: f64,
        /// What it was at.
        at: String,
    },
    /// The Vulkan validation layer found a mistake of Kiln; the run will end as failed.
    Validation {
        /// What it checks: core, sync or gpu.
        mode: String,
        /// Its words.
        message: String,
    },
    /// What was chosen for the scene where the settings leave it open, and how the scene is read.
    Chosen {
        /// For people.
        message: String,
    },
    /// Odd, but the run goes on.
    Warning {
        /// For people.
        message: String,
    },
}

/// A part of the way from a model to a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeshStageRow {
    /// Which: points, reconstruct, touch, integrate, march, color, clean, decimate, project, peel, texture or write; of triangles in
    /// training prune, split, connect or finish.
    pub stage: String,
    /// How long it took.
    #[serde(serialize_with = "milliseconds")]
    pub seconds: f64,
    /// Bricks of voxels near surfaces; 0 before they are known, and where there are none.
    pub bricks: u64,
    /// Points that the surface was put through; 0 where there are none.
    pub points: u64,
    /// Vertices after it; 0 before there are any.
    pub vertices: u64,
    /// Triangles after it; 0 before there are any.
    pub triangles: u64,
}

/// The buffer that a step did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallBuffer {
    /// Records of visible Gaussians.
    Visible,
    /// Tile intersections.
    Intersections,
}

impl StallBuffer {
    /// The buffer behind a device's stall reason; `None` for non-finite values, which are an [`Event::Nonfinite`], and for
    /// loops that the driver cut, which end the run.
    #[must_use]
    pub const fn of(stall: Stall) -> Option<Self> {
        match stall {
            Stall::Visible => Some(Self::Visible),
            Stall::Intersections => Some(Self::Intersections),
            Stall::NonFinite | Stall::Loops => None,
        }
    }
}

/// One line of `memory.jsonl`; all sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRow {
    /// Iteration.
    pub it: u32,
    /// Sum of the tensors in use.
    pub allocated: u64,
    /// Sum of the driver's allocations.
    pub reserved: u64,
    /// `reserved` less its value at the first row of the process; 0 unless something grows that should not.
    #[serde(default)]
    pub vram_creep: i64,
    /// Largest `allocated` so far, those of earlier processes of the run included.
    pub peak_allocated: u64,
    /// Largest `reserved` so far, also between two rows and in earlier processes.
    pub peak_reserved: u64,
    /// Device memory the driver lets this process use; null when it does not say.
    pub heap_budget: Option<u64>,
    /// Device memory this process uses according to the driver; null when it does not say.
    pub heap_usage: Option<u64>,
    /// Host memory the device uses for this process; null when the driver does not say.
    pub host_heap_usage: Option<u64>,
    /// Host memory the device uses for this process as Windows counts it; absent on other systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_usage: Option<u64>,
    /// Memory of the process that is resident, what it maps of files included; null when the system does not say.
    #[serde(default)]
    pub process_resident: Option<u64>,
    /// Gaussians or triangles of the model, of the `n_cap` places that there are; null in runs of older versions.
    #[serde(default)]
    pub places_used: Option<u64>,
    /// `allocated` by purpose.
    pub tags: BTreeMap<String, u64>,
    /// Tensors of 512 MiB and more.
    #[serde(default)]
    pub large_tensors: u32,
    /// Bytes of the arena that live at the same time at the worst moment of the plan; the arena is as large as its packing
    /// needs.
    #[serde(default)]
    pub arena_live: u64,
    /// Share of `reserved` in which nothing lives even at that moment, 0 to 1: gaps that packing leaves in the arena, and
    /// rounding. Null when not finite.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub overhead: f64,
    /// What the card says of itself; absent where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuSample>,
    /// What the arena holds by purpose at the fullest moment of the plan, on the first line that a process writes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arena: BTreeMap<String, u64>,
    /// Capacities, on the first line that a process writes.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub capacities: Option<Capacities>,
    /// Where visible records and intersections come from, beside the capacities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacities_from: Option<CapacitySource>,
}

#[cfg(test)]
mod tests;
