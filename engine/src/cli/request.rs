//! Arguments to a request: what to do, with the inputs of the profile, before any file or device is touched.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser as _;

use super::args::{Cli, Command, DeviceArgs, ExportArgs, ModelArgs, ProfilesCommand, SettingsArgs};
use super::{UsageError, flags};
use crate::config::{AutoError, Budget, ConfigError, Inputs, Override, Profile, choose, extended_profile, resolve};
use crate::export::{Format, SpzVersion};
use crate::plugins::Subset;
use crate::scene::Split;
use crate::serve::Listen;

/// What the program is asked to do.
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
    /// Print the plan.
    Plan(Plan),
    /// Show runs in a browser.
    View(View),
    /// Show what is shipped.
    Profiles(Profiles),
    /// Show what something holds.
    Inspect(Inspect),
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

/// Shells that completions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
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
    /// Where to resume, when asked to.
    pub resume: Option<Resume>,
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

/// The model that `kiln eval` and `kiln render` work on.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Run folder or PLY file.
    pub target: PathBuf,
    /// Iteration of a run.
    pub iteration: Option<u32>,
    /// What the command line sets; the run's own settings lie below.
    pub settings: Settings,
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
}

/// `kiln render`
#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    /// What to render.
    pub model: Model,
    /// Which views of it.
    pub views: RenderViews,
    /// Depths instead of colours.
    pub depth: bool,
    /// Folder of the pictures.
    pub output: PathBuf,
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
}

/// `kiln plan`
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Inputs of the profile.
    pub settings: Settings,
    /// Also print every setting.
    pub explain: bool,
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

/// Parses arguments; the first is the program's name.
///
/// # Errors
/// [`UsageError`] for what cannot be understood, and for `--help` and `--version` with their text.
pub fn parse<I, S>(args: I) -> Result<Request, UsageError>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString>,
{
    let text = |arg: OsString| {
        arg.into_string().map_err(|arg| UsageError::NotText {
            shown: arg.to_string_lossy().into_owned(),
        })
    };
    let args: Vec<String> = args.into_iter().map(|arg| text(arg.into())).collect::<Result<_, _>>()?;
    if let Some((flag, instead)) = flags::find_refused(&args) {
        return Err(UsageError::Refused {
            flag: flag.to_owned(),
            instead,
        });
    }
    let cli = Cli::try_parse_from(args).map_err(|error| UsageError::Arguments(Box::new(error)))?;
    Ok(match cli.command {
        Command::Train(train) => {
            let resume = match (train.resume, train.start_checkpoint) {
                (Some(Some(path)), _) | (None, Some(path)) => Some(Resume::From(path)),
                (Some(None), _) => Some(Resume::Latest),
                (None, None) => None,
            };
            Request::Train(Train {
                settings: settings(train.settings)?,
                resume,
                json: train.json,
                quiet: train.quiet,
            })
        }
        Command::Eval(eval) => Request::Eval(Eval {
            model: model(eval.model)?,
            json: eval.json,
            write: eval.write,
        }),
        Command::Render(render) => Request::Render(Render {
            model: model(render.model)?,
            views: match (render.path, render.cameras.as_str()) {
                (Some(path), _) => RenderViews::Path(path),
                (None, "train") => RenderViews::Set(Split::Train),
                (None, "test") => RenderViews::Set(Split::Test),
                (None, file) => RenderViews::File(file.into()),
            },
            depth: render.depth,
            output: render.output,
        }),
        Command::Export(args) => Request::Export(export(args)?),
        Command::Plan(plan) => Request::Plan(Plan {
            settings: settings(plan.settings)?,
            explain: plan.explain,
        }),
        Command::View(view) => Request::View(View {
            folder: view.folder,
            action: match view.export {
                Some(output) => ViewAction::Export(output),
                None => ViewAction::Serve {
                    listen: Listen {
                        host: view.host,
                        port: view.port,
                        names: view.allow_host,
                        remote: view.allow_remote,
                    },
                    open: view.open,
                },
            },
        }),
        Command::Profiles(command) => Request::Profiles(match command {
            ProfilesCommand::List => Profiles::List,
            ProfilesCommand::Show { name, recipe } => Profiles::Show { name, recipe },
            ProfilesCommand::Schema => Profiles::Schema,
        }),
        Command::Inspect(inspect) => Request::Inspect(Inspect {
            target: inspect.target,
            settings: Settings {
                inputs: Inputs {
                    overrides: settings_of(inspect.set)?,
                    ..Inputs::default()
                },
                auto: false,
            },
            json: inspect.json,
        }),
        Command::Memory(memory) => Request::Memory(Memory {
            target: memory.target,
            json: memory.json,
        }),
        Command::Doctor(doctor) => Request::Doctor(Doctor { json: doctor.json }),
        Command::Flags => Request::Flags,
        Command::Completions { shell } => Request::Completions(shell),
        Command::Man { command } => Request::Man(command),
    })
}

fn settings(args: SettingsArgs) -> Result<Settings, UsageError> {
    let mut overrides = Vec::new();
    let mut set = |key: &str, flag: &str, value: Option<String>| {
        overrides.extend(value.map(|value| from_flag(key, flag, value)));
    };
    set("dataset.path", "SCENE", args.scene.or(args.source_path).map(text));
    set("run.output", "--output", args.output.map(text));
    set("run.name", "--name", args.name.map(text));
    set("dataset.images", "--images", args.images.map(text));
    if let Some(path) = args.init_ply {
        set("init.kind", "--init-ply", Some("ply".to_owned()));
        set("init.path", "--init-ply", Some(text(path)));
    }
    set("dataset.resolution", "--resolution", args.resolution.map(number));
    set("dataset.eval", "--eval", args.eval.then(|| number(true)));
    set("dataset.eval", "--no-eval", args.no_eval.then(|| number(false)));
    set("model.sh_degree", "--sh-degree", args.sh_degree.map(number));
    set(
        "model.background",
        "--white-background",
        args.white_background.then(|| "white".to_owned()),
    );
    set(
        "model.background",
        "--random-background",
        args.random_background.then(|| "random".to_owned()),
    );
    set("mip.kernel_size", "--kernel-size", args.kernel_size.map(number));
    set("schedule.iterations", "--iterations", args.iterations.map(number));
    set("schedule.test", "--test-iterations", args.test_iterations.map(list));
    set("schedule.save", "--save-iterations", args.save_iterations.map(list));
    set(
        "schedule.checkpoint",
        "--checkpoint-iterations",
        args.checkpoint_iterations.map(list),
    );
    set("train.seed", "--seed", args.seed.map(number));
    set(
        "train.resolution_scale",
        "--resolution-scale",
        args.resolution_scale.map(number),
    );
    set(
        "memory.max_gaussians",
        "--max-gaussians",
        args.max_gaussians.map(number),
    );
    set("dataset.residency", "--data-device", args.data_device.map(number));
    set(
        "dataset.residency",
        "--low-dram",
        args.low_dram.then(|| "stream".to_owned()),
    );
    set(
        "dataset.residency",
        "--high-dram",
        args.high_dram.then(|| "host".to_owned()),
    );
    set("eval.lpips", "--enable-lpips", args.enable_lpips.map(number));
    set("mip.ray_jitter", "--ray-jitter", args.ray_jitter.then(|| number(true)));
    set(
        "mip.resample_gt_image",
        "--resample-gt-image",
        args.resample_gt_image.then(|| number(true)),
    );
    set("debug.validation", "--debug", args.debug.then(|| number(true)));
    overrides.extend(device(args.device));
    overrides.extend(settings_of(args.set)?);
    let auto = args.profile.as_deref() == Some("auto");
    Ok(Settings {
        inputs: Inputs {
            profile: args.profile.filter(|_| !auto),
            recipe: args.recipe,
            file: args.config,
            overrides,
            steps_scaler: args.steps_scaler,
        },
        auto,
    })
}

fn model(args: ModelArgs) -> Result<Model, UsageError> {
    let ModelArgs {
        target,
        scene,
        iteration,
        set,
        device: device_args,
        quiet,
    } = args;
    let mut overrides = Vec::new();
    overrides.extend(scene.map(|scene| from_flag("dataset.path", "SCENE", text(scene))));
    overrides.extend(device(device_args));
    overrides.extend(settings_of(set)?);
    Ok(Model {
        target,
        iteration,
        settings: Settings {
            inputs: Inputs {
                overrides,
                ..Inputs::default()
            },
            auto: false,
        },
        quiet,
    })
}

fn export(args: ExportArgs) -> Result<Export, UsageError> {
    let named = args.format.map(|name| match name {
        FormatName::Ply => Format::Ply,
        FormatName::CompressedPly => Format::CompressedPly,
        FormatName::Spz => Format::Spz(SpzVersion::V3),
        FormatName::Glb => Format::Glb,
    });
    let format = named.or_else(|| args.output.as_deref().and_then(Format::of_name));
    let format = match (format, args.spz_version) {
        (None, _) => return Err(UsageError::NoFormat { output: args.output }),
        (Some(Format::Spz(usual)), version) => Format::Spz(version.and_then(SpzVersion::of).unwrap_or(usual)),
        (Some(format), None) => format,
        (Some(format), Some(_)) => return Err(UsageError::NotSpz { format: format.name() }),
    };
    if format == Format::Ply && args.output.is_none() {
        return Err(UsageError::PlyWithoutName);
    }
    Ok(Export {
        target: args.target,
        iteration: args.iteration,
        format,
        output: args.output,
        subset: Subset {
            max_splats: args.max_splats,
            sh_degree: args.sh_degree,
            crop: args.crop,
        },
        quiet: args.quiet,
    })
}

fn from_flag(key: &str, flag: &str, value: String) -> Override {
    Override {
        key: key.to_owned(),
        value,
        flag: flag.to_owned(),
    }
}

fn device(args: DeviceArgs) -> impl Iterator<Item = Override> {
    let asked = args.device.map(|device| match device.parse::<u32>() {
        // A uuid of digits alone is far longer than any number of devices.
        Ok(index) if device.len() < 10 => number(index),
        _ => text(device),
    });
    let asked = asked.map(|value| from_flag("device.index", "--device", value));
    let allowed = args
        .allow_cpu
        .then(|| from_flag("device.allow_cpu", "--allow-cpu", number(true)));
    asked.into_iter().chain(allowed)
}

/// What `--set` was given.
fn settings_of(set: Vec<String>) -> Result<Vec<Override>, UsageError> {
    set.into_iter()
        .map(|setting| match split_setting(&setting) {
            Some((key, value)) => Ok(from_flag(key, "--set", value.to_owned())),
            None => Err(UsageError::SetForm { found: setting }),
        })
        .collect()
}

/// `a.b=v` with a path of plain key names.
fn split_setting(setting: &str) -> Option<(&str, &str)> {
    let (key, value) = setting.split_once('=')?;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // The path length is bounded like the nesting of files.
    (key.split('.').all(plain) && key.split('.').count() <= 16).then_some((key, value))
}

/// A text as YAML. JSON's quoting is YAML's double quoting.
fn text(value: String) -> String {
    serde_json::Value::from(value).to_string()
}

fn number(value: impl ToString) -> String {
    value.to_string()
}

fn list(values: Vec<u32>) -> String {
    let values: Vec<String> = values.iter().map(u32::to_string).collect();
    format!("[{}]", values.join(", "))
}

#[cfg(test)]
mod tests;
