//! A scene with the settings of a run on it: inputs and scene to the final profile.

use std::path::{Path, PathBuf};
use std::time::Instant;

use kiln_files::read_start;

use super::checks::no_scene;
use super::named::{Purpose, located};
use super::{JobError, Settings};
use crate::plan::{settle_photo_colors, training_options};
use crate::run::Location;
use kiln_config::plugins::{Init, ModelOptions};
use kiln_config::{Facts, Inputs, LpipsChoice, Profile, SugarStage, resolve, resolve_for, rules_of, short_run};
use kiln_scene::SceneIndex;

/// Bytes of a PLY file that hold its header.
const HEADER_BYTES: u64 = 1 << 16;

/// A scene, and the profile that is adapted to it.
pub struct ForScene {
    /// The final profile.
    pub profile: Profile,
    /// The scene's folder.
    pub path: PathBuf,
    /// The scene as the profile reads it.
    pub scene: SceneIndex,
    /// When the scene began to be read.
    pub opened: Instant,
    /// Iterations of the recipe where its schedule is scaled to fewer.
    pub scaled_from: Option<u32>,
    /// What was adapted, a line each for people.
    pub adapted: Vec<String>,
    /// What people may have meant otherwise.
    pub notes: Vec<String>,
}

impl ForScene {
    /// Reads the scene that `inputs` name and adapts the profile to it. The scene is read by the settings without the recipe's
    /// rules, and again where the rules change how it is read.
    ///
    /// # Errors
    /// [`JobError::Settings`], [`JobError::Run`] with what is wrong with the scene, [`JobError::Request`] where something else stands in its place.
    pub fn of(inputs: &Inputs) -> Result<Self, JobError> {
        let mut profile = resolve(inputs)?;
        settle_from(&mut profile)?;
        settle_init(&mut profile)?;
        let path = Settings::scene(&profile)?;
        let options = training_options(&profile)?;
        let opened = Instant::now();
        let init = profile.init.clone();
        let mut scene = SceneIndex::load(&path, &options).map_err(|error| no_scene(path.clone(), error))?;
        // How a scene was taken takes a while to find out.
        let facts = match rules_of(inputs)?.is_empty() {
            true => Facts::default(),
            false => Facts::of(&scene, profile.schedule.iterations),
        };
        let (mut profile, adaptations) = resolve_for(inputs, &facts)?;
        settle_from(&mut profile)?;
        settle_init(&mut profile)?;
        let adapted_options = training_options(&profile)?;
        if adapted_options != options {
            scene = SceneIndex::load(&path, &adapted_options)?;
        }
        let short = short_run(inputs, &facts)?;
        let (scaled, notes): (Vec<_>, Vec<_>) = short.into_iter().partition(|short| short.is_scaled);
        Ok(Self {
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

    /// The same with what the photos themselves decide, of which some are decoded for it.
    ///
    /// # Errors
    /// [`JobError::Plan`] when the system refuses threads.
    pub fn decided(mut self) -> Result<Self, JobError> {
        let line = settle_photo_colors(&mut self.profile, &mut self.scene, true)?;
        self.adapted.extend(line);
        Ok(self)
    }
}

/// The file of the model that `sugar.from` names: of a run the model of the iteration that the coarse stage starts from, or else
/// the last one, which it is without a coarse stage.
///
/// # Errors
/// When there is none.
fn settle_from(profile: &mut Profile) -> Result<(), JobError> {
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
    let location = found?;
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
fn settle_init(profile: &mut Profile) -> Result<(), JobError> {
    let Init::Model(options) = &mut profile.init else {
        return Ok(());
    };
    let target = Path::new(&options.path);
    if target.is_dir() {
        let ply = located(Purpose::Train, target, None)?.ply;
        options.path = std::path::absolute(&ply).unwrap_or(ply).display().to_string();
    }
    Ok(())
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

/// Iterations that the request names and that never come. A recipe's lists are cut at the end of a shorter run without
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::jobs::shell::tests::plain;
    use kiln_config::Override;
    use kiln_scratch::Scratch;

    #[test]
    fn a_run_is_a_model() {
        let scratch = Scratch::new();
        scratch.write("garden/transforms.json", "{}");
        scratch.write("run/point_cloud/iteration_7/point_cloud.ply", "");
        scratch.write("run/point_cloud/iteration_9/point_cloud.ply", "");
        let of = |path: &str| {
            let mut profile = resolve(&Inputs::default()).unwrap();
            profile.init = Init::Model(ModelOptions {
                path: scratch.path().join(path).display().to_string(),
            });
            let settled = settle_init(&mut profile).map_err(|error| error.to_string());
            let Init::Model(options) = profile.init else { panic!() };
            settled.map(|()| plain(&options.path, scratch.path()))
        };
        let last = "run/point_cloud/iteration_9/point_cloud.ply";
        assert!(of("run").unwrap().ends_with(last) && of(last).unwrap().ends_with(last));
        assert!(of("garden").unwrap_err().contains("holds no model"));
    }

    #[test]
    fn iterations_past_the_end_are_reported_when_they_were_typed() {
        let reported = |typed: &[(&str, &str)], steps_scaler: Option<f64>| {
            let typed = typed
                .iter()
                .map(|(key, value)| Override::new(key, (*value).to_owned(), "--set"));
            past_the_end(&Inputs {
                overrides: typed.collect(),
                steps_scaler,
                ..Inputs::default()
            })
        };
        let iterations = |n| ("schedule.iterations", n);
        assert_eq!(
            reported(&[iterations("500")], None),
            [""; 0],
            "a recipe's lists are cut"
        );
        assert_eq!(
            reported(
                &[iterations("300"), ("schedule.test", "[100, 200, 300, 304, 306]")],
                Some(0.1)
            ),
            ["`schedule.test` names 306, and the run ends at 30: left out"],
            "they are scaled too"
        );
        assert_eq!(
            reported(
                &[
                    iterations("500"),
                    ("schedule.test", "[100, 7000, 8000]"),
                    ("schedule.save", "[500]")
                ],
                None
            ),
            ["`schedule.test` names 7000, 8000, and the run ends at 500: left out"]
        );
    }
}
