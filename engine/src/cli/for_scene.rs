//! The settings of a run on its scene: what every command uses that trains or plans.

use std::path::{Path, PathBuf};
use std::time::Instant;

use kiln_files::read_start;

use super::Failure;
use super::stored::located;
use crate::config::{
    self, Facts, Inputs, LpipsChoice, MeshMethod, Override, Profile, SugarStage, resolve, resolve_for, rules_of,
    short_run,
};
use crate::jobs::{RequestError, Settings};
use crate::plan::training_options;
use crate::plugins::{Init, ModelOptions, Strategy};
use crate::project::{BLOCKS, ProjectFolder, block_name};
use crate::record::run_folder::{Which, place, record_path};
use crate::run::{Location, RunError};
use crate::scene::{SceneError, SceneIndex, file_safe};

/// Bytes of a PLY file that hold its header.
const HEADER_BYTES: u64 = 1 << 16;

/// A scene, and the profile that is adapted to it.
pub(super) struct ForScene {
    /// The final profile.
    pub(super) profile: Profile,
    /// The scene's folder.
    pub(super) path: PathBuf,
    /// The scene as the profile reads it.
    pub(super) scene: SceneIndex,
    /// When the scene began to be read.
    pub(super) opened: Instant,
    /// Iterations of the recipe where its schedule is scaled to fewer.
    pub(super) scaled_from: Option<u32>,
    /// What was adapted, a line each for people.
    pub(super) adapted: Vec<String>,
    /// What people may have meant otherwise.
    pub(super) notes: Vec<String>,
}

/// Reads the scene that `inputs` name and adapts the profile to it. The scene is read by the settings without the recipe's
/// rules, and again where the rules change how it is read.
///
/// # Errors
/// Whatever is wrong with settings or scene; the caller prints it.
pub(super) fn for_scene(inputs: &Inputs) -> Result<ForScene, Box<dyn Failure>> {
    let mut profile = resolve(inputs).map_err(boxed)?;
    settle_from(&mut profile)?;
    settle_init(&mut profile)?;
    let path = Settings::scene(&profile).map_err(boxed)?;
    let options = training_options(&profile).map_err(boxed)?;
    let opened = Instant::now();
    let init = profile.init.clone();
    let mut scene = SceneIndex::load(&path, &options).map_err(|error| no_scene(path.clone(), error))?;
    // How a scene was taken takes a while to find out.
    let facts = match rules_of(inputs).map_err(boxed)?.is_empty() {
        true => Facts::default(),
        false => Facts::of(&scene, profile.schedule.iterations),
    };
    let (mut profile, adaptations) = resolve_for(inputs, &facts).map_err(boxed)?;
    settle_from(&mut profile)?;
    settle_init(&mut profile)?;
    let adapted_options = training_options(&profile).map_err(boxed)?;
    if adapted_options != options {
        scene = SceneIndex::load(&path, &adapted_options).map_err(boxed)?;
    }
    let short = short_run(inputs, &facts).map_err(boxed)?;
    let (scaled, notes): (Vec<_>, Vec<_>) = short.into_iter().partition(|short| short.is_scaled);
    Ok(ForScene {
        profile,
        path,
        scene,
        opened,
        scaled_from: scaled.first().map(|short| short.recipe),
        adapted: (adaptations.iter().map(ToString::to_string))
            .chain(scaled.iter().map(ToString::to_string))
            .chain(of_points(&init))
            .chain(past_the_end(inputs))
            .collect(),
        notes: notes.iter().map(ToString::to_string).collect(),
    })
}

/// The file of the model that `sugar.from` names: of a run the model of the iteration that the coarse stage starts from, or else
/// the last one, which it is without a coarse stage.
///
/// # Errors
/// When there is none.
fn settle_from(profile: &mut Profile) -> Result<(), Box<dyn Failure>> {
    let Some((from, start)) = profile
        .sugar
        .as_ref()
        .and_then(|sugar| Some((sugar.from.clone()?, sugar.start)))
    else {
        return Ok(());
    };
    let target = Path::new(&from);
    let last = || Location::find(target, None);
    let found = match profile.has_stage(SugarStage::Coarse) {
        true => Location::find(target, Some(start)).or_else(|_| last()),
        false => last(),
    };
    let location = found.map_err(|error| boxed(RunError::from(error)))?;
    let path = std::path::absolute(&location.ply).unwrap_or(location.ply);
    profile.init = Init::Model(ModelOptions {
        path: path.display().to_string(),
    });
    Ok(())
}

/// The file of the model that a run starts from, where a folder is named: the last one of that run.
///
/// # Errors
/// When there is none.
fn settle_init(profile: &mut Profile) -> Result<(), Box<dyn Failure>> {
    let Init::Model(options) = &mut profile.init else {
        return Ok(());
    };
    let target = Path::new(&options.path);
    if target.is_dir() {
        let ply = located("train", target, None)?.ply;
        options.path = std::path::absolute(&ply).unwrap_or(ply).display().to_string();
    }
    Ok(())
}

/// Refuses to make a run of a folder that is a data set: its files would lie among the photos, and a data set is no folder to
/// overwrite.
///
/// # Errors
/// When it is one and holds no run.
pub(super) fn check_output(run: &config::Run) -> Result<(), Box<dyn Failure>> {
    if run.output.is_none() {
        return Ok(());
    }
    let path = place(run, "", Which::First);
    let holds_photos = |path| {
        let found = SceneIndex::detect(path);
        matches!(
            found,
            Ok(_) | Err(SceneError::PartOfScene { .. } | SceneError::NoPoses { .. })
        )
    };
    let is_scene = path.is_dir() && !record_path(&path).is_file() && holds_photos(&path);
    match is_scene {
        true => Err(boxed(RequestError::OutputIsScene { path })),
        false => Ok(()),
    }
}

/// What to say where the folder of a run is not called what the run, or else its scene, is.
pub(super) fn renamed(run: &config::Run, scene: &str) -> Option<String> {
    let name = match &run.output {
        Some(_) => run.name.as_deref()?,
        None => run.name.as_deref().unwrap_or(scene),
    };
    let folder = file_safe(name);
    (folder != name).then(|| format!("the run's folder is `{folder}`; what cannot be in a file's name becomes `_`"))
}

/// Refuses settings of models of triangles for a run that trains Gaussians, where they would say nothing.
///
/// # Errors
/// [`RequestError::OfTriangles`], naming the first.
pub(super) fn check_triangles(profile: &Profile, overrides: &[Override]) -> Result<(), Box<dyn Failure>> {
    let of_triangles = |set: &&Override| set.key == "mesh_splatting" || set.key.starts_with("mesh_splatting.");
    match overrides.iter().find(of_triangles) {
        Some(set) if !profile.is_triangles() => Err(boxed(RequestError::OfTriangles {
            key: set.key.clone(),
            flag: set.flag.clone(),
        })),
        _ => Ok(()),
    }
}

/// Says what is wrong with the place of a scene before anything else is looked at.
///
/// # Errors
/// When no scene is named, or there is none, or Gaussians are to be bound to no mesh.
pub(super) fn check_scene(profile: &Profile) -> Result<(), Box<dyn Failure>> {
    let path = Settings::scene(profile).map_err(boxed)?;
    SceneIndex::detect(&path).map_err(|error| no_scene(path, error))?;
    check_mesh(profile)
}

/// Says that recipe `bound` needs a mesh: without one its settings train Gaussians that nothing holds.
///
/// # Errors
/// When there is none.
pub(super) fn check_mesh(profile: &Profile) -> Result<(), Box<dyn Failure>> {
    let is_for_bound = profile.mesh.method == MeshMethod::Bound && matches!(profile.strategy, Strategy::Fixed(_));
    match is_for_bound && !profile.is_bound() {
        true => Err(boxed(RequestError::NoMesh)),
        false => Ok(()),
    }
}

/// A block to name of a project, whatever state that is in.
pub(super) fn first_block(project: &Path) -> PathBuf {
    let found = ProjectFolder::open(project).ok();
    let block = found.and_then(|found| Some(found.record.blocks.first()?.name.clone()));
    project.join(BLOCKS).join(block.unwrap_or_else(|| block_name(0)))
}

/// Why a scene cannot be read: where it is none, a run or a project was named by mistake.
fn no_scene(path: PathBuf, error: SceneError) -> Box<dyn Failure> {
    let is_none = matches!(
        error,
        SceneError::UnknownKind { .. }
            | SceneError::NoPoses { .. }
            | SceneError::ScenesBelow { .. }
            | SceneError::PartOfScene { .. }
    );
    if is_none && ProjectFolder::is_one(&path) {
        let block = first_block(&path);
        return boxed(RequestError::ProjectAsScene { path, block });
    }
    if is_none && record_path(&path).is_file() {
        return boxed(RequestError::RunAsScene { path });
    }
    boxed(error)
}

/// What of a file of points is not taken: a model of another run starts anew from its centres and colours.
fn of_points(init: &Init) -> Option<String> {
    let Init::Ply(options) = init else { return None };
    let start = read_start(Path::new(&options.path), HEADER_BYTES).ok()?;
    let text = String::from_utf8_lossy(&start);
    let header = text.split("end_header").next().unwrap_or_default();
    header.contains(" opacity").then(|| {
        format!(
            "{} is a trained model: the centres and colours of its Gaussians are taken, their shapes, opacities and other \
             coefficients are not (`--init-model` takes them all)",
            options.path
        )
    })
}

/// Iterations that the command line names and that never come. A recipe's lists are cut at the end of a shorter run without
/// a word: that is what shortening means.
fn past_the_end(inputs: &Inputs) -> Vec<String> {
    let end = resolve(inputs).map_or(u32::MAX, |profile| profile.schedule.iterations);
    let lists = ["schedule.test", "schedule.save", "schedule.checkpoint"];
    let asked = inputs
        .overrides
        .iter()
        .filter(|asked| lists.contains(&asked.key.as_str()));
    // As `--steps-scaler` rounds them.
    let factor = inputs.steps_scaler.unwrap_or(1.0);
    let comes = |number: u32| (f64::from(number) * factor).round() <= f64::from(end);
    asked
        .filter_map(|asked| {
            let numbers = asked
                .value
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|word| word.parse().ok());
            let past: Vec<String> = numbers
                .filter(|number: &u32| !comes(*number))
                .map(|number| number.to_string())
                .collect();
            let key = &asked.key;
            (!past.is_empty())
                .then(|| format!("`{key}` names {}, and the run ends at {end}: left out", past.join(", ")))
        })
        .collect()
}

/// Decides `eval.lpips: auto` for a device; gives what to say about it.
pub(super) fn settle_lpips(profile: &mut Profile, is_cpu: bool) -> Option<&'static str> {
    let asked = profile.eval.lpips;
    profile.eval.lpips = asked.on_device(is_cpu);
    match (asked, is_cpu) {
        (LpipsChoice::Auto, true) => Some("LPIPS is off on CPU drivers, `--enable-lpips` turns it on"),
        (LpipsChoice::On, true) => {
            Some("LPIPS on a CPU driver takes seconds to minutes a view, `--set eval.lpips=false` leaves it out")
        }
        _ => None,
    }
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use super::super::{Exit, Request, parse};
    use super::*;
    use crate::config::Override;
    use crate::scene::scratch::Scratch;

    #[test]
    fn what_is_taken_for_a_scene_is_told() {
        let scratch = Scratch::new();
        scratch.write("run/run.json", "{}");
        scratch.write("run/cameras.json", "[]");
        scratch.write("project/project.json", "{");
        scratch.write("project/blocks/b0000/sparse/0/cameras.bin", "");
        scratch.write("photos/1.jpg", "");
        let reported = |name: &str| {
            let inputs = Inputs {
                overrides: vec![Override {
                    key: "dataset.path".to_owned(),
                    value: format!("{:?}", scratch.path().join(name).display().to_string()),
                    flag: "SCENE".to_owned(),
                }],
                ..Inputs::default()
            };
            let checked = check_scene(&resolve(&inputs).unwrap()).unwrap_err();
            let loaded = for_scene(&inputs).err().unwrap();
            assert_eq!(checked.to_string(), loaded.to_string());
            assert_eq!(checked.exit(), Exit::Data);
            let text = format!("{checked}; {}", checked.hint().unwrap());
            text.replace(&scratch.path().display().to_string(), "D")
        };
        assert_eq!(
            reported("run"),
            "D/run is a run, not a scene; `kiln train --resume -o D/run` goes on with it"
        );
        assert_eq!(
            reported("project"),
            "D/project is a project of blocks, not a scene; name one of its blocks: `kiln train D/project/blocks/b0000`; \
             `kiln status D/project` lists them"
        );
        assert_eq!(
            reported("photos/1.jpg"),
            "D/photos/1.jpg is a file, and a scene is a folder; it is a picture: name the folder that holds photos or a model of them, for \
             example D/photos"
        );
        assert!(reported("photos").contains("holds no camera poses"));
    }

    #[test]
    fn a_data_set_is_no_output_and_a_run_is_a_model() {
        let scratch = Scratch::new();
        scratch.write("garden/transforms.json", "{}");
        scratch.write("run/point_cloud/iteration_7/point_cloud.ply", "");
        scratch.write("run/point_cloud/iteration_9/point_cloud.ply", "");
        let at = |output: &str| {
            let run = config::Run {
                name: None,
                output: Some(scratch.path().join(output).display().to_string()),
            };
            check_output(&run).err().map(|error| error.to_string())
        };
        assert!(
            at("garden")
                .unwrap()
                .ends_with("garden is a data set, and no folder for a run")
        );
        assert_eq!([at("run"), at("new"), at("garden/run")], [None, None, None]);
        scratch.write("garden/run.json", "{}");
        assert_eq!(at("garden"), None, "a run that is there goes on");
        let of = |path: &str| {
            let mut profile = resolve(&Inputs::default()).unwrap();
            profile.init = Init::Model(ModelOptions {
                path: scratch.path().join(path).display().to_string(),
            });
            let settled = settle_init(&mut profile).map_err(|error| error.to_string());
            let Init::Model(options) = profile.init else { panic!() };
            settled.map(|()| options.path)
        };
        let last = "run/point_cloud/iteration_9/point_cloud.ply";
        assert!(of("run").unwrap().ends_with(last) && of(last).unwrap().ends_with(last));
        assert!(of("garden").unwrap_err().contains("holds no model"));
    }

    #[test]
    fn a_folder_of_another_name_is_told() {
        let reported = |name: Option<&str>, output: Option<&str>| {
            let run = config::Run {
                name: name.map(str::to_owned),
                output: output.map(str::to_owned),
            };
            renamed(&run, "Foto Schau")
        };
        assert!(
            reported(None, None)
                .unwrap()
                .starts_with("the run's folder is `Foto_Schau`")
        );
        assert!(reported(Some("a b"), Some("runs")).unwrap().contains("`a_b`"));
        assert_eq!([reported(Some("ab"), None), reported(None, Some("here"))], [None, None]);
    }

    #[test]
    fn recipe_bound_is_told_of_a_mesh() {
        let reported = |line: &str| {
            let Request::Train(train) = parse(line.split_whitespace()).unwrap() else {
                panic!("{line}");
            };
            let checked = check_mesh(&train.settings.preliminary().unwrap());
            checked
                .map_err(|error| format!("{error}; {}", error.hint().unwrap()))
                .err()
                .unwrap_or_default()
        };
        assert_eq!(
            reported("kiln train s --recipe bound"),
            "recipe `bound` needs a mesh to bind Gaussians to; `--init-mesh FILE` names it (PLY, OBJ, GLB); `kiln mesh RUN` makes \
             one of a trained model"
        );
        for well in [
            "kiln train s --recipe bound --init-mesh mesh.ply",
            "kiln train s",
            "kiln train s --recipe sugar",
        ] {
            assert_eq!(reported(well), "", "{well}");
        }
    }

    #[test]
    fn iterations_past_the_end_are_told_when_they_were_typed() {
        let reported = |line: &str| {
            let Request::Train(train) = parse(line.split_whitespace()).unwrap() else {
                panic!("{line}");
            };
            past_the_end(&train.settings.inputs)
        };
        assert_eq!(
            reported("kiln train s --iterations 500"),
            [""; 0],
            "a recipe's lists are cut"
        );
        assert_eq!(
            reported("kiln train s --iterations 300 --steps-scaler 0.1 --test_iterations 100 200 300 304 306"),
            ["`schedule.test` names 306, and the run ends at 30: left out"],
            "they are scaled too"
        );
        assert_eq!(
            reported("kiln train s --iterations 500 --test_iterations 100 7000 8000 --set schedule.save=[500]"),
            ["`schedule.test` names 7000, 8000, and the run ends at 500: left out"]
        );
    }
}
