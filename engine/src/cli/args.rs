//! What can be typed. Flags that other 3DGS trainers use for the same thing are accepted as aliases.

mod projects;

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand};

use super::examples;
use super::flags::{DeviceFlags, ModelFlags, SettingFlags};
use kiln_config::plugins::is_box;
use kiln_config::{PROFILES, RECIPES, Shipped};
pub(super) use projects::{MergeArgs, SplitArgs, StatusArgs};

/// Trains 3D Gaussian Splatting scenes inside a fixed amount of GPU memory.
#[derive(Debug, Parser)]
#[command(
    name = "kiln",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    override_usage = "kiln <COMMAND>"
)]
pub(super) struct Cli {
    /// Under WSL2: hand the command over to `kiln.exe`, which uses the card by its vendor's driver
    #[arg(long, global = true)]
    pub(super) windows: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Train a scene
    #[command(after_help = examples::TRAIN)]
    Train(TrainArgs),
    /// Evaluate a model of a run, or a model file, against the photographs of a scene
    #[command(after_help = examples::EVAL)]
    Eval(EvalArgs),
    /// Render a model of a run, or a model file, into PNG files
    #[command(after_help = examples::RENDER)]
    Render(RenderArgs),
    /// Write a model of a run, or a model file, in a format for viewers
    #[command(after_help = examples::EXPORT)]
    Export(ExportArgs),
    /// Make a triangle mesh of a model of a run, or of a model file
    #[command(after_help = examples::MESH)]
    Mesh(MeshArgs),
    /// Print the memory table, the caps and the verdict, without training
    #[command(after_help = examples::PLAN)]
    Plan(PlanArgs),
    /// Show runs in a browser: serve them from here, or write a folder for any web server
    #[command(after_help = examples::VIEW)]
    View(ViewArgs),
    /// Show shipped profiles, recipes and plugins
    #[command(subcommand, after_help = examples::PROFILES)]
    Profiles(ProfilesCommand),
    /// Show what a scene, a model file or a run holds
    #[command(after_help = examples::INSPECT)]
    Inspect(InspectArgs),
    /// Cut a scene into blocks that each fit a memory profile
    #[command(after_help = examples::SPLIT)]
    Split(SplitArgs),
    /// Make one model of the trained blocks of a project
    #[command(after_help = examples::MERGE)]
    Merge(MergeArgs),
    /// Show how far the blocks of a project are
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Show what memory a run took, and what used it
    #[command(after_help = examples::MEMORY)]
    Memory(MemoryArgs),
    /// Show the Vulkan devices and what is missing
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Show what the flags of other trainers mean here
    #[command(after_help = examples::FLAGS)]
    Flags,
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// bash, zsh or fish
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = examples::MAN)]
    Man {
        /// Command to print the page of; without it that of the program
        #[arg(value_parser = command_name)]
        command: Option<String>,
        /// Write the pages of the program and of all commands into this folder instead
        #[arg(short, long, value_name = "FOLDER", conflicts_with = "command")]
        output: Option<PathBuf>,
    },
}

/// Shells that completions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
}

/// Formats as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FormatName {
    /// PLY with the 3D filter folded in
    Ply,
    /// PLY in chunks of 256 with 16 bytes a Gaussian, and a byte a further SH coefficient
    CompressedPly,
    /// SPZ
    Spz,
    /// Binary glTF with KHR_gaussian_splatting
    Glb,
    /// SOG, images of PlayCanvas' format in an archive
    Sog,
    /// Levels of detail in chunks of SOG, a folder that viewers stream
    StreamedSog,
    /// 3D Tiles 1.1, levels of detail in GLB files with SPZ, a folder
    #[value(name = "3d-tiles")]
    Tiles,
}

#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// Scene folder, run folder, any 3D Gaussian Splatting PLY file, or an SPZ, SOG or GLB file
    #[arg(value_name = "SCENE|RUN|FILE")]
    pub(super) target: PathBuf,
    /// Set any key, for example dataset.resolution=4
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Machine-readable output
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MemoryArgs {
    /// Run folder, a folder of runs, or `latest`: the newest below `runs`
    #[arg(value_name = "RUN|latest", default_value = super::find::LATEST)]
    pub(super) target: PathBuf,
    /// Machine-readable output
    #[arg(long)]
    pub(super) json: bool,
}

fn command_name(name: &str) -> Result<String, String> {
    let known = Cli::command();
    let found = known.get_subcommands().any(|command| command.get_name() == name);
    if found {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = known.get_subcommands().map(clap::Command::get_name).collect();
    Err(format!("the commands are {}", names.join(", ")))
}

#[derive(Debug, Args)]
pub(super) struct TrainArgs {
    #[command(flatten)]
    pub(super) settings: SettingsArgs,
    /// Go on from the run's latest checkpoint, or from CKPT; `--resume -o RUN` alone takes scene and settings from the run
    #[arg(long, value_name = "CKPT", num_args = 0..=1, require_equals = true)]
    pub(super) resume: Option<Option<PathBuf>>,
    /// Same as --resume=FILE
    #[arg(
        long,
        alias = "start_checkpoint",
        value_name = "FILE",
        conflicts_with = "resume",
        hide = true
    )]
    pub(super) start_checkpoint: Option<PathBuf>,
    /// Delete the run of the same scene that is in the output folder
    #[arg(long, conflicts_with_all = ["resume", "start_checkpoint"])]
    pub(super) overwrite: bool,
    /// SCENE is a folder of photos: find the camera poses with the program `colmap` first, into RUN-colmap
    #[arg(long)]
    pub(super) colmap: bool,
    /// Make a mesh of the model in the end, as `kiln mesh` does
    #[arg(long)]
    pub(super) mesh: bool,
    /// Print events as JSON, one object a line, on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// No progress line
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Which model, shared by `eval` and `render`.
#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Run folder, project of blocks, or any file of Gaussians: PLY, SPZ, SOG or GLB; with --mesh the scene's folder, or a run on it
    #[arg(value_name = "RUN|FILE", required_unless_present = "model_path")]
    pub(super) target: Option<PathBuf>,
    /// The same as a flag; the scene is then `-s`
    #[arg(short, long, alias = "model_path", value_name = "RUN|FILE", conflicts_with_all = ["target", "scene"])]
    pub(super) model_path: Option<PathBuf>,
    /// Scene folder; without it the one the run was trained on
    #[arg(value_name = "SCENE")]
    pub(super) scene: Option<String>,
    /// Iteration of the run's model; without it the last one saved
    #[arg(long, value_name = "N")]
    pub(super) iteration: Option<u32>,
    /// Draw a mesh in the place of a model: .ply with colours of vertices, .obj or .glb with its texture
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "iteration"])]
    pub(super) mesh: Option<PathBuf>,
    /// Samples along each side of a pixel of a mesh, 1 to 8; without it 4
    #[arg(long, value_name = "N", requires = "mesh", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(super) samples: Option<u32>,
    /// Set any key, for example dataset.resolution=4
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) flags: ModelFlags,
    #[command(flatten)]
    pub(super) device: DeviceArgs,
    /// No progress line
    #[arg(short, long)]
    pub(super) quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Print the figures of every view as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Write figures and pictures into the run folder, in the place of its own evaluation; of a project, the figures beside
    /// the merged model
    #[arg(long, conflicts_with = "mesh")]
    pub(super) write: bool,
    /// Also hold the mesh against a truth: a mesh or points in a file, or `solids` for the synthetic scene's own
    #[arg(long, value_name = "FILE|solids", requires = "mesh")]
    pub(super) truth: Option<PathBuf>,
    /// Distances in scene units for precision and recall; without them 0.002 and 0.005 of the truth's diagonal
    #[arg(long, value_name = "D,D", requires = "truth", value_delimiter = ',', value_parser = distance)]
    pub(super) distances: Vec<f64>,
}

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Views: train, test, or a file in the shape of a run's cameras.json
    #[arg(long, value_name = "train|test|FILE", default_value = "test")]
    pub(super) cameras: String,
    /// Frames of a camera path, see docs/guide/camera-paths.md
    #[arg(long, value_name = "FILE", conflicts_with = "cameras")]
    pub(super) path: Option<PathBuf>,
    /// Write depths as 16-bit pictures, and their scales in depth.json: where a pixel's ray meets the blended plane of the Gaussians, or
    /// what KIND says
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "plane",
        conflicts_with = "samples"
    )]
    pub(super) depth: Option<DepthName>,
    /// Write normals as colours, in NAME_normal.png
    #[arg(long, conflicts_with = "mesh")]
    pub(super) normals: bool,
    /// Folder of the pictures
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct MeshArgs {
    /// Run folder, project of blocks, or any file of Gaussians: PLY, SPZ, SOG or GLB
    #[arg(value_name = "RUN|FILE")]
    pub(super) target: PathBuf,
    /// Scene folder, whose training views depth is taken from; without it the one the run was trained on
    #[arg(long, value_name = "DIR")]
    pub(super) scene: Option<String>,
    /// Iteration of the run's model; without it the last one saved
    #[arg(long, value_name = "N")]
    pub(super) iteration: Option<u32>,
    /// Folder of the files; without it `mesh` in the run folder, or beside the file, a project's merged one too
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// How the surface is found [mesh.method]
    #[arg(long, value_name = "METHOD", value_enum)]
    pub(super) method: Option<MeshMethodName>,
    /// Files to write: ply, obj, glb, with commas between them [mesh.formats]
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_enum)]
    pub(super) format: Vec<MeshFormatName>,
    /// Which way is up in the files
    #[arg(long, value_name = "WAY", value_enum, default_value_t = UpName::Scene)]
    pub(super) up: UpName,
    /// Device memory to use at most, for example 6GiB or 800MiB [memory.cap_gib]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) vram: Option<f64>,
    /// Print what would be allocated and end
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print stages as JSON, one object a line, on standard output
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) json: bool,
    /// Set any key, for example mesh.voxel=0.01
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) flags: ModelFlags,
    #[command(flatten)]
    pub(super) device: DeviceArgs,
    /// No progress line
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Which way is up in the files of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum UpName {
    /// That of the scene's coordinates, which `kiln eval` and `--init-mesh` need; -y in most COLMAP scenes
    Scene,
    /// y, for Blender, game engines and browsers: the scene turned by half a turn about x
    Y,
}

/// What the depth of a pixel is, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DepthName {
    /// Where the pixel's ray meets the blended plane of the Gaussians
    Plane,
    /// Where half the light is blocked
    Median,
    /// Mean depth of the Gaussians' centres by their blending weights
    Expected,
}

/// Ways to a mesh as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum MeshMethodName {
    /// Depth of all views into voxels
    Fusion,
    /// Screened Poisson reconstruction through a level of the model's density
    Poisson,
    /// The same through the depths of pixels
    #[value(name = "poisson_depths", alias = "poisson-depths")]
    PoissonDepths,
    /// As poisson, with nothing cut off: closed, for printing
    Closed,
    /// SuGaR's: poisson in two parts, with vertices on points
    Sugar,
    /// The mesh that the model is bound to, as its run left it
    Bound,
}

impl MeshMethodName {
    /// The word in `mesh.method`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fusion => "fusion",
            Self::Poisson => "poisson",
            Self::PoissonDepths => "poisson_depths",
            Self::Closed => "closed",
            Self::Sugar => "sugar",
            Self::Bound => "bound",
        }
    }
}

/// Formats of meshes as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MeshFormatName {
    /// Binary PLY
    Ply,
    /// Wavefront OBJ
    Obj,
    /// Binary glTF
    Glb,
}

impl MeshFormatName {
    /// The word in `mesh.formats`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::Obj => "obj",
            Self::Glb => "glb",
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Run folder, project of blocks, or any file of Gaussians: PLY, SPZ, SOG or GLB
    #[arg(value_name = "RUN|FILE")]
    pub(super) target: PathBuf,
    /// Iteration of the run's model; without it the last one saved
    #[arg(long, value_name = "N")]
    pub(super) iteration: Option<u32>,
    /// Format of the file; without it the ending of the output's name decides
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<FormatName>,
    /// File to write; without it a file beside the model
    #[arg(short, long, alias = "out", value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Most Gaussians; those that contribute least are left out
    #[arg(long, alias = "max_splats", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_splats: Option<u32>,
    /// Highest SH degree, 0 to 3
    #[arg(long, alias = "sh_degree", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=3))]
    pub(super) sh_degree: Option<u32>,
    /// Box that the centres of Gaussians must lie in, in the scene's coordinates: its smallest and its largest corner
    #[arg(long, value_name = "X,Y,Z,X,Y,Z", allow_hyphen_values = true, value_parser = crop)]
    pub(super) crop: Option<[f64; 6]>,
    /// Version of SPZ: 3, 2 for readers from before 2025, or 4, which new ones read
    #[arg(long, alias = "spz_version", value_name = "N", value_parser = clap::value_parser!(u32).range(2..=4))]
    pub(super) spz_version: Option<u32>,
    /// Print nothing but the path of the file
    #[arg(short, long)]
    pub(super) quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) settings: SettingsArgs,
    /// Also print every tensor with its size, place and lifetime
    #[arg(long)]
    pub(super) explain: bool,
    /// One JSON object instead of the table
    #[arg(long, conflicts_with_all = ["explain", "mesh"])]
    pub(super) json: bool,
    /// Also print what a mesh in the end takes
    #[arg(long)]
    pub(super) mesh: bool,
}

#[derive(Debug, Args)]
pub(super) struct ViewArgs {
    /// Folder with runs, one run, a folder of Streamed SOG, or a model's file
    #[arg(value_name = "PATH", default_value = "runs")]
    pub(super) folder: PathBuf,
    /// Address to listen on; other machines reach anything but loopback
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8137)]
    pub(super) port: u16,
    /// Let other machines connect; whoever has the printed address can read the runs
    #[arg(long)]
    pub(super) allow_remote: bool,
    /// Also answer to this host name, for example behind a proxy
    #[arg(long, value_name = "NAME")]
    pub(super) allow_host: Vec<String>,
    /// Open the address in a browser
    #[arg(long)]
    pub(super) open: bool,
    /// Write the page and the runs into a folder for any web server, and end
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["host", "port", "allow_remote", "allow_host", "open"])]
    pub(super) export: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProfilesCommand {
    /// List profiles, recipes and plugins
    List,
    /// Print every setting of a profile, a recipe or a file, resolved
    Show {
        /// Profile, recipe or FILE.yaml
        name: String,
        /// Recipe to show a profile with
        #[arg(long)]
        recipe: Option<String>,
    },
    /// Print the JSON Schema of configuration files
    Schema,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Open this device and end: the trial of a driver that may die
    #[arg(long, value_name = "N", hide = true)]
    pub(super) open: Option<usize>,
    /// The fault of a driver that dies
    #[arg(long, hide = true, requires = "open")]
    pub(super) dies: bool,
    /// Compile the passes of a training step and print the drivers' figures: registers, shared memory, spills
    #[arg(long, conflicts_with = "json")]
    pub(super) pipelines: bool,
    /// Machine-readable output
    #[arg(long)]
    pub(super) json: bool,
}

/// Where the settings come from; shared by `train` and `plan`.
#[derive(Debug, Args)]
pub(super) struct SettingsArgs {
    /// Scene folder
    #[arg(value_name = "SCENE")]
    pub(super) scene: Option<String>,
    /// Memory profile
    #[arg(long, value_name = "NAME", help = format!("Memory profile: auto, {}", names(&PROFILES)),
        value_parser = ShippedName(&PROFILES), hide_possible_values = true)]
    pub(super) profile: Option<String>,
    /// Training recipe
    #[arg(long, value_name = "NAME", help = format!("Training recipe: {}", names(&RECIPES)),
        value_parser = ShippedName(&RECIPES), hide_possible_values = true)]
    pub(super) recipe: Option<String>,
    /// Configuration file, over profile and recipe
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Set any key, for example memory.cap_gib=6.5
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Multiply every step number by F
    #[arg(long, alias = "steps_scaler", value_name = "F")]
    pub(super) steps_scaler: Option<f64>,
    #[command(flatten)]
    pub(super) flags: SettingFlags,
    #[command(flatten)]
    pub(super) device: DeviceArgs,
}

/// Which device, shared by every command that uses one.
#[derive(Debug, Args)]
pub(super) struct DeviceArgs {
    #[command(flatten)]
    pub(super) flags: DeviceFlags,
    /// What is made to go wrong, for tests
    #[arg(long, value_name = "KEY=VALUE", hide = true)]
    pub(super) fault: Vec<String>,
}

fn distance(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|d: &f64| d.is_finite() && *d >= 0.0);
    number.ok_or_else(|| "a length in scene units is expected, for example 0.01".to_owned())
}

/// A size with its unit, GiB.
fn size(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [
        ("gib", 1.0),
        ("gb", 1e9 / 1073741824.0),
        ("mib", 1.0 / 1024.0),
        ("mb", 1e6 / 1073741824.0),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let size = UNITS.iter().find_map(|(unit, gib)| {
        let number: f64 = lower.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * gib)
    });
    size.filter(|gib| *gib > 0.0 && gib.is_finite())
        .ok_or_else(|| "a size with its unit is expected, for example 6GiB, 8GB or 800MiB".to_owned())
}

fn crop(text: &str) -> Result<[f64; 6], String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let corners = numbers.and_then(|numbers| <[f64; 6]>::try_from(numbers).ok());
    corners.filter(is_box).ok_or_else(|| {
        "six numbers are expected, the smallest x,y,z and the largest, for example -1,-1,-1,1,1,1".to_owned()
    })
}

/// Takes any text, because files of people are named too, and offers the shipped names to a shell's completion.
#[derive(Clone, Copy, Debug)]
struct ShippedName(&'static [Shipped]);

impl TypedValueParser for ShippedName {
    type Value = String;

    fn parse_ref(&self, cmd: &clap::Command, arg: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = self.0.iter().map(|shipped| PossibleValue::new(shipped.short_name()));
        Some(Box::new(names))
    }
}

/// Names of shipped files for a line of help.
fn names(shipped: &[Shipped]) -> String {
    let names: Vec<&str> = shipped.iter().map(Shipped::short_name).collect();
    format!("{}, or FILE.yaml", names.join(", "))
}
