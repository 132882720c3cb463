//! A stored model, opened: its settings, its device, the scene that it is looked at from.

use std::path::{Path, PathBuf};

use super::named::{Purpose, located};
use super::news::{KernelBy, Listener, News};
use super::scene::settle_lpips;
use super::shell::word;
use super::{JobError, RequestError, Settings};
use crate::plan::{Faults, OpenDevice, open_device};
use crate::project::{ProjectFolder, trained_since};
use crate::record::run_folder::config_path;
use crate::run::{Location, Stored};
use kiln_config::{AutoError, Inputs, Override, Profile};
use kiln_gpu::memory::Budget;
use kiln_gpu::vk::DeviceKind;

/// A model that is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Run folder, project folder or model file; or a scene, or a run on it, where a mesh is drawn in the model's place.
    pub target: PathBuf,
    /// Iteration of a run.
    pub iteration: Option<u32>,
    /// What is set; the run's own settings lie below.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
}

/// A model that was found, with everything needed to draw it.
pub struct Opened {
    /// What it is looked at for.
    pub purpose: Purpose,
    /// Where it lies.
    pub location: Location,
    /// Settings that it is looked at with.
    pub profile: Profile,
    /// The device.
    pub open: OpenDevice,
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

/// Keys beside [`READ`] that count for a purpose.
const fn more_keys(purpose: Purpose) -> &'static [&'static str] {
    match purpose {
        Purpose::Mesh => &["mesh"],
        Purpose::Render => &["mesh.far"],
        _ => &[],
    }
}

/// Refuses settings that drawing a stored model does not read.
pub(super) fn check_keys(purpose: Purpose, overrides: &[Override]) -> Result<(), RequestError> {
    let is_read = |key: &str| {
        let is_below = |read: &str| {
            key.strip_prefix(read)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        READ.iter().chain(more_keys(purpose)).copied().any(is_below)
    };
    match overrides.iter().find(|set| !is_read(&set.key)) {
        Some(set) => Err(RequestError::Unread {
            command: purpose.command(),
            key: set.key.clone(),
            flag: set.flag.clone(),
        }),
        None => Ok(()),
    }
}

impl Model {
    fn sets(&self, key: &str) -> bool {
        self.settings.inputs.overrides.iter().any(|set| set.key == key)
    }

    /// True where the merged model of a project is meant.
    pub(super) fn is_of_project(&self) -> bool {
        is_project(&self.target, self.iteration)
    }

    /// The file that is meant, and the settings that it is looked at with.
    fn find(&self, purpose: Purpose, listen: &mut Listener<'_>) -> Result<(Location, Inputs), JobError> {
        let kernel_of_profile = KERNEL.into_iter().any(|key| self.sets(key));
        if self.is_of_project() {
            let (project, ply) = merged(&self.target, listen)?;
            let location = Location {
                ply,
                config: None,
                kernel_of_profile: true,
            };
            return Ok((location, project.inputs_of_whole(&self.settings.inputs)?));
        }
        let found = located(purpose, &self.target, self.iteration)?;
        let inputs = Inputs {
            file: found.config.clone(),
            ..self.settings.inputs.clone()
        };
        let location = Location {
            kernel_of_profile,
            ..found
        };
        Ok((location, inputs))
    }

    /// The profile of these inputs and its device. Without a run's settings or a named profile the memory profile is that which fits
    /// the device.
    fn open_with(
        &self,
        purpose: Purpose,
        inputs: Inputs,
        is_of_run: bool,
        listen: &mut Listener<'_>,
    ) -> Result<(Profile, OpenDevice), JobError> {
        let settings = Settings { inputs, auto: false };
        let preliminary = settings.preliminary()?;
        let open = open_device(&preliminary, self.faults.clone())?;
        let is_cpu = open.device.caps().kind == DeviceKind::Cpu;
        let mut profile = if is_of_run {
            // Resolved settings are complete: there is nothing left for a memory profile to say.
            if is_cpu && !preliminary.device.allow_cpu {
                return Err(AutoError::CpuNotAllowed.into());
            }
            preliminary
        } else {
            settings.resolve(budget_of(&open))?
        };
        if let Some(note) = settle_lpips(&mut profile, is_cpu).filter(|_| purpose == Purpose::Eval) {
            listen(News::Note(note));
        }
        Ok((profile, open))
    }
}

/// What a device offers, for the choice of a memory profile.
pub(super) fn budget_of(open: &OpenDevice) -> kiln_config::Budget {
    let here = Budget::of_device(&open.device, None);
    kiln_config::Budget {
        bytes: here.cap_bytes,
        heap_bytes: here.heap_bytes,
        is_cpu: open.device.caps().kind == DeviceKind::Cpu,
    }
}

impl Opened {
    /// Finds the model and opens the device. The settings of a run or a project lie below those of `model`; a file of no run gets
    /// the memory profile that fits the device.
    ///
    /// # Errors
    /// [`JobError`] when there is no model, a setting is not read or wrong, or there is no device.
    pub fn of(purpose: Purpose, model: &Model, listen: &mut Listener<'_>) -> Result<Self, JobError> {
        check_keys(purpose, &model.settings.inputs.overrides)?;
        let (location, inputs) = model.find(purpose, listen)?;
        let is_of_run = location.config.is_some();
        let (profile, open) = model.open_with(purpose, inputs, is_of_run, listen)?;
        listen(News::Model(&location.ply));
        report_device(&open, listen);
        Ok(Self {
            purpose,
            location,
            profile,
            open,
        })
    }

    /// Reads the model and reports how it is drawn.
    ///
    /// # Errors
    /// When the file holds no model, or states the kernel that `model` sets.
    pub fn load(&self, model: &Model, listen: &mut Listener<'_>) -> Result<Stored<'_>, JobError> {
        let ply = &self.location.ply;
        let stored = Stored::load(&self.location, &self.profile, &self.open)?;
        for note in stored.notes() {
            listen(News::Warning(&format!("{}: {note}", ply.display())));
        }
        let states = stored.states_kernel();
        let set = KERNEL
            .into_iter()
            .zip(states)
            .find(|(key, is_stated)| *is_stated && model.sets(key));
        if let Some((key, _)) = set {
            return Err(JobError::from(RequestError::KernelStated {
                path: ply.clone(),
                stated: stored.kernel(),
                key: key.to_owned(),
            }));
        }
        let by = match (states, self.location.kernel_of_profile) {
            ([true, _], _) => KernelBy::File,
            (_, true) => KernelBy::Settings,
            (_, false) => KernelBy::Default,
        };
        let kernel = &stored.kernel();
        listen(News::Kernel { kernel, by });
        Ok(stored)
    }

    /// The scene that views and photos come from: the one that `model` names, or that of the run.
    ///
    /// # Errors
    /// When none is known, or the run's is not where it was.
    pub fn scene(&self, model: &Model) -> Result<PathBuf, RequestError> {
        let path = Settings::scene(&self.profile).map_err(|_| RequestError::NoSceneOfModel {
            instead: of_no_run(self.purpose, &model.target),
        })?;
        match self.location.config.is_some() && !model.sets("dataset.path") && !path.exists() {
            true => Err(RequestError::SceneMoved {
                path,
                run: model.target.clone(),
                instead: elsewhere(self.purpose, &model.target),
            }),
            false => Ok(path),
        }
    }
}

/// How a command names the scene for a model of no run.
fn of_no_run(purpose: Purpose, model: &Path) -> String {
    let model = word(model);
    match purpose {
        Purpose::Mesh => format!("`kiln mesh {model} --scene FOLDER` names it"),
        Purpose::Render => format!(
            "name its folder after the model: `kiln render {model} SCENE -o FOLDER`; `--cameras FILE` and `--path FILE` need none"
        ),
        _ => format!(
            "name its folder after the model: `kiln {} {model} SCENE`",
            purpose.command()
        ),
    }
}

/// How a command names where the scene of a run is by now.
fn elsewhere(purpose: Purpose, run: &Path) -> String {
    let run = word(run);
    match purpose {
        Purpose::Mesh => format!("`kiln mesh {run} --scene FOLDER` names where it is now"),
        Purpose::Render => format!(
            "name its folder after the run: `kiln render {run} SCENE -o FOLDER`; `kiln render {run} --cameras {run}/cameras.json -o \
             FOLDER` needs none"
        ),
        _ => format!(
            "name its folder after the run: `kiln {} {run} SCENE`",
            purpose.command()
        ),
    }
}

/// True where the merged model of a project is meant.
pub(crate) fn is_project(target: &Path, iteration: Option<u32>) -> bool {
    iteration.is_none() && ProjectFolder::is_one(target)
}

/// The merged model of a project. One that is older than the model of a block gets a warning and is taken all the same.
///
/// # Errors
/// When there is no project, or nothing is merged in it.
pub(crate) fn merged(root: &Path, listen: &mut Listener<'_>) -> Result<(ProjectFolder, PathBuf), JobError> {
    let project = ProjectFolder::open(root)?;
    let ply = project.merged()?;
    if let Some(warning) = stale(&ply, &trained_since(root), root) {
        listen(News::Warning(&warning));
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

/// A scene that meshes are drawn from the views of.
pub struct OpenedScene {
    /// Its folder.
    pub scene: PathBuf,
    /// The run that the scene was named by.
    pub run: Option<PathBuf>,
    /// Settings that it is read with.
    pub profile: Profile,
    /// The device.
    pub open: OpenDevice,
}

impl OpenedScene {
    /// Opens the device for the scene, or the scene of the run, that stands in the model's place. A run's own settings lie below
    /// those of `model`.
    ///
    /// # Errors
    /// [`JobError`] when there is no scene, a setting is not read or wrong, or there is no device.
    pub fn of(purpose: Purpose, model: &Model, listen: &mut Listener<'_>) -> Result<Self, JobError> {
        check_keys(purpose, &model.settings.inputs.overrides)?;
        let file = Some(config_path(&model.target)).filter(|path| path.is_file());
        let mut inputs = Inputs {
            file: file.clone(),
            ..model.settings.inputs.clone()
        };
        if file.is_none() {
            let scene = Override::text("dataset.path", &model.target.to_string_lossy(), "SCENE");
            inputs.overrides.insert(0, scene);
        }
        let (profile, open) = model.open_with(purpose, inputs, file.is_some(), listen)?;
        let scene = Settings::scene(&profile)?;
        if file.is_some() && !scene.exists() {
            let command = purpose.command();
            return Err(JobError::from(RequestError::SceneMoved {
                path: scene,
                run: model.target.clone(),
                instead: format!("name its folder in the place of the run: `kiln {command} SCENE --mesh FILE`"),
            }));
        }
        report_device(&open, listen);
        Ok(Self {
            scene,
            run: file.and(Some(model.target.clone())),
            profile,
            open,
        })
    }
}

pub(super) fn report_device(open: &OpenDevice, listen: &mut Listener<'_>) {
    let caps = open.device.caps();
    let (name, driver) = (&caps.name, &caps.driver);
    let is_cpu = caps.kind == DeviceKind::Cpu;
    listen(News::Device { name, driver, is_cpu });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_model_older_than_its_blocks_gets_a_warning() {
        let warned = |blocks: &[&str]| {
            let blocks: Vec<String> = blocks.iter().map(|&name| name.to_owned()).collect();
            stale(Path::new("city/merged/point_cloud.ply"), &blocks, Path::new("city"))
        };
        assert_eq!(warned(&[]), None);
        assert_eq!(
            warned(&["b0000"]).as_deref(),
            Some(
                "city/merged/point_cloud.ply was merged before b0000 was trained again; `kiln merge city` merges anew"
            )
        );
        assert!(warned(&["b0000", "b0002"]).is_some_and(|text| text.contains("b0000 and 1 more were trained again")));
    }

    #[test]
    fn each_command_names_a_scene_in_its_own_way() {
        let run = Path::new("runs/garden");
        assert_eq!(
            elsewhere(Purpose::Mesh, run),
            "`kiln mesh runs/garden --scene FOLDER` names where it is now"
        );
        let alone = of_no_run(Purpose::Render, Path::new("model.ply"));
        assert!(
            alone.contains("--cameras FILE") && alone.contains("--path FILE"),
            "{alone}"
        );
        assert!(elsewhere(Purpose::Eval, run).ends_with("`kiln eval runs/garden SCENE`"));
        assert!(elsewhere(Purpose::Render, run).contains("--cameras runs/garden/cameras.json"));
    }
}
