//! What is wrong with a request to train, found before a device is looked for.

use std::path::{Path, PathBuf};

use super::{JobError, RequestError, Settings};
use crate::project::{BLOCKS, ProjectFolder, block_name};
use crate::record::run_folder::{Which, place, record_path};
use kiln_config::plugins::Strategy;
use kiln_config::{MeshMethod, Override, Profile};
use kiln_scene::{SceneError, SceneIndex, file_safe};

/// Refuses to make a run of a folder that is a data set: its files would lie among the photos, and a data set is no folder to
/// overwrite.
///
/// # Errors
/// When it is one and holds no run.
pub(super) fn check_output(run: &kiln_config::Run) -> Result<(), JobError> {
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
        true => Err(RequestError::OutputIsScene { path }.into()),
        false => Ok(()),
    }
}

/// What to say where the folder of a run is not called what the run, or else its scene, is.
pub(super) fn renamed(run: &kiln_config::Run, scene: &str) -> Option<String> {
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
pub(super) fn check_triangles(profile: &Profile, overrides: &[Override]) -> Result<(), JobError> {
    let of_triangles = |set: &&Override| set.key == "mesh_splatting" || set.key.starts_with("mesh_splatting.");
    match overrides.iter().find(of_triangles) {
        Some(set) if !profile.is_triangles() => {
            let (key, flag) = (set.key.clone(), set.flag.clone());
            Err(RequestError::OfTriangles { key, flag }.into())
        }
        _ => Ok(()),
    }
}

/// Says what is wrong with the place of a scene before anything else is looked at.
///
/// # Errors
/// When no scene is named, or there is none, or Gaussians are to be bound to no mesh.
pub(super) fn check_scene(profile: &Profile) -> Result<(), JobError> {
    let path = Settings::scene(profile)?;
    SceneIndex::detect(&path).map_err(|error| no_scene(path, error))?;
    check_mesh(profile)
}

/// Refuses recipe `bound` without a mesh: its settings would train Gaussians that nothing holds.
///
/// # Errors
/// When there is none.
pub(super) fn check_mesh(profile: &Profile) -> Result<(), JobError> {
    let is_for_bound = profile.mesh.method == MeshMethod::Bound && matches!(profile.strategy, Strategy::Fixed(_));
    match is_for_bound && !profile.is_bound() {
        true => Err(RequestError::NoMesh.into()),
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
pub(super) fn no_scene(path: PathBuf, error: SceneError) -> JobError {
    let is_none = matches!(
        error,
        SceneError::UnknownKind { .. }
            | SceneError::NoPoses { .. }
            | SceneError::ScenesBelow { .. }
            | SceneError::PartOfScene { .. }
    );
    if is_none && ProjectFolder::is_one(&path) {
        let block = first_block(&path);
        return RequestError::ProjectAsScene { path, block }.into();
    }
    if is_none && record_path(&path).is_file() {
        return RequestError::RunAsScene { path }.into();
    }
    error.into()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::scene::ForScene;
    use super::*;
    use crate::jobs::shell::tests::plain;
    use kiln_config::{Inputs, resolve};
    use kiln_scratch::Scratch;

    #[test]
    fn a_run_or_a_project_in_the_place_of_a_scene_is_named() {
        let scratch = Scratch::new();
        scratch.write("run/run.json", "{}");
        scratch.write("run/cameras.json", "[]");
        scratch.write("project/project.json", "{");
        scratch.write("project/blocks/b0000/sparse/0/cameras.bin", "");
        scratch.write("photos/1.jpg", "");
        let refused = |name: &str| {
            let path = scratch.path().join(name).display().to_string();
            let inputs = Inputs {
                overrides: vec![Override::text("dataset.path", &path, "SCENE")],
                ..Inputs::default()
            };
            let checked = check_scene(&resolve(&inputs).unwrap()).unwrap_err();
            let loaded = ForScene::of(&inputs).err().unwrap();
            assert_eq!(checked.to_string(), loaded.to_string());
            let hint = match &checked {
                JobError::Request(error) => error.hint().unwrap(),
                _ => String::new(),
            };
            let text = format!("{checked}; {hint}");
            plain(&text, scratch.path())
        };
        assert_eq!(
            refused("run"),
            "D/run is a run, not a scene; `kiln train --resume -o D/run` goes on with it"
        );
        assert_eq!(
            refused("project"),
            "D/project is a project of blocks, not a scene; name one of its blocks: `kiln train D/project/blocks/b0000`; \
             `kiln status D/project` lists them"
        );
        assert_eq!(
            refused("photos/1.jpg"),
            "D/photos/1.jpg is a file, and a scene is a folder; "
        );
        assert!(refused("photos").contains("holds no camera poses"));
    }

    #[test]
    fn a_data_set_is_no_output() {
        let scratch = Scratch::new();
        scratch.write("garden/transforms.json", "{}");
        scratch.write("run/point_cloud/iteration_7/point_cloud.ply", "");
        let at = |output: &str| {
            let run = kiln_config::Run {
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
    }

    #[test]
    fn a_folder_of_another_name_is_noted() {
        let note = |name: Option<&str>, output: Option<&str>| {
            let run = kiln_config::Run {
                name: name.map(str::to_owned),
                output: output.map(str::to_owned),
            };
            renamed(&run, "Foto Schau")
        };
        assert!(
            note(None, None)
                .unwrap()
                .starts_with("the run's folder is `Foto_Schau`")
        );
        assert!(note(Some("a b"), Some("runs")).unwrap().contains("`a_b`"));
        assert_eq!([note(Some("ab"), None), note(None, Some("here"))], [None, None]);
    }

    #[test]
    fn recipe_bound_needs_a_mesh() {
        let refused = |recipe: Option<&str>, init: Option<&str>| {
            let init = init.map(|init| Override::new("init", init.to_owned(), "--init-mesh"));
            let inputs = Inputs {
                recipe: recipe.map(str::to_owned),
                overrides: init.into_iter().collect(),
                ..Inputs::default()
            };
            check_mesh(&resolve(&inputs).unwrap())
        };
        assert!(matches!(
            refused(Some("bound"), None),
            Err(JobError::Request(RequestError::NoMesh))
        ));
        for (recipe, init) in [
            (Some("bound"), Some("{ kind: mesh, path: mesh.ply }")),
            (None, None),
            (Some("sugar"), None),
        ] {
            assert!(refused(recipe, init).is_ok(), "{recipe:?} {init:?}");
        }
    }
}
