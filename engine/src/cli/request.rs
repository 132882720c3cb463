//! The request of a command line, with the inputs of the profile, before any file or device is touched.

use std::path::PathBuf;

use super::UsageError;
use super::args::Shell;
use crate::config::{AutoError, Budget, ConfigError, Inputs, Profile, choose, extended_profile, resolve};
use crate::export::Format;
use crate::mesh::{Layers, Up};
use crate::plan::Faults;
use crate::plugins::Subset;
use crate::project::{MergeRequest, SplitOptions};
use crate::scene::Split;
use crate::serve::Listen;

/// The request of a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Train a scene.
    Train(Train),
    /// Evaluate a model.
    Eval(Eval),
    /// Render a model.
    Render(Render),
    /// Write a model for viewers.
    Export(Export),
    /// Make a mesh.
    Mesh(Mesh),
    /// Print the plan.
    Plan(Plan),
    /// Show runs in a browser.
    View(View),
    /// Show what is shipped.
    Profiles(Profiles),
    /// Show what something holds.
    Inspect(Inspect),
    /// Cut a scene into blocks.
    Split(SplitScene),
    /// Merge trained blocks.
    Merge(Merge),
    /// Show how far a project is.
    Status(Status),
    /// Show what memory a run took.
    Memory(Memory),
    /// Show devices.
    Doctor(Doctor),
    /// Show what flags of other trainers mean.
    Flags,
    /// Print completions.
    Completions(Shell),
    /// Print a manual page: of the program or of a command.
    Man(Option<String>),
}

/// `kiln inspect`
#[derive(Clone, Debug, PartialEq)]
pub struct Inspect {
    /// Scene folder, run folder or model file.
    pub target: PathBuf,
    /// How a scene is to be read.
    pub settings: Settings,
    /// Machine-readable output.
    pub json: bool,
}

/// `kiln split`
#[derive(Clone, Debug, PartialEq)]
pub struct SplitScene {
    /// Inputs of the profile of the blocks' runs; `run.output` is the project's folder.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// How to split.
    pub options: SplitOptions,
    /// Write nothing.
    pub plan_only: bool,
    /// Machine-readable output.
    pub json: bool,
}

/// `kiln merge`
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Project folder.
    pub project: PathBuf,
    /// What to merge into, and with how much memory.
    pub request: MergeRequest,
    /// Machine-readable output.
    pub json: bool,
    /// No message but the path.
    pub quiet: bool,
}

/// `kiln status`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Project folder.
    pub project: PathBuf,
    /// Machine-readable output.
    pub json: bool,
}

/// `kiln memory`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Run folder, folder of runs, or `latest`.
    pub target: PathBuf,
    /// Machine-readable output.
    pub json: bool,
}

/// `kiln train`
#[derive(Clone, Debug, PartialEq)]
pub struct Train {
    /// Inputs of the profile.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// Where to resume, when asked to.
    pub resume: Option<Resume>,
    /// Deletes a run of the same scene that is in the way.
    pub overwrite: bool,
    /// Poses are found by COLMAP.
    pub colmap: bool,
    /// A mesh of the model in the end.
    pub mesh: bool,
    /// Events as JSON lines on standard output.
    pub json: bool,
    /// No progress line.
    pub quiet: bool,
}

/// Where a run resumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The latest checkpoint of the run folder.
    Latest,
    /// A checkpoint file.
    From(PathBuf),
}

/// A mesh that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnMesh {
    /// Its file.
    pub path: PathBuf,
    /// Samples along each side of a pixel.
    pub samples: u32,
}

/// The model that `kiln eval` and `kiln render` work on.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Run folder or PLY file.
    pub target: PathBuf,
    /// Iteration of a run.
    pub iteration: Option<u32>,
    /// A mesh to draw in its place; `target` is then a scene, or a run on it.
    pub mesh: Option<DrawnMesh>,
    /// What the command line sets; the run's own settings lie below.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// No progress line.
    pub quiet: bool,
}

/// `kiln eval`
#[derive(Clone, Debug, PartialEq)]
pub struct Eval {
    /// What to evaluate.
    pub model: Model,
    /// Machine-readable output.
    pub json: bool,
    /// Write into the run folder.
    pub write: bool,
    /// What the mesh is held against: a file, or `solids`.
    pub truth: Option<PathBuf>,
    /// Distances for precision and recall, scene units.
    pub distances: Vec<f64>,
}

/// `kiln render`
#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    /// What to render.
    pub model: Model,
    /// Which views of it.
    pub views: RenderViews,
    /// Depths or normals instead of colours.
    pub layers: Layers,
    /// Folder of the pictures.
    pub output: PathBuf,
}

/// `kiln mesh`
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// What to make a mesh of.
    pub model: Model,
    /// Folder of the files; none for one beside the model.
    pub output: Option<PathBuf>,
    /// Which way is up in the files.
    pub up: Up,
    /// Only print what it would take.
    pub dry_run: bool,
    /// Stages as JSON lines on standard output.
    pub json: bool,
}

/// Views that `kiln render` draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderViews {
    /// Those of a set of the scene.
    Set(Split),
    /// Those of a file.
    File(PathBuf),
    /// The frames of a camera path.
    Path(PathBuf),
}

/// `kiln export`
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Run folder or PLY file.
    pub target: PathBuf,
    /// Iteration of a run.
    pub iteration: Option<u32>,
    /// Format of the file.
    pub format: Format,
    /// The file; none for one beside the model.
    pub output: Option<PathBuf>,
    /// What of the model it gets.
    pub subset: Subset,
    /// No message but the path.
    pub quiet: bool,
}

/// `kiln plan`
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Inputs of the profile.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// Also print every tensor.
    pub explain: bool,
    /// JSON instead of the table.
    pub json: bool,
    /// Also print what a mesh in the end takes.
    pub mesh: bool,
}

/// `kiln view`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Folder with runs, or one run.
    pub folder: PathBuf,
    /// What to do with them.
    pub action: ViewAction,
}

/// What `kiln view` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewAction {
    /// Serve them until Ctrl-C.
    Serve {
        /// Where to listen.
        listen: Listen,
        /// Open a browser.
        open: bool,
    },
    /// Write a folder for any web server.
    Export(PathBuf),
}

/// `kiln profiles`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profiles {
    /// Everything that is shipped.
    List,
    /// One profile, recipe or file, resolved.
    Show {
        /// Its name.
        name: String,
        /// Recipe under a profile.
        recipe: Option<String>,
    },
    /// The JSON Schema.
    Schema,
}

/// `kiln doctor`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doctor {
    /// Compile the passes of a training step and print what the drivers report about them.
    pub pipelines: bool,
    /// Machine-readable output.
    pub json: bool,
}

/// The inputs of a profile. With `--profile auto` the device's budget is one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Layers; `profile` is none for `auto`.
    pub inputs: Inputs,
    /// `--profile auto` was typed. Without `--profile`, a file's `extends` decides, else it is `auto` too.
    pub auto: bool,
}

impl Settings {
    /// The profile as far as it is known without a device: everything but what an automatic memory profile sets. Use
    /// its `device` section to choose the device whose budget [`Settings::resolve`] asks for.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong.
    pub fn preliminary(&self) -> Result<Profile, ConfigError> {
        resolve(&self.inputs)
    }

    /// True when the memory profile depends on the device.
    ///
    /// # Errors
    /// When the configuration file cannot be read or is not YAML.
    pub fn needs_device(&self) -> Result<bool, ConfigError> {
        if self.auto || self.inputs.profile.is_some() {
            return Ok(self.auto);
        }
        Ok(self
            .inputs
            .file
            .as_deref()
            .map(extended_profile)
            .transpose()?
            .flatten()
            .is_none())
    }

    /// The final profile on a device with this budget.
    ///
    /// # Errors
    /// [`AutoError`] when no shipped profile fits, a CPU driver is not allowed, or the configuration is wrong.
    pub fn resolve(&self, budget: Budget) -> Result<Profile, AutoError> {
        Ok(resolve(&self.inputs_on(budget)?)?)
    }

    /// The inputs of the final profile on a device with this budget.
    ///
    /// # Errors
    /// See [`Settings::resolve`].
    pub fn inputs_on(&self, budget: Budget) -> Result<Inputs, AutoError> {
        let preliminary = self.preliminary()?;
        if !self.needs_device()? {
            return match budget.is_cpu && !preliminary.device.allow_cpu {
                true => Err(AutoError::CpuNotAllowed),
                false => Ok(self.inputs.clone()),
            };
        }
        let name = choose(budget, preliminary.device.allow_cpu)?;
        Ok(Inputs {
            profile: Some(name.to_owned()),
            ..self.inputs.clone()
        })
    }

    /// The scene folder of a resolved profile.
    ///
    /// # Errors
    /// [`UsageError::NoScene`] when neither the command line nor a file names one.
    pub fn scene(profile: &Profile) -> Result<PathBuf, UsageError> {
        profile
            .dataset
            .path
            .as_deref()
            .map(PathBuf::from)
            .ok_or(UsageError::NoScene)
    }
}
