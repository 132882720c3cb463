//! Settings of a run that goes on where nothing but its folder is named.
//!
//! Owns what of a command line is laid over the run's own settings: budgets of a memory profile and single keys. Refuses a recipe,
//! whose settings all lie below those of the run and would change nothing.

use std::path::{Path, PathBuf};

use super::shell::word;
use super::{JobError, RequestError, Resume, Settings};
use crate::record::run_folder::{RunFolderError, Which, config_path, place, record_path};
use kiln_config::{ConfigError, Inputs, Override, Profile, budgets_of, resolve};

/// Largest `run.json` that is looked into.
const MOST_RECORD_BYTES: u64 = 16 << 20;

/// Where checkpoints lie in a run.
const CHECKPOINTS: &str = "checkpoints";

/// Settings of a run that goes on.
pub(super) struct Resumed {
    /// All of them.
    pub(super) settings: Settings,
    /// They are those that the run began with, with what was typed over them.
    pub(super) is_of_run: bool,
}

/// The settings of the run that goes on, where nothing but its folder or its checkpoint is named: neither a scene nor a file.
///
/// # Errors
/// When the settings are wrong, there is no such run, its scene is gone, or a recipe is named.
pub(super) fn of_run(mut settings: Settings, resume: &Resume) -> Result<Resumed, JobError> {
    let typed = named(&settings.inputs)?;
    if settings.inputs.file.is_some() || typed.dataset.path.is_some() {
        let is_of_run = keep_scaled(&mut settings, &typed, resume)?;
        return Ok(Resumed { settings, is_of_run });
    }
    let is_placed = typed.run.output.is_some() || typed.run.name.is_some();
    let path = match around(resume).filter(|_| !is_placed) {
        Some(run) => {
            let output = Override::text("run.output", &run.display().to_string(), "--resume");
            settings.inputs.overrides.push(output);
            run
        }
        None => place(&typed.run, "", Which::Newest),
    };
    let file = config_path(&path);
    if !file.is_file() {
        let checkpoint = match resume {
            _ if is_placed => return Err(RunFolderError::NoRun { path }.into()),
            Resume::Latest => return Err(RequestError::NoRunToResume.into()),
            Resume::From(checkpoint) => checkpoint.clone(),
        };
        return Err(RequestError::NoRunAround { checkpoint }.into());
    }
    if let Some(recipe) = settings.inputs.recipe {
        return Err(RequestError::RecipeOfRun { recipe, run: path }.into());
    }
    if settings.inputs.profile.is_some() {
        lay_budgets(&mut settings.inputs)?;
    }
    settings.inputs.file = Some(file);
    check_scene_is_there(&settings, &path)?;
    Ok(Resumed {
        settings,
        is_of_run: true,
    })
}

/// What names the run and the scene. All other keys mean what they do over the settings of the run, and are checked there.
fn named(inputs: &Inputs) -> Result<Profile, ConfigError> {
    let names = |setting: &&Override| {
        let section = setting.key.split('.').next().unwrap_or_default();
        section == "run" || setting.key == "dataset.path"
    };
    resolve(&Inputs {
        overrides: inputs.overrides.iter().filter(names).cloned().collect(),
        ..Inputs::default()
    })
}

/// Keeps the schedule of a run that was scaled to `--iterations` where its scene is named again: more iterations make it longer, and
/// what was scaled to fewer stays as it is. True when the settings are now those of the run.
///
/// # Errors
/// When the memory profile cannot be read.
fn keep_scaled(settings: &mut Settings, typed: &Profile, resume: &Resume) -> Result<bool, JobError> {
    let Some(scene) = typed.dataset.path.as_deref().filter(|_| settings.inputs.file.is_none()) else {
        return Ok(false);
    };
    let scene = std::path::absolute(scene).unwrap_or_else(|_| PathBuf::from(scene));
    let name = scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let goes_to = place(&typed.run, &name, Which::Newest);
    let run = around(resume).unwrap_or_else(|| goes_to.clone());
    let record = kiln_files::read_text(&record_path(&run), MOST_RECORD_BYTES).unwrap_or_default();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap_or_default();
    if record["made_by"]["scaled_from"].is_null() || !config_path(&run).is_file() {
        return Ok(false);
    }
    settings.inputs.file = Some(config_path(&run));
    if settings.inputs.profile.is_some() {
        lay_budgets(&mut settings.inputs)?;
    }
    if typed.run.output.is_none() && typed.run.name.is_none() {
        let output = Override::text("run.output", &goes_to.display().to_string(), "--resume");
        settings.inputs.overrides.push(output);
    }
    Ok(true)
}

/// Lays the budgets of the memory profile over the run's own, which lie over all else that a profile sets.
///
/// # Errors
/// When there is no such profile.
pub(super) fn lay_budgets(inputs: &mut Inputs) -> Result<(), ConfigError> {
    if let Some(profile) = &inputs.profile {
        let budgets = budgets_of(profile, "--profile")?;
        // What was typed key by key wins.
        inputs.overrides.splice(0..0, budgets);
    }
    Ok(())
}

/// The run that a checkpoint lies in.
fn around(resume: &Resume) -> Option<PathBuf> {
    let Resume::From(checkpoint) = resume else {
        return None;
    };
    let folder = checkpoint.parent()?;
    let run = folder.parent().filter(|_| folder.ends_with(CHECKPOINTS))?;
    Some(if run.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        run.to_owned()
    })
}

/// Refuses a scene that is not where the run began.
fn check_scene_is_there(settings: &Settings, run: &Path) -> Result<(), JobError> {
    let profile = settings.preliminary()?;
    match profile.dataset.path.map(PathBuf::from) {
        Some(path) if !path.exists() => {
            let instead = format!(
                "`kiln train SCENE --resume -o {} --config {}` goes on with it in the folder SCENE",
                word(run),
                word(&config_path(run))
            );
            let run = run.to_owned();
            Err(RequestError::SceneMoved { path, run, instead }.into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::jobs::shell::tests::plain;
    use kiln_scratch::Scratch;

    const LATEST: Resume = Resume::Latest;

    /// Settings of these keys.
    fn typed(keys: &[(&str, &str)]) -> Settings {
        let overrides = keys
            .iter()
            .map(|(key, value)| Override::new(key, (*value).to_owned(), "--set"));
        let inputs = Inputs {
            overrides: overrides.collect(),
            ..Inputs::default()
        };
        Settings { inputs, auto: false }
    }

    fn refused(settings: Settings, resume: &Resume) -> String {
        match of_run(settings, resume) {
            Ok(_) => String::new(),
            Err(JobError::Request(error)) => format!("{error}; {}", error.hint().unwrap()),
            Err(error) => error.to_string(),
        }
    }

    /// A run on a scene that is there.
    fn run() -> (Scratch, String) {
        let scratch = Scratch::new();
        let root = scratch.path().display().to_string();
        scratch.write("scene/images/1.jpg", "");
        scratch.write(
            "run/config.resolved.yaml",
            format!("dataset: {{ path: '{root}/scene' }}\nmemory: {{ cap_gib: 14.5 }}\n"),
        );
        scratch.write("run/checkpoints/checkpoint_00000010.kiln", "");
        (scratch, root)
    }

    #[test]
    fn what_goes_on_is_named() {
        assert!(refused(typed(&[]), &LATEST).starts_with("no run is given that is to go on"));
        assert!(refused(typed(&[("run.output", "no/such")]), &LATEST).starts_with("no/such holds no run"));
        assert_eq!(refused(typed(&[("dataset.path", "scene")]), &LATEST), "");
        let file = Resume::From("x.kiln".into());
        assert!(refused(typed(&[]), &file).starts_with("x.kiln lies in no run"));
    }

    #[test]
    fn a_checkpoint_names_its_run() {
        let (_scratch, root) = run();
        let file = format!("{root}/run/checkpoints/checkpoint_00000010.kiln");
        let found = of_run(typed(&[]), &Resume::From(file.into())).unwrap();
        let profile = found.settings.preliminary().unwrap();
        assert!(found.is_of_run);
        assert_eq!(profile.run.output, Some(format!("{root}/run")));
        assert_eq!(profile.dataset.path, Some(format!("{root}/scene")));
    }

    #[test]
    fn budgets_of_a_profile_are_laid_over_the_run_and_recipes_refused() {
        let (_scratch, root) = run();
        let output = format!("{root}/run");
        let cap = |profile: Option<&str>, keys: &[(&str, &str)]| {
            let mut settings = typed(&[&[("run.output", output.as_str())], keys].concat());
            settings.inputs.profile = profile.map(str::to_owned);
            let found = of_run(settings, &LATEST).unwrap();
            found.settings.preliminary().unwrap().memory.cap_gib
        };
        let named = Some("8gb");
        assert_eq!(
            [cap(None, &[]), cap(named, &[]), cap(named, &[("memory.cap_gib", "2")])],
            [Some(14.5), Some(7.0), Some(2.0)]
        );
        let mut settings = typed(&[("run.output", &output)]);
        settings.inputs.recipe = Some("mip".to_owned());
        assert_eq!(
            refused(settings, &LATEST).replace(&root, "D"),
            "`--recipe mip` changes nothing of the run D/run, which goes on with the settings that it began with; leave it \
             out; `kiln train SCENE --recipe mip -o FOLDER` trains another run"
        );
    }

    /// Lists have their entries from the run, and settings that depend on others have those of the run.
    #[test]
    fn keys_are_laid_over_the_settings_of_the_run() {
        let (scratch, root) = run();
        let kept = format!(
            "dataset: {{ path: '{root}/scene' }}\nregularizers:\n  - {{ kind: opacity, weight: 0.01 }}\n  \
             - {{ kind: density, k: 16 }}\n"
        );
        scratch.write("run/config.resolved.yaml", kept);
        let output = format!("{root}/run");
        let settings = typed(&[("run.output", &output), ("regularizers.1.k", "12")]);
        let profile = of_run(settings, &LATEST).unwrap().settings.preliminary().unwrap();
        assert_eq!(profile.density().unwrap().k, 12);
        assert_eq!(profile.regularizers.len(), 2);
    }

    #[test]
    fn a_scaled_run_keeps_its_schedule_when_it_gets_longer() {
        let (scratch, root) = run();
        let begun = scratch.path().join("run/config.resolved.yaml");
        let mut text = std::fs::read_to_string(&begun).unwrap();
        text += "schedule: { iterations: 300, sh_every: 10 }\n";
        std::fs::write(&begun, text).unwrap();
        let sh_every = |made_by: &str, iterations: u32| {
            scratch.write("run/run.json", format!("{{ \"made_by\": {made_by} }}"));
            let (scene, output) = (format!("{root}/scene"), format!("{root}/run"));
            let settings = typed(&[
                ("dataset.path", &scene),
                ("run.output", &output),
                ("schedule.iterations", &iterations.to_string()),
            ]);
            let schedule = of_run(settings, &LATEST)
                .unwrap()
                .settings
                .preliminary()
                .unwrap()
                .schedule;
            assert_eq!(schedule.iterations, iterations);
            schedule.sh_every
        };
        let scaled = r#"{ "scaled_from": 30000 }"#;
        assert_eq!([sh_every(scaled, 600), sh_every(scaled, 9000)], [10, 10]);
        // A run that was not scaled goes by what is typed, as before.
        assert_eq!(sh_every("{}", 9000), 1000);
    }

    #[test]
    fn a_scene_that_moved_can_be_named() {
        let (scratch, root) = run();
        std::fs::rename(scratch.path().join("scene"), scratch.path().join("moved")).unwrap();
        let output = format!("{root}/run");
        assert_eq!(
            plain(&refused(typed(&[("run.output", &output)]), &LATEST), Path::new(&root)),
            "the scene D/scene that D/run was trained on is not there; `kiln train SCENE --resume -o D/run --config \
             D/run/config.resolved.yaml` goes on with it in the folder SCENE"
        );
    }
}
