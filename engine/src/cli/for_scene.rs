//! The settings of a run on its scene: what every command uses that trains or plans.

use std::path::PathBuf;
use std::time::Instant;

use super::{Failure, Settings};
use crate::config::{Facts, Inputs, Profile, resolve, resolve_for, rules_of};
use crate::plan::scene_options;
use crate::scene::SceneIndex;

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
    /// What was adapted, a line each for people.
    pub(super) adapted: Vec<String>,
}

/// Reads the scene that `inputs` name and adapts the profile to it. The scene is read by the settings without the recipe's
/// rules, and again where the rules change how it is read.
///
/// # Errors
/// Whatever is wrong with settings or scene; the caller prints it.
pub(super) fn for_scene(inputs: &Inputs) -> Result<ForScene, Box<dyn Failure>> {
    let profile = resolve(inputs).map_err(boxed)?;
    let path = Settings::scene(&profile).map_err(boxed)?;
    let options = scene_options(&profile).map_err(boxed)?;
    let opened = Instant::now();
    let mut scene = SceneIndex::load(&path, &options).map_err(boxed)?;
    if rules_of(inputs).map_err(boxed)?.is_empty() {
        return Ok(ForScene {
            profile,
            path,
            scene,
            opened,
            adapted: Vec::new(),
        });
    }
    let (profile, adaptations) = resolve_for(inputs, &Facts::of(&scene, profile.schedule.iterations)).map_err(boxed)?;
    let adapted_options = scene_options(&profile).map_err(boxed)?;
    if adapted_options != options {
        scene = SceneIndex::load(&path, &adapted_options).map_err(boxed)?;
    }
    Ok(ForScene {
        profile,
        path,
        scene,
        opened,
        adapted: adaptations.iter().map(ToString::to_string).collect(),
    })
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}
