//! The profile: every setting of a run, checked, with no defaults left to apply.
//!
//! A [`Profile`] is only made by [`resolve`](super::resolve); it serialises to the `config.resolved.yaml` of a run, and
//! reading that file back gives an equal profile. Doc comments of the keys become the JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Bound, Cull, DeviceChoice, HoldOut, LpipsChoice, Mesh, MeshSplatting, MostGaussians, NormalMaps, PhotoColors,
    Sugar, Validation,
};
use crate::plugins::{DensityOptions, Exporter, Init, Loss, Optimizer, Regularizer, Sink, Strategy, names};
use kiln_gaussians::layout::Storage;
use kiln_scene::SceneIndex;

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of this format; always 1.
    pub version: u32,
    /// The run and its folder.
    pub run: Run,
    /// The scene.
    pub dataset: Dataset,
    /// What is trained.
    pub model: Model,
    /// The Mip-Splatting filters.
    pub mip: Mip,
    /// How much memory is used, and how.
    pub memory: Memory,
    /// What happens when.
    pub schedule: Schedule,
    /// Settings of the training loop.
    pub train: Train,
    /// Evaluation.
    pub eval: Eval,
    /// The Vulkan device.
    pub device: Device,
    /// What is checked and timed to find out what goes wrong; null = nothing.
    pub diagnose: Option<Diagnose>,
    /// Where the first Gaussians come from.
    pub init: Init,
    /// How the number of Gaussians changes.
    pub strategy: Strategy,
    /// Which Gaussians the training cameras remove, under every strategy; null = none.
    pub cull: Option<Cull>,
    /// How the model becomes a triangle mesh.
    pub mesh: Mesh,
    /// The stages of SuGaR; null = this is none of its runs.
    pub sugar: Option<Sugar>,
    /// Gaussians on the triangles of a mesh; null = there are none, or with the defaults.
    pub bound: Option<Bound>,
    /// Training of triangles with shared vertices, where `model.kind` is triangles; null = the model is none, or with the defaults.
    pub mesh_splatting: Option<MeshSplatting>,
    /// How gradients become steps.
    pub optimizer: Optimizer,
    /// Terms of the image loss.
    #[serde(serialize_with = "names")]
    pub losses: Vec<Loss>,
    /// Terms of the loss on parameters.
    #[serde(serialize_with = "names")]
    pub regularizers: Vec<Regularizer>,
    /// What is written at the save iterations.
    #[serde(serialize_with = "names")]
    pub exporters: Vec<Exporter>,
    /// Where events go.
    #[serde(serialize_with = "names")]
    pub sinks: Vec<Sink>,
    /// How the device is handled: no settings.
    #[serde(skip)]
    pub care: Care,
}

/// How a device is handled, which losses of it change: in no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Care {
    /// Longest submission aimed at, milliseconds: a step that takes longer is cut into several. 0 = one submission a step.
    pub submit_ms: u32,
    /// The device notes in host memory which pass it is at, on software drivers and wherever this is true.
    pub marks_passes: bool,
}

impl Default for Care {
    fn default() -> Self {
        Self {
            submit_ms: 100,
            marks_passes: false,
        }
    }
}

impl Profile {
    /// Depth beyond which the centres of Gaussians must lie to be drawn, world units: `model.near` or what `scene` asks for.
    #[must_use]
    pub fn near_z(&self, scene: &SceneIndex) -> f32 {
        self.model.near.unwrap_or_else(|| scene.near_z())
    }

    /// What is checked and timed.
    #[must_use]
    pub fn diagnose(&self) -> Diagnose {
        self.diagnose.unwrap_or_default()
    }

    /// How Gaussians lie on the triangles of a mesh.
    #[must_use]
    pub fn bound(&self) -> Bound {
        self.bound.unwrap_or_default()
    }

    /// How triangles with shared vertices are trained.
    #[must_use]
    pub fn mesh_splatting(&self) -> MeshSplatting {
        self.mesh_splatting.clone().unwrap_or_default()
    }

    /// True when photos have colours of their own: evaluations then also measure views after a fit of their colours, because plain figures
    /// alone say little.
    #[must_use]
    pub fn learns_photo_colors(&self) -> bool {
        self.train.photo_colors == PhotoColors::On
    }

    /// True when the photos say whether they have colours of their own. Triangles, Gaussians on a mesh and the stages of SuGaR go without
    /// them unless they are set.
    #[must_use]
    pub fn photo_colors_are_open(&self) -> bool {
        let open = self.train.photo_colors == PhotoColors::Auto;
        open && !(self.is_triangles() || self.is_bound() || self.sugar.is_some())
    }

    /// Options of the terms of the density, where there are any with a weight.
    #[must_use]
    pub fn density(&self) -> Option<&DensityOptions> {
        self.regularizers.iter().find_map(|term| match term {
            Regularizer::Density(options) if options.weight > 0.0 || options.normal > 0.0 => Some(options),
            _ => None,
        })
    }

    /// True when the model has a 3D smoothing filter.
    #[must_use]
    pub fn has_filter_3d(&self) -> bool {
        self.model.kind == ModelKind::Mip && self.mip.filter_3d
    }
}

/// `run`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name shown in reports; null = the scene's folder name.
    pub name: Option<String>,
    /// Folder the run is written to; null = `runs/NAME`.
    pub output: Option<String>,
}

/// `dataset`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Scene folder; null = the one named on the command line.
    pub path: Option<String>,
    /// Image folder inside a COLMAP scene; `images` also stands for `images_2`, `images_4` or `images_8` where that folder
    /// holds what `resolution` asks for (`./images` does not).
    pub images: String,
    /// Down-scaling: -1 = to 1600 pixels wide if wider; 1, 2, 4, 8, 16, 32, 64 = divide by it; else the width wanted.
    pub resolution: i32,
    /// Views held out for testing: true = those of the data set, else every 8th by name; N = every Nth; a file = those it
    /// names; false = none.
    pub hold_out: HoldOut,
    /// Where decoded training images live.
    pub residency: Residency,
    /// Host memory for decoded images under `stream` and `device`, GiB; 0.001 to 4096.
    pub cache_gib: f64,
    /// Masks: `auto` = in the scene's `masks` folder or beside the images where there are any; `off`; else a folder. White
    /// pixels count; black ones carry no loss and are left out of the metrics.
    pub masks: String,
    /// Folder of depth maps of training photos, inside the scene; null = none. Adds the loss `depth` where it is not listed.
    pub depths: Option<String>,
    /// Folder of normal maps of training photos, inside the scene; null = none. Adds the loss `normal_map` where it is not listed.
    pub normals: Option<NormalMaps>,
    /// How much of pictures that a lens bent is shown.
    pub undistort: Undistort,
    /// What an image's alpha channel is.
    pub alpha: Alpha,
    /// Read files that links lead out of the scene folder.
    pub follow_links: bool,
}

/// `dataset.residency`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// `device` where all photos fit in an eighth of the cap and nothing else gets less room for it; else `host`, or `stream`
    /// where the machine has too little memory for that.
    Auto,
    /// Device memory, all of them, 8-bit RGB at training resolution: steps upload nothing.
    Device,
    /// Host memory, all of them.
    Host,
    /// Host memory, as many as `cache_gib` holds; the rest are decoded again when their turn comes.
    Stream,
}

impl Residency {
    /// The word in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Device => "device",
            Self::Host => "host",
            Self::Stream => "stream",
        }
    }
}

/// `dataset.undistort`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undistort {
    /// Photos of fisheyes stay as they are and are trained through their lens, unless something in the run needs pinholes; all others
    /// as with `inside`.
    Auto,
    /// The largest rectangle without an empty pixel.
    Inside,
    /// All of them, as far as twice the original's sides reach, with what is empty masked: for fisheyes in runs that need
    /// pinholes.
    Whole,
}

/// `dataset.alpha`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alpha {
    /// `blend` for Blender and Nerfstudio scenes; `mask` for others when some of eight photos have transparent pixels.
    Auto,
    /// A mask: pixels less than half opaque do not count.
    Mask,
    /// Transparency: colours are blended over the background.
    Blend,
    /// Nothing.
    Ignore,
}

/// `model`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Kind of model.
    pub kind: ModelKind,
    /// Highest spherical-harmonics degree, 0 to 3; fixes the storage layout.
    pub sh_degree: u32,
    /// Colour behind the scene.
    pub background: Background,
    /// Depth beyond which the centres of Gaussians must lie to be drawn, world units; null = from the scene, a tenth of the depth
    /// of its nearest points. A run keeps the number. Above 0, at most 1e9.
    pub near: Option<f32>,
}

/// `model.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// 3D Gaussians with the filters of `mip`.
    Mip,
    /// Plain 3D Gaussians: 0.3 square pixels of dilation, no compensation, no 3D filter; `mip.kernel_size` and
    /// `mip.filter_3d` say nothing then.
    Classic,
    /// Opaque triangles with shared vertices, see `mesh_splatting`; `mip` says nothing then.
    Triangles,
}

/// `model.background`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// Black.
    Black,
    /// White.
    White,
    /// Another colour in every training step, so that nothing is learnt to be see-through where it is not; black when
    /// models are looked at.
    Random,
}

/// `mip`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mip {
    /// Variance of the 2D screen filter, square pixels; 0 to 10.
    pub kernel_size: f32,
    /// Apply the 3D smoothing filter: recomputed after each densification, and when these are over as often as they came.
    pub filter_3d: bool,
}

/// `memory`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Most device memory the engine takes, GiB; null = only the device's heap and the driver's budget limit it.
    pub cap_gib: Option<f64>,
    /// Precision of the stored model.
    pub storage: Storage,
    /// Most Gaussians: a number = room for that many, or the run does not begin; `up to N` = what fits, at most N.
    pub max_gaussians: MostGaussians,
    /// What to do when densification would exceed the capacity.
    pub on_full: OnFull,
    /// What to do when memory of the device turns out to lie in the host.
    pub on_spill: OnSpill,
}

/// `memory.on_full`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    /// Keep the candidates with the highest scores and go on.
    Cap,
    /// End the run.
    Stop,
}

/// `memory.on_spill`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnSpill {
    /// Say so and go on, more slowly.
    Warn,
    /// Write a checkpoint and end the run with exit code 8.
    Error,
}

/// `schedule`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Steps of the run; 1 to 10 000 000.
    pub iterations: u32,
    /// Iterations after which to evaluate; the last iteration is always added.
    pub test: Vec<u32>,
    /// Iterations after which to export; the last iteration is always added.
    pub save: Vec<u32>,
    /// Iterations after which to write a resumable checkpoint.
    pub checkpoint: Vec<u32>,
    /// Minutes after which to write another one; 0 to 100 000, 0 = only after those iterations and at the end.
    pub checkpoint_minutes: f64,
    /// Most seconds between two snapshots for the viewer, which take 1 % of the training time at most; 0 to 100 000,
    /// 0 = none.
    pub live_seconds: f64,
    /// Iterations between two raises of the active SH degree.
    pub sh_every: u32,
    /// Coarse-to-fine phases in order; after the last one the scale is 1.
    pub resolution: Vec<ResolutionPhase>,
    /// End the run when evaluations stop improving; null = never.
    pub early_stop: Option<EarlyStop>,
}

/// `schedule.early_stop`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlyStop {
    /// Evaluations in a row that may be no better than the best one before them; 1 to 1000.
    pub patience: u32,
    /// Least difference that counts as better, in the metric's unit; 0 or more.
    #[serde(default)]
    pub min_delta: f64,
    /// What is watched: means over the test views, or over the evaluated training views when there are no test views.
    #[serde(default)]
    pub metric: PlateauMetric,
}

/// `schedule.early_stop.metric`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlateauMetric {
    /// PSNR of one squared error per image, dB; higher is better.
    #[default]
    Psnr,
    /// SSIM over whole windows; higher is better.
    Ssim,
    /// LPIPS; lower is better.
    Lpips,
    /// Mean absolute error; lower is better.
    L1,
}

impl PlateauMetric {
    /// The word in a profile.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Psnr => "psnr",
            Self::Ssim => "ssim",
            Self::Lpips => "lpips",
            Self::L1 => "l1",
        }
    }
}

/// A phase of `schedule.resolution`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolutionPhase {
    /// Last iteration of the phase.
    pub until: u32,
    /// Scale of the training images' sides; 0.0625 to 1.
    pub scale: f32,
}

/// `train`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// Seed of every random choice.
    pub seed: u64,
    /// Same bytes from the same inputs, at some cost in speed.
    pub deterministic: bool,
    /// Under `memory.max_gaussians: up to N`, at most this many for each unit of the square root of all training pixels: photos overlap, so that what they show
    /// grows more slowly than their pixels. For strategies that grow until something stops them; 0 to 10000, 0 = no such bound.
    pub gaussians_per_root_pixel: f32,
    /// Share of the Gaussians that the last step leaves out at random, the others being that much more opaque; it rises from
    /// 0 at the start (DropGaussian, Park et al. 2025). 0 to 0.5, 0 = none.
    pub dropout: f32,
    /// Correct the poses of the training cameras while training, and move test cameras to their photos before they are measured;
    /// null = poses are as given.
    pub refine_poses: Option<RefinePoses>,
    /// Colours of each training photo, learnt between image and loss: what exposure, white balance and lens do to it and is no property
    /// of the scene. `auto` = where the photos' colours at shared points differ; `on`; `off`.
    pub photo_colors: PhotoColors,
}

/// `train.refine_poses`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefinePoses {
    /// Learning rate of a camera's turn, radians, and shift, scene extents, at the start; 0.000001 to 0.1.
    pub lr: f32,
    /// And at the last step, log-linear between; 0.00000001 to 0.1.
    pub lr_end: f32,
    /// Steps that move a test camera to its photo before each evaluation; 0 to 10 000, 0 = test poses are as given.
    pub test_steps: u32,
}

impl Default for RefinePoses {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            lr_end: 1e-5,
            test_steps: 100,
        }
    }
}

/// `eval`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eval {
    /// Compute LPIPS; auto = not on CPU drivers. If asked for there, at the last evaluation only, over the test views.
    pub lpips: LpipsChoice,
    /// Views whose images are written at each evaluation, per set.
    pub views_logged: u32,
}

/// `device`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Number of the device as `kiln doctor` lists it, a part of its name, or its uuid; null = the best one.
    pub select: Option<DeviceChoice>,
    /// Accept a CPU driver (slow).
    pub allow_cpu: bool,
}

/// `diagnose`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Diagnose {
    /// What the Vulkan validation layer checks; true = sync.
    pub validation: Validation,
    /// Keep tensors apart on the device with a pattern between them, and look at it before each evaluation and file.
    pub guard_bands: bool,
    /// Time the passes of every N-th step and write `timings.json`; 0 times none.
    pub timed_every: u32,
}
