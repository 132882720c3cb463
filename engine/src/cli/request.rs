//! The request of a command line, with the inputs of the profile, before any file or device is touched.

use std::path::PathBuf;

use super::args::Shell;
use crate::export::Format;
use crate::jobs::{self, Model, Settings};
use crate::mesh::Layers;
use crate::project::MergeRequest;
use crate::serve::Listen;
use kiln_config::Inputs;
use kiln_config::plugins::Subset;
use kiln_scene::Split;

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
    /// Write all manual pages into a folder.
    ManPages(PathBuf),
    /// Hand these arguments over to the Windows program.
    Windows(Vec<String>),
}

impl Request {
    /// Whether it works by itself for as long as its scene or model takes, so that the machine must not fall asleep meanwhile.
    #[must_use]
    pub const fn takes_long(&self) -> bool {
        match self {
            Self::Train(_)
            | Self::Eval(_)
            | Self::Render(_)
            | Self::Export(_)
            | Self::Mesh(_)
            | Self::Split(_)
            | Self::Merge(_) => true,
            Self::View(view) => matches!(view.action, ViewAction::Export(_)),
            Self::Plan(_)
            | Self::Profiles(_)
            | Self::Inspect(_)
            | Self::Status(_)
            | Self::Memory(_)
            | Self::Doctor(_)
            | Self::Flags
            | Self::Completions(_)
            | Self::Man(_)
            | Self::ManPages(_)
            | Self::Windows(_) => false,
        }
    }

    /// The layers of the settings that it brings, where it has some.
    pub(super) const fn inputs(&self) -> Option<&Inputs> {
        Some(match self {
            Self::Train(train) => &train.job.settings.inputs,
            Self::Eval(eval) => &eval.model.settings.inputs,
            Self::Render(render) => &render.model.settings.inputs,
            Self::Mesh(mesh) => &mesh.job.model.settings.inputs,
            Self::Plan(plan) => &plan.job.settings.inputs,
            Self::Inspect(inspect) => &inspect.settings.inputs,
            Self::Split(split) => &split.job.settings.inputs,
            _ => return None,
        })
    }
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
    /// What to make.
    pub job: jobs::Split,
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
    /// What to do.
    pub job: jobs::Train,
    /// Events as JSON lines on standard output.
    pub json: bool,
    /// No progress line.
    pub quiet: bool,
}

/// A mesh that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnMesh {
    /// Its file.
    pub path: PathBuf,
    /// Samples along each side of a pixel.
    pub samples: u32,
}

/// `kiln eval`
#[derive(Clone, Debug, PartialEq)]
pub struct Eval {
    /// What to evaluate.
    pub model: Model,
    /// A mesh to draw in its place; `model` then names a scene, or a run on it.
    pub mesh: Option<DrawnMesh>,
    /// No progress line.
    pub quiet: bool,
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
    /// A mesh to draw in its place; `model` then names a scene, or a run on it.
    pub mesh: Option<DrawnMesh>,
    /// No progress line.
    pub quiet: bool,
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
    /// What to make.
    pub job: jobs::Mesh,
    /// Stages as JSON lines on standard output.
    pub json: bool,
    /// No progress line.
    pub quiet: bool,
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
    /// What to plan.
    pub job: jobs::Plan,
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
    /// Open the device of this number and end, or die where the second is true: the trial of a driver.
    pub trial: Option<(usize, bool)>,
    /// Compile the passes of a training step and print what the drivers report about them.
    pub pipelines: bool,
    /// Machine-readable output.
    pub json: bool,
}
