//! What `kiln eval`, `kiln render` and `kiln mesh` share: the model's settings, its device, a progress line.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use super::Failure;
use super::for_scene::settle_lpips;
use super::named::other_than_a_model;
use super::parse::scene_of;
use super::request::Model;
use crate::config::{self, AutoError, Inputs, Override, Profile};
use crate::jobs::shell::word;
use crate::jobs::{RequestError, Settings};
use crate::memory::Budget;
use crate::plan::{OpenDevice, open_device};
use crate::project::{ProjectFolder, trained_since};
use crate::record::events::Progress;
use crate::record::run_folder::config_path;
use crate::run::{Location, News, RunError, Stored};
use crate::vk::DeviceKind;

/// A model that was found, with everything needed to draw it.
pub(super) struct Opened {
    /// The command that looks at it.
    pub(super) command: &'static str,
    pub(super) location: Location,
    pub(super) profile: Profile,
    pub(super) open: OpenDevice,
}

/// Keys of the kernel, of files that state none.
const KERNEL: [&str; 2] = ["model.kind", "mip.kernel_size"];
/// What a stored model is drawn by: sections, and keys of others.
const READ: [&str; 9] = [
    "dataset",
    "device",
    "diagnose",
    "eval",
    "memory",
    "model",
    "mip.kernel_size",
    "train.deterministic",
    "train.seed",
];

/// Keys beside [`READ`] that a command reads.
fn more_keys(command: &str) -> &'static [&'static str] {
    match command {
        "mesh" => &["mesh"],
        "render" => &["mesh.far"],
        _ => &[],
    }
}

/// Refuses settings that drawing a stored model does not read.
pub(super) fn check_keys(command: &'static str, overrides: &[Override]) -> Result<(), RequestError> {
    let is_read = |key: &str| {
        let is_below = |read: &str| {
            key.strip_prefix(read)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        READ.iter().chain(more_keys(command)).copied().any(is_below)
    };
    match overrides.iter().find(|set| !is_read(&set.key)) {
        Some(set) => Err(RequestError::Unread {
            command,
            key: set.key.clone(),
            flag: set.flag.clone(),
        }),
        None => Ok(()),
    }
}

/// Reads the model and says how it is drawn.
///
/// # Errors
/// When the file holds no model, or states the kernel that the command line sets.
pub(super) fn load<'a>(opened: &'a Opened, model: &Model) -> Result<Stored<'a>, Box<dyn Failure>> {
    let Opened {
        location,
        profile,
        open,
        ..
    } = opened;
    let stored = Stored::load(location, profile, open).map_err(boxed)?;
    for note in stored.notes() {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(std::io::stderr(), "warning: {}: {note}", location.ply.display());
    }
    let states = stored.states_kernel();
    for (key, is_stated) in KERNEL.into_iter().zip(states) {
        if is_stated && is_set(model, key) {
            return Err(boxed(RequestError::KernelStated {
                path: location.ply.clone(),
                stated: stored.kernel(),
                key: key.to_owned(),
            }));
        }
    }
    if !model.quiet {
        let why = match (states, location.kernel_of_profile) {
            ([true, _], _) => "as the file states",
            (_, true) => "as set; the file states none",
            (_, false) => "the file states none; `--set model.kind=mip` draws it with the Mip filter",
        };
        // Losing a line of information is no reason to stop.
        let _ = writeln!(std::io::stderr(), "kernel: {} ({why})", stored.kernel());
    }
    Ok(stored)
}

/// The scene that views and photos come from: the one named, or that of the run.
///
/// # Errors
/// When none is known, or the run's is not where it was.
pub(super) fn scene(opened: &Opened, model: &Model) -> Result<PathBuf, RequestError> {
    let path = Settings::scene(&opened.profile).map_err(|_| RequestError::NoSceneOfModel {
        instead: of_no_run(opened.command, &model.target),
    })?;
    match opened.location.config.is_some() && !is_set(model, "dataset.path") && !path.exists() {
        true => Err(RequestError::SceneMoved {
            path,
            run: model.target.clone(),
            instead: elsewhere(opened.command, &model.target),
        }),
        false => Ok(path),
    }
}

/// How a command takes the scene for a model of no run.
fn of_no_run(command: &str, model: &Path) -> String {
    let model = word(model);
    match command {
        "mesh" => format!("`kiln mesh {model} --scene FOLDER` names it"),
        "render" => format!(
            "name its folder after the model: `kiln render {model} SCENE -o FOLDER`; `--cameras FILE` and `--path FILE` need none"
        ),
        _ => format!("name its folder after the model: `kiln {command} {model} SCENE`"),
    }
}

/// How a command takes the place where the scene of a run is by now.
fn elsewhere(command: &str, run: &Path) -> String {
    let run = word(run);
    match command {
        "mesh" => format!("`kiln mesh {run} --scene FOLDER` names where it is now"),
        "render" => format!(
            "name its folder after the run: `kiln render {run} SCENE -o FOLDER`; `kiln render {run} --cameras {run}/cameras.json -o \
             FOLDER` needs none"
        ),
        _ => format!("name its folder after the run: `kiln {command} {run} SCENE`"),
    }
}

fn is_set(model: &Model, key: &str) -> bool {
    model.settings.inputs.overrides.iter().any(|set| set.key == key)
}

/// Finds the model and opens the device. The settings of a run or a project lie below the command line's; a PLY file of no run
/// gets the memory profile that fits the device.
pub(super) fn open(command: &'static str, model: &Model) -> Result<Opened, Box<dyn Failure>> {
    check_keys(command, &model.settings.inputs.overrides).map_err(boxed)?;
    let (location, inputs) = find(command, model)?;
    let is_of_run = location.config.is_some();
    let (profile, open) = open_with(command, model, inputs, is_of_run)?;
    if !model.quiet {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(std::io::stderr(), "model: {}", location.ply.display());
    }
    say_device(model, &open);
    Ok(Opened {
        command,
        location,
        profile,
        open,
    })
}

/// True where the merged model of a project is meant.
pub(super) fn is_project(target: &Path, iteration: Option<u32>) -> bool {
    iteration.is_none() && ProjectFolder::is_one(target)
}

/// The merged model of a project. A warning names one that is older than the model of a block.
pub(super) fn merged(root: &Path) -> Result<(ProjectFolder, PathBuf), Box<dyn Failure>> {
    let project = ProjectFolder::open(root).map_err(boxed)?;
    let ply = project.merged().map_err(boxed)?;
    if let Some(warning) = stale(&ply, &trained_since(root), root) {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
    Ok((project, ply))
}

/// What to say of a merged model that is older than those of `blocks`.
fn stale(model: &Path, blocks: &[String], project: &Path) -> Option<String> {
    let (first, more) = blocks.split_first()?;
    let who = match more.len() {
        0 => format!("{first} was"),
        n => format!("{first} and {n} more were"),
    };
    let (model, project) = (model.display(), word(project));
    Some(format!(
        "{model} was merged before {who} trained again; `kiln merge {project}` merges anew"
    ))
}

/// Finds the model of a run or a file.
///
/// # Errors
/// When there is none; the error names what the path holds instead, where that is plain to see.
pub(super) fn located(command: &str, target: &Path, iteration: Option<u32>) -> Result<Location, Box<dyn Failure>> {
    let other = || other_than_a_model(command, target).map(boxed);
    if let Some(error) = other().filter(|_| target.is_file()) {
        return Err(error);
    }
    Location::find(target, iteration).map_err(|error| other().unwrap_or_else(|| boxed(RunError::from(error))))
}

/// The model that is meant, and the settings that it is looked at with.
fn find(command: &str, model: &Model) -> Result<(Location, Inputs), Box<dyn Failure>> {
    let kernel_of_profile = KERNEL.into_iter().any(|key| is_set(model, key));
    if is_project(&model.target, model.iteration) {
        let (project, ply) = merged(&model.target)?;
        let location = Location {
            ply,
            config: None,
            kernel_of_profile: true,
        };
        let inputs = project.inputs_of_whole(&model.settings.inputs).map_err(boxed)?;
        return Ok((location, inputs));
    }
    let found = located(command, &model.target, model.iteration)?;
    let inputs = Inputs {
        file: found.config.clone(),
        ..model.settings.inputs.clone()
    };
    let location = Location {
        kernel_of_profile,
        ..found
    };
    Ok((location, inputs))
}

/// A scene that meshes are drawn from the views of.
pub(super) struct OpenedScene {
    pub(super) scene: PathBuf,
    /// The run that the scene was named by.
    pub(super) run: Option<PathBuf>,
    pub(super) profile: Profile,
    pub(super) open: OpenDevice,
}

/// Opens the device for the scene, or the scene of the run, that stands in the model's place. A run's own settings lie below
/// the command line's.
pub(super) fn open_scene(command: &'static str, model: &Model) -> Result<OpenedScene, Box<dyn Failure>> {
    check_keys(command, &model.settings.inputs.overrides).map_err(boxed)?;
    let file = Some(config_path(&model.target)).filter(|path| path.is_file());
    let mut inputs = Inputs {
        file: file.clone(),
        ..model.settings.inputs.clone()
    };
    if file.is_none() {
        inputs.overrides.insert(0, scene_of(&model.target.to_string_lossy()));
    }
    let (profile, open) = open_with(command, model, inputs, file.is_some())?;
    let scene = Settings::scene(&profile).map_err(boxed)?;
    if file.is_some() && !scene.exists() {
        return Err(boxed(RequestError::SceneMoved {
            path: scene,
            run: model.target.clone(),
            instead: format!("name its folder in the place of the run: `kiln {command} SCENE --mesh FILE`"),
        }));
    }
    say_device(model, &open);
    Ok(OpenedScene {
        scene,
        run: file.and(Some(model.target.clone())),
        profile,
        open,
    })
}

fn say_device(model: &Model, open: &OpenDevice) {
    if !model.quiet {
        let caps = open.device.caps();
        // Losing a line of information is no reason to stop.
        let _ = writeln!(std::io::stderr(), "device: {} ({})", caps.name, caps.driver);
    }
}

/// The profile of these inputs and its device. Without a run's settings or a named profile
/// the memory profile is that which fits the device.
fn open_with(
    command: &str,
    model: &Model,
    inputs: Inputs,
    is_of_run: bool,
) -> Result<(Profile, OpenDevice), Box<dyn Failure>> {
    let settings = Settings { inputs, auto: false };
    let preliminary = settings.preliminary().map_err(boxed)?;
    let open = open_device(&preliminary, model.faults.clone()).map_err(boxed)?;
    let is_cpu = open.device.caps().kind == DeviceKind::Cpu;
    let mut profile = if is_of_run {
        // Resolved settings are complete: there is nothing left for a memory profile to say.
        if is_cpu && !preliminary.device.allow_cpu {
            return Err(boxed(AutoError::CpuNotAllowed));
        }
        preliminary
    } else {
        let here = Budget::of_device(&open.device, None);
        let budget = config::Budget {
            bytes: here.cap_bytes,
            heap_bytes: here.heap_bytes,
            is_cpu,
        };
        settings.resolve(budget).map_err(boxed)?
    };
    if let Some(note) = settle_lpips(&mut profile, is_cpu).filter(|_| command == "eval" && !model.quiet) {
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
    Ok((profile, open))
}

/// Shows progress where someone watches.
pub(super) fn progress(quiet: bool) -> impl FnMut(Progress) {
    let shown = !quiet && std::io::stderr().is_terminal();
    move |now| {
        if shown {
            let end = if now.done == now.total { '\n' } else { '\r' };
            let _ = write!(std::io::stderr(), "{} of {} views{end}", now.done, now.total);
        }
    }
}

/// Says what there is to say while a model is looked at.
pub(super) fn news(quiet: bool) -> impl FnMut(News) {
    let mut progress = progress(quiet);
    move |news| match news {
        News::Progress(now) => progress(now),
        News::InParts { gaussians, at_once } if !quiet => {
            // Losing a line of information is no reason to stop.
            let _ = writeln!(
                std::io::stderr(),
                "note: of {gaussians} Gaussians the device has room for {at_once}; views are drawn in bands of tiles, each with \
                 those that may touch it"
            );
        }
        News::InParts { .. } => {}
    }
}

pub(super) fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_model_older_than_its_blocks_is_told_of() {
        let reported = |blocks: &[&str]| {
            let blocks: Vec<String> = blocks.iter().map(|&name| name.to_owned()).collect();
            stale(Path::new("city/merged/point_cloud.ply"), &blocks, Path::new("city"))
        };
        assert_eq!(reported(&[]), None);
        assert_eq!(
            reported(&["b0000"]).as_deref(),
            Some(
                "city/merged/point_cloud.ply was merged before b0000 was trained again; `kiln merge city` merges anew"
            )
        );
        assert!(reported(&["b0000", "b0002"]).is_some_and(|text| text.contains("b0000 and 1 more were trained again")));
    }

    #[test]
    fn each_command_is_told_its_own_way_of_where_a_scene_is() {
        let run = Path::new("runs/garden");
        assert_eq!(
            elsewhere("mesh", run),
            "`kiln mesh runs/garden --scene FOLDER` names where it is now"
        );
        let alone = of_no_run("render", Path::new("model.ply"));
        assert!(
            alone.contains("--cameras FILE") && alone.contains("--path FILE"),
            "{alone}"
        );
        assert!(elsewhere("eval", run).ends_with("`kiln eval runs/garden SCENE`"));
        assert!(elsewhere("render", run).contains("--cameras runs/garden/cameras.json"));
    }
}
