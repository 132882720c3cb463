//! Arguments to a request.

use std::ffi::OsString;

use clap::Parser as _;

use super::args::{
    Cli, Command, DepthName, EvalArgs, ExportArgs, FormatName, InspectArgs, MergeArgs, MeshArgs, ModelArgs, PlanArgs,
    ProfilesCommand, RenderArgs, SettingsArgs, SplitArgs, TrainArgs, UpName, ViewArgs,
};
use super::request::{
    Doctor, DrawnMesh, Eval, Export, Inspect, Memory, Merge, Mesh, Plan, Profiles, Render, RenderViews, Request,
    SplitScene, Status, Train, View, ViewAction,
};
use super::{UsageError, flags, windows};
use crate::export::{Format, SpzVersion};
use crate::jobs::{self, Model, Resume, Settings};
use crate::mesh::{Layers, Up};
use crate::plan::Faults;
use crate::project::{MergeRequest, SplitOptions};
use crate::run::Drawn;
use crate::serve::Listen;
use kiln_config::plugins::Subset;
use kiln_config::{Inputs, Override};
use kiln_kernels::surface_depth::DepthKind;
use kiln_scene::Split;

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
    let refused = flags::find_refused(&args);
    if !refused.is_empty() {
        return Err(UsageError::Refused { flags: refused });
    }
    let command: Vec<String> = args.iter().skip(1).cloned().collect();
    let cli = Cli::try_parse_from(args).map_err(|error| UsageError::Arguments(Box::new(error)))?;
    // On Windows it is this program that the flag means.
    if cli.windows && !cfg!(windows) {
        let is_other = |word: &String| word != windows::FLAG;
        return Ok(Request::Windows(command.into_iter().filter(is_other).collect()));
    }
    windows::refuse_output_elsewhere(&command)?;
    request(cli.command, command)
}

/// The request of words without the program's name, wherever its paths lie; none for what cannot be understood.
pub(super) fn request_of(words: &[String]) -> Option<Request> {
    let name = String::from("kiln");
    let cli = Cli::try_parse_from([&name].into_iter().chain(words)).ok()?;
    request(cli.command, words.to_vec()).ok()
}

/// `words` are for the index of the run.
fn request(command: Command, words: Vec<String>) -> Result<Request, UsageError> {
    Ok(match command {
        Command::Train(args) => Request::Train(train(args, words)?),
        Command::Eval(args) => Request::Eval(eval(args)?),
        Command::Render(args) => Request::Render(render(args)?),
        Command::Export(args) => Request::Export(export(args)?),
        Command::Mesh(args) => Request::Mesh(mesh(args)?),
        Command::Plan(args) => Request::Plan(plan(args)?),
        Command::View(args) => Request::View(view(args)),
        Command::Profiles(command) => Request::Profiles(profiles(command)),
        Command::Inspect(args) => Request::Inspect(inspect(args)?),
        Command::Split(args) => Request::Split(split(args)?),
        Command::Merge(args) => Request::Merge(merge(args)?),
        Command::Status(status) => Request::Status(Status {
            project: status.project,
            json: status.json,
        }),
        Command::Memory(memory) => Request::Memory(Memory {
            target: memory.target,
            json: memory.json,
        }),
        Command::Doctor(doctor) => Request::Doctor(Doctor {
            trial: doctor.open.map(|number| (number, doctor.dies)),
            pipelines: doctor.pipelines,
            json: doctor.json,
        }),
        Command::Flags => Request::Flags,
        Command::Completions { shell } => Request::Completions(shell),
        Command::Man {
            output: Some(folder), ..
        } => Request::ManPages(folder),
        Command::Man { command, .. } => Request::Man(command),
    })
}

/// `command` is for the index of the run.
fn train(args: TrainArgs, command: Vec<String>) -> Result<Train, UsageError> {
    let resume = match (args.resume, args.start_checkpoint) {
        (Some(Some(path)), _) | (None, Some(path)) => Some(Resume::From(path)),
        (Some(None), _) => Some(Resume::Latest),
        (None, None) => None,
    };
    Ok(Train {
        job: jobs::Train {
            faults: Faults::read(&args.settings.device.fault)?,
            settings: settings(args.settings)?,
            resume,
            overwrite: args.overwrite,
            colmap: args.colmap,
            mesh: args.mesh,
            command,
        },
        json: args.json,
        quiet: args.quiet,
    })
}

fn eval(args: EvalArgs) -> Result<Eval, UsageError> {
    Ok(Eval {
        mesh: drawn(&args.model),
        quiet: args.model.quiet,
        model: model(args.model)?,
        json: args.json,
        write: args.write,
        truth: args.truth,
        distances: args.distances,
    })
}

fn render(args: RenderArgs) -> Result<Render, UsageError> {
    Ok(Render {
        mesh: drawn(&args.model),
        quiet: args.model.quiet,
        model: model(args.model)?,
        views: match (args.path, args.cameras.as_str()) {
            (Some(path), _) => RenderViews::Path(path),
            (None, "train") => RenderViews::Set(Split::Train),
            (None, "test") => RenderViews::Set(Split::Test),
            (None, file) => RenderViews::File(file.into()),
        },
        layers: Layers {
            depth: args.depth.map(|depth| match depth {
                DepthName::Plane => DepthKind::Plane,
                DepthName::Median => DepthKind::Median,
                DepthName::Expected => DepthKind::Expected,
            }),
            normals: args.normals,
        },
        output: args.output,
    })
}

fn plan(args: PlanArgs) -> Result<Plan, UsageError> {
    Ok(Plan {
        job: jobs::Plan {
            faults: Faults::read(&args.settings.device.fault)?,
            settings: settings(args.settings)?,
        },
        explain: args.explain,
        json: args.json,
        mesh: args.mesh,
    })
}

fn view(args: ViewArgs) -> View {
    View {
        folder: args.folder,
        action: match args.export {
            Some(output) => ViewAction::Export(output),
            None => ViewAction::Serve {
                listen: Listen {
                    host: args.host,
                    port: args.port,
                    names: args.allow_host,
                    remote: args.allow_remote,
                },
                open: args.open,
            },
        },
    }
}

fn profiles(command: ProfilesCommand) -> Profiles {
    match command {
        ProfilesCommand::List => Profiles::List,
        ProfilesCommand::Show { name, recipe } => Profiles::Show { name, recipe },
        ProfilesCommand::Schema => Profiles::Schema,
    }
}

fn inspect(args: InspectArgs) -> Result<Inspect, UsageError> {
    Ok(Inspect {
        target: args.target,
        settings: Settings {
            inputs: Inputs {
                overrides: settings_of(args.set)?,
                ..Inputs::default()
            },
            auto: false,
        },
        json: args.json,
    })
}

fn split(args: SplitArgs) -> Result<SplitScene, UsageError> {
    Ok(SplitScene {
        job: jobs::Split {
            faults: Faults::read(&args.settings.device.fault)?,
            settings: settings(args.settings)?,
            options: SplitOptions {
                gaussians: args.gaussians,
                blocks: args.blocks.0,
                margin: args.margin,
                min_views: args.min_views,
                max_views: args.max_views,
                up: args.up,
            },
            plan_only: args.plan_only,
        },
        json: args.json,
    })
}

fn merge(args: MergeArgs) -> Result<Merge, UsageError> {
    let other = args
        .output
        .as_ref()
        .filter(|path| Format::of_name(path) != Some(Format::Ply));
    if let Some(output) = other {
        return Err(UsageError::MergedIsPly {
            output: output.clone(),
            project: args.project,
        });
    }
    Ok(Merge {
        project: args.project,
        request: MergeRequest {
            output: args.output,
            memory_mib: args.memory_mib,
        },
        json: args.json,
        quiet: args.quiet,
    })
}

fn settings(args: SettingsArgs) -> Result<Settings, UsageError> {
    let scene = args.scene.map(|scene| scene_of(&scene));
    let mut overrides: Vec<Override> = scene
        .into_iter()
        .chain(args.flags.0)
        .chain(args.device.flags.0)
        .collect();
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

/// The mesh that is drawn in the place of a model.
fn drawn(args: &ModelArgs) -> Option<DrawnMesh> {
    args.mesh.as_ref().map(|path| DrawnMesh {
        path: path.clone(),
        samples: args.samples.unwrap_or(Drawn::SAMPLES),
    })
}

fn model(args: ModelArgs) -> Result<Model, UsageError> {
    let faults = Faults::read(&args.device.fault)?;
    let scene = args.scene.map(|scene| scene_of(&scene)).into_iter();
    let mut overrides: Vec<Override> = scene.chain(args.flags.0).chain(args.device.flags.0).collect();
    overrides.extend(settings_of(args.set)?);
    let inputs = Inputs {
        overrides,
        ..Inputs::default()
    };
    Ok(Model {
        // The parser has seen to it that one of them is given.
        target: args.target.or(args.model_path).unwrap_or_default(),
        iteration: args.iteration,
        settings: Settings { inputs, auto: false },
        faults,
    })
}

fn mesh(args: MeshArgs) -> Result<Mesh, UsageError> {
    let method = args
        .method
        .map(|method| Override::new("mesh.method", method.name().to_owned(), "--method"));
    let formats: Vec<&str> = args.format.iter().map(|format| format.name()).collect();
    let formats =
        (!formats.is_empty()).then(|| Override::new("mesh.formats", format!("[{}]", formats.join(", ")), "--format"));
    let cap = args
        .vram
        .map(|gib| Override::new("memory.cap_gib", gib.to_string(), "--vram"));
    let mut model = model(ModelArgs {
        target: Some(args.target),
        model_path: None,
        scene: args.scene,
        iteration: args.iteration,
        mesh: None,
        samples: None,
        set: args.set,
        flags: args.flags,
        device: args.device,
        quiet: args.quiet,
    })?;
    let overrides = method.into_iter().chain(formats).chain(cap);
    model.settings.inputs.overrides.extend(overrides);
    let up = match args.up {
        UpName::Scene => Up::Scene,
        UpName::Y => Up::Y,
    };
    Ok(Mesh {
        job: jobs::Mesh {
            model,
            output: args.output,
            up,
            dry_run: args.dry_run,
        },
        json: args.json,
        quiet: args.quiet,
    })
}

fn export(args: ExportArgs) -> Result<Export, UsageError> {
    let named = args.format.map(|name| match name {
        FormatName::Ply => Format::Ply,
        FormatName::CompressedPly => Format::CompressedPly,
        FormatName::Spz => Format::Spz(SpzVersion::V3),
        FormatName::Glb => Format::Glb,
        FormatName::Sog => Format::Sog,
        FormatName::StreamedSog => Format::StreamedSog,
        FormatName::Tiles => Format::Tiles,
    });
    let of_name = args.output.as_deref().and_then(Format::of_name);
    if let (Some(format), Some(other), Some(output)) = (named, of_name, &args.output)
        && format.name() != other.name()
        && (format, other) != (Format::CompressedPly, Format::Ply)
    {
        return Err(UsageError::OtherEnding {
            output: output.clone(),
            ending: other.name(),
            format: format.name(),
        });
    }
    let format = named.or(of_name);
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
            // The file says it.
            origin: [0.0; 3],
        },
        quiet: args.quiet,
    })
}

/// The scene's folder.
pub(super) fn scene_of(folder: &str) -> Override {
    Override::text("dataset.path", folder, "SCENE")
}

/// What `--set` was given.
fn settings_of(set: Vec<String>) -> Result<Vec<Override>, UsageError> {
    set.into_iter()
        .map(|setting| match split_setting(&setting) {
            // What YAML takes for a comment was typed as a value.
            Some((key, value)) if value.starts_with('#') => Ok(Override::text(key, value, "--set")),
            Some((key, value)) => Ok(Override::new(key, yaml_of(value), "--set")),
            None => Err(UsageError::SetForm { found: setting }),
        })
        .collect()
}

/// A value as YAML. A path of Windows in double quotes is meant as it stands: `\t` of `"C:\temp"` is no tab.
fn yaml_of(value: &str) -> String {
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let of_drive = inside.filter(|text| {
        let bytes = text.as_bytes();
        matches!(bytes, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic()) && !text.contains(r"\\")
    });
    of_drive.map_or_else(|| value.to_owned(), kiln_config::quoted)
}

/// `a.b=v` with a path of plain key names.
fn split_setting(setting: &str) -> Option<(&str, &str)> {
    let (key, value) = setting.split_once('=')?;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // The path length is bounded like the nesting of files.
    (key.split('.').all(plain) && key.split('.').count() <= 16).then_some((key, value))
}

#[cfg(test)]
mod tests;
