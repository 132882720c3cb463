//! What can be typed. Flags that other 3DGS trainers use for the same thing are accepted as aliases.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Trains 3D Gaussian Splatting scenes inside a fixed amount of GPU memory.
#[derive(Debug, Parser)]
#[command(name = "kiln", version, subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Train a scene
    Train(TrainArgs),
    /// Evaluate a model of a run, or a PLY file, against the photographs of a scene
    Eval(EvalArgs),
    /// Render a model of a run, or a PLY file, into PNG files
    Render(RenderArgs),
    /// Print the memory table, the caps and the verdict, without training
    Plan(PlanArgs),
    /// Show runs in a browser: serve them from here, or write a folder for any web server
    View(ViewArgs),
    /// Show shipped profiles, recipes and plugins
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// Show the Vulkan devices and what is missing
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub(super) struct TrainArgs {
    #[command(flatten)]
    pub(super) settings: SettingsArgs,
    /// Resume from the run's latest checkpoint, or from CKPT
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
    /// Run folder, or any 3D Gaussian Splatting PLY file
    #[arg(value_name = "RUN|PLY")]
    pub(super) target: PathBuf,
    /// Scene folder; without it the one the run was trained on
    #[arg(value_name = "SCENE")]
    pub(super) scene: Option<String>,
    /// Iteration of the run's model; without it the last one saved
    #[arg(long, value_name = "N")]
    pub(super) iteration: Option<u32>,
    /// Set any key, for example dataset.resolution=4
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Accept a CPU driver (slow) [device.allow_cpu]
    #[arg(long, alias = "allow_cpu")]
    pub(super) allow_cpu: bool,
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
    /// Write figures and pictures into the run folder, in the place of its own evaluation
    #[arg(long)]
    pub(super) write: bool,
}

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Views: train, test, or a file in the shape of a run's cameras.json
    #[arg(long, value_name = "train|test|FILE", default_value = "test")]
    pub(super) cameras: String,
    /// Folder of the pictures
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) settings: SettingsArgs,
    /// Also print every setting, resolved
    #[arg(long)]
    pub(super) explain: bool,
}

#[derive(Debug, Args)]
pub(super) struct ViewArgs {
    /// Folder with runs, or one run
    #[arg(value_name = "DIR", default_value = "runs")]
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
    /// Scene folder
    #[arg(
        short = 's',
        long,
        alias = "source_path",
        value_name = "SCENE",
        conflicts_with = "scene",
        hide = true
    )]
    pub(super) source_path: Option<String>,
    /// Memory profile: auto, 8gb, 16gb, 24gb, cpu, or FILE.yaml
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Training recipe: default, mip, demo, or FILE.yaml
    #[arg(long, value_name = "NAME")]
    pub(super) recipe: Option<String>,
    /// Configuration file, over profile and recipe
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Set any key, for example memory.cap_gib=6.5
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Run folder [run.output]
    #[arg(short = 'o', short_alias = 'm', long, alias = "model_path", value_name = "RUN")]
    pub(super) output: Option<String>,
    /// Run name [run.name]
    #[arg(long, aliases = ["experiment_name", "experiment-name"])]
    pub(super) name: Option<String>,
    /// Image folder inside the scene [dataset.images]
    #[arg(short = 'i', long)]
    pub(super) images: Option<String>,
    /// Start from the points of a PLY file [init.path]
    #[arg(long, alias = "init_ply", value_name = "FILE")]
    pub(super) init_ply: Option<String>,
    /// Down-scaling rule [dataset.resolution]
    #[arg(short = 'r', long, allow_negative_numbers = true)]
    pub(super) resolution: Option<i32>,
    /// Hold out every 8th view (the default) [dataset.eval]
    #[arg(long, conflicts_with = "no_eval")]
    pub(super) eval: bool,
    /// Train on all views [dataset.eval]
    #[arg(long, alias = "no_eval")]
    pub(super) no_eval: bool,
    /// Highest SH degree, 0 to 3 [model.sh_degree]
    #[arg(long, alias = "sh_degree", value_name = "N")]
    pub(super) sh_degree: Option<u32>,
    /// White instead of black behind the scene [model.background]
    #[arg(short = 'w', long, alias = "white_background")]
    pub(super) white_background: bool,
    /// Variance of the 2D Mip filter [mip.kernel_size]
    #[arg(long, alias = "kernel_size", value_name = "PX2")]
    pub(super) kernel_size: Option<f32>,
    /// Stop after N steps; other schedules keep their numbers [schedule.iterations]
    #[arg(long, value_name = "N")]
    pub(super) iterations: Option<u32>,
    /// Multiply every step number by F
    #[arg(long, alias = "steps_scaler", value_name = "F")]
    pub(super) steps_scaler: Option<f64>,
    /// Evaluate after these iterations [schedule.test]
    #[arg(long, alias = "test_iterations", num_args = 1.., value_name = "N")]
    pub(super) test_iterations: Option<Vec<u32>>,
    /// Export after these iterations [schedule.save]
    #[arg(long, alias = "save_iterations", num_args = 1.., value_name = "N")]
    pub(super) save_iterations: Option<Vec<u32>>,
    /// Write a checkpoint after these iterations [schedule.checkpoint]
    #[arg(long, alias = "checkpoint_iterations", num_args = 1.., value_name = "N")]
    pub(super) checkpoint_iterations: Option<Vec<u32>>,
    /// Seed of every random choice [train.seed]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Scale of the training images [train.resolution_scale]
    #[arg(long, alias = "resolution_scale", value_name = "F")]
    pub(super) resolution_scale: Option<f32>,
    /// Accept a CPU driver (slow) [device.allow_cpu]
    #[arg(long, alias = "allow_cpu")]
    pub(super) allow_cpu: bool,
}
