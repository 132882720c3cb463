//! `kiln split`: a scene in blocks that each fit a named memory profile.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::exit::unprinted;
use super::for_scene::{ForScene, check_scene, first_block, for_scene};
use super::outline::{Outline, in_words};
use super::plan::{card_limits, card_variants};
use super::request::SplitScene;
use super::stored::boxed;
use super::{Exit, Failure, cut};
use crate::config::{Facts, Inputs, Override, Profile, resolve, resolve_for};
use crate::jobs::RequestError;
use crate::memory::Budget;
use crate::plan::{
    Faults, PlanError, PlanReport, REFERENCE_BYTES, gib_to_bytes, plan_first, plan_with_photos, scene_options,
};
use crate::project::{
    BlockEntry, BlockFolder, BlockRecord, Cut, Draft, PlanRecord, ProjectError, ProjectFolder, ProjectRecord, Survey,
    VERSION, block_name, prepare, scene_record, settings_record,
};
use crate::record::words::count;
use crate::scene::{SceneIndex, SceneOptions};

/// Points that are looked at of each photo.
pub(super) const SEEN_POINTS: u32 = 4096;
/// Views of a scene that a recipe's number of steps is meant for, and the least and the most it is multiplied by.
const USUAL_VIEWS: f64 = 200.0;
const STEPS: [f64; 2] = [0.35, 2.0];
/// Bytes that a Gaussian takes at the very least: its place, turn, size, opacity and colour, in half precision.
const LEAST_BYTES: u64 = 28;

/// A scene and how its blocks are planned.
struct Job<'a> {
    request: &'a SplitScene,
    /// Of the whole scene.
    profile: Profile,
    scene: SceneIndex,
    budget: Budget,
}

/// Splits and prints to `out`.
///
/// # Errors
/// Whatever keeps the scene from being split; the caller prints it.
pub fn run(request: &SplitScene, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let SplitScene { settings, options, .. } = request;
    let preliminary = settings.preliminary().map_err(boxed)?;
    if let Some(block) = preliminary.dataset.path.as_deref().map(Path::new)
        && BlockFolder::is_one(block)
    {
        return cut::run(request, block, out);
    }
    if let Some(project) = preliminary.dataset.path.as_deref().map(Path::new)
        && ProjectFolder::is_one(project)
    {
        return Err(boxed(RequestError::IsSplit {
            path: project.to_owned(),
            block: first_block(project),
        }));
    }
    let root = preliminary.run.output.as_deref().map(PathBuf::from);
    // Nothing is written of a plan.
    let root = root.filter(|_| !request.plan_only);
    if root.is_none() && !request.plan_only {
        return Err(boxed(RequestError::NoProjectFolder));
    }
    check_scene(&preliminary)?;
    let merges = |reason: &str, remedy: &str| {
        boxed(ProjectError::Unsuitable {
            path: preliminary.dataset.path.as_deref().unwrap_or_default().into(),
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        })
    };
    if preliminary.is_triangles() {
        return Err(merges(
            "what is merged of blocks is Gaussians, and `model.kind` is triangles",
            "take a recipe of Gaussians, and `kiln mesh` on what it makes",
        ));
    }
    if preliminary.sugar.is_some() {
        return Err(merges(
            "what is merged of blocks is what they train, and the stages of `sugar` follow a training",
            "take a recipe without `sugar`; `kiln train SCENE --recipe sugar --set sugar.from=MERGED.ply` goes on from what is merged",
        ));
    }
    let cap = preliminary.memory.cap_gib.filter(|_| !settings.auto);
    let Some(cap) = cap.map(gib_to_bytes) else {
        return Err(boxed(RequestError::NoProfile));
    };
    let ForScene {
        profile, scene, path, ..
    } = for_scene(&settings.inputs)?;
    let job = Job {
        request,
        profile,
        scene,
        budget: Budget::of_profile(cap).with_reference(REFERENCE_BYTES),
    };
    let wanted = ProjectRecord {
        version: VERSION,
        scene: scene_record(&job.scene).map_err(boxed)?,
        settings: settings_record(&settings.inputs).map_err(boxed)?,
        options: options.clone(),
        ground: (&kiln_blocks::Ground::with_up([0.0; 3])).into(),
        bounds: (&kiln_blocks::Rect::PLANE).into(),
        gaussians: 0,
        views_used: 0.0,
        test_views: job.scene.test.iter().map(|view| view.name.clone()).collect(),
        blocks: Vec::new(),
    };
    let Some(root) = root else {
        let outline = job.outline(&path)?;
        outline
            .print(request.json, out)
            .map_err(|error| boxed(unprinted(error)))?;
        return Ok(Exit::Ok);
    };
    let project = match prepare(&root, &wanted).map_err(boxed)? {
        Ok(project) => project,
        Err(draft) => match job.make(&path, wanted, &draft) {
            Ok(record) => draft.commit(record).map_err(boxed)?,
            Err(error) => {
                draft.abandon();
                return Err(error);
            }
        },
    };
    print(&project, None, request.json, out)?;
    Ok(Exit::Ok)
}

impl Job<'_> {
    /// Looks at the scene and cuts it.
    fn cut(&self, path: &Path) -> Result<(Survey, Cut), Box<dyn Failure>> {
        let seen = SceneOptions {
            eval: false,
            seen_points: SEEN_POINTS,
            ..scene_options(&self.profile).map_err(boxed)?
        };
        let seen = SceneIndex::load(path, &seen).map_err(boxed)?;
        let options = &self.request.options;
        let survey = Survey::of(&self.scene, &seen, options.up).map_err(boxed)?;
        drop(seen);
        let most = self.budget.cap_bytes / LEAST_BYTES;
        let most = most.min(u64::from(self.profile.memory.max_gaussians.number()));
        let cut = survey.cut(&self.scene, options, most, &mut |part| self.capacity(part));
        Ok((survey, cut.map_err(boxed)?))
    }

    /// What a run on a part of the scene may grow to.
    fn capacity(&self, part: &SceneIndex) -> Result<Option<u32>, ProjectError> {
        match planned(&mut self.profile.clone(), part, self.budget, &self.request.faults) {
            Ok(report) => Ok(Some(report.capacities.n_limit)),
            Err(
                PlanError::DoesNotFit { .. } | PlanError::ImagesDoNotFit { .. } | PlanError::TooMuchBackground { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Cuts the scene and plans the run of each block, without its files.
    fn outline(&self, path: &Path) -> Result<Outline, Box<dyn Failure>> {
        let (survey, cut) = self.cut(path)?;
        let plan = |at: usize| {
            let mut scene = survey.scene_of(&self.scene, &cut, at);
            // A split writes masks of what lies outside of a block.
            scene.masked |= self.profile.dataset.masks != "off";
            let mut inputs = self.request.settings.inputs.clone();
            inputs.steps_scaler = inputs.steps_scaler.or(steps_scaler(&inputs, scene.train.len()));
            if let Some(most) = cut.blocks.get(at).and_then(|block| self.most(block.wide_demand)) {
                inputs.overrides.push(Override {
                    key: "memory.max_gaussians".to_owned(),
                    value: format!("up to {most}"),
                    flag: "the block".to_owned(),
                });
            }
            let iterations = resolve(&inputs).map_err(boxed)?.schedule.iterations;
            let (mut profile, _) = resolve_for(&inputs, &Facts::of(&scene, iterations)).map_err(boxed)?;
            let report = planned(&mut profile, &scene, self.budget, &self.request.faults).map_err(boxed)?;
            Ok(PlanRecord {
                gaussians: report.capacities.n_limit,
                device_bytes: report.device_bytes,
                cap_bytes: self.budget.cap_bytes,
            })
        };
        let plans: Result<Vec<PlanRecord>, Box<dyn Failure>> = (0..cut.blocks.len()).map(plan).collect();
        Ok(Outline::of(&survey, &cut, plans?))
    }

    /// Most Gaussians of a block, core and margin, where the command line names the whole scene's.
    fn most(&self, wide_demand: f64) -> Option<u64> {
        let inputs = &self.request.settings.inputs;
        let asked = self.request.options.gaussians;
        let asked = asked.filter(|_| !sets(inputs, "memory.max_gaussians"));
        asked.map(|_| wide_demand.ceil().max(1.0) as u64)
    }

    /// Makes all blocks in a draft and plans each as its run will.
    fn make(&self, path: &Path, wanted: ProjectRecord, draft: &Draft) -> Result<ProjectRecord, Box<dyn Failure>> {
        let inputs = &self.request.settings.inputs;
        let (survey, cut) = self.cut(path)?;
        draft.write_settings(inputs).map_err(boxed)?;
        let with_masks = self.profile.dataset.masks != "off";
        let files = draft
            .write_blocks(&self.scene, &survey, &cut, with_masks)
            .map_err(boxed)?;
        let mut record = ProjectRecord {
            ground: (&survey.ground).into(),
            bounds: (&survey.bounds()).into(),
            gaussians: cut.gaussians,
            views_used: cut.views_used(&survey),
            ..wanted
        };
        let project = draft.project(record.clone());
        for (at, (block, files)) in cut.blocks.iter().zip(files).enumerate() {
            let views = cut.train.get(at).cloned().unwrap_or_default();
            let folder = draft.block(BlockRecord {
                version: VERSION,
                name: block_name(at),
                core: (&block.core).into(),
                margin: block.margin,
                demand: block.demand,
                steps_scaler: steps_scaler(inputs, views.len()),
                train_views: views,
                test_views: cut.test.get(at).cloned().unwrap_or_default(),
                max_gaussians: self.most(block.wide_demand),
                divided: is_divided(&self.profile, &self.scene),
                planned: PlanRecord {
                    gaussians: 0,
                    device_bytes: 0,
                    cap_bytes: self.budget.cap_bytes,
                },
                files,
            });
            let (_, entry) = write_planned(draft, &project, folder, self.budget, &self.request.faults)?;
            record.blocks.push(entry);
        }
        Ok(record)
    }
}

/// Plans a block of a draft as its run will, and writes its index.
pub(super) fn write_planned(
    draft: &Draft,
    project: &ProjectFolder,
    mut folder: BlockFolder,
    budget: Budget,
    faults: &Faults,
) -> Result<(BlockFolder, BlockEntry), Box<dyn Failure>> {
    let inputs = project.inputs(&folder, &Inputs::default());
    let ForScene { mut profile, scene, .. } = for_scene(&inputs)?;
    let report = planned(&mut profile, &scene, budget, faults).map_err(boxed)?;
    folder.record.planned.gaussians = report.capacities.n_limit;
    folder.record.planned.device_bytes = report.device_bytes;
    let entry = draft.write_block(&folder).map_err(boxed)?;
    Ok((folder, entry))
}

/// The plan of a run on a card of that budget.
fn planned(
    profile: &mut Profile,
    scene: &SceneIndex,
    budget: Budget,
    faults: &Faults,
) -> Result<PlanReport, PlanError> {
    let variants = card_variants(profile, faults);
    let make = |profile: &Profile| plan_first(profile, scene, budget, card_limits(), &variants, faults);
    // How much memory the host will have is not known here.
    plan_with_photos(profile, scene, budget.cap_bytes, None, make, |(_, _, report)| report).map(|(_, _, report)| report)
}

fn sets(inputs: &Inputs, key: &str) -> bool {
    inputs.overrides.iter().any(|set: &Override| set.key == key)
}

/// How much longer or shorter the run of so many views is, where no setting says how long it is.
pub(super) fn steps_scaler(inputs: &Inputs, views: usize) -> Option<f64> {
    if inputs.steps_scaler.is_some() || sets(inputs, "schedule.iterations") {
        return None;
    }
    Some((views as f64 / USUAL_VIEWS).clamp(STEPS[0], STEPS[1]))
}

/// True when the scene's photos were found divided already, in a folder of their own.
fn is_divided(profile: &Profile, scene: &SceneIndex) -> bool {
    let divisor = profile.dataset.resolution;
    let name = scene.images.file_name().unwrap_or_default().to_string_lossy();
    profile.dataset.images == "images" && divisor > 1 && *name == *format!("images_{divisor}")
}

/// Prints the project: as JSON its index, else a line for each of its blocks, or for each that is named in `only`. Others are
/// not opened: a copy of the project need not have them.
pub(super) fn print(
    project: &ProjectFolder,
    only: Option<&[String]>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Failure>> {
    if json {
        let written = serde_json::to_writer_pretty(&mut *out, &project.record).map_err(io::Error::from);
        return written
            .and_then(|()| writeln!(out))
            .map_err(|error| boxed(unprinted(error)));
    }
    let blocks = match only {
        Some(names) => names.iter().map(|name| project.block(name)).collect(),
        None => project.blocks(),
    };
    let blocks: Vec<BlockFolder> = blocks.map_err(boxed)?;
    let record = &project.record;
    let mut lines = vec![format!(
        "{}: {} for {} Gaussians; views are used {:.1} times on average",
        project.root.display(),
        count(record.blocks.len(), "block"),
        record.gaussians,
        record.views_used
    )];
    for block in &blocks {
        lines.push(format!(
            "{}  {:>6} views {:>10} Gaussians, {}",
            block.record.name,
            block.record.train_views.len(),
            block.record.demand,
            in_words(&block.record.planned)
        ));
    }
    writeln!(out, "{}", lines.join("\n")).map_err(|error| boxed(unprinted(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_long_as_their_views_ask_for() {
        let inputs = Inputs::default();
        let scaler = |views| steps_scaler(&inputs, views);
        assert_eq!(
            [scaler(10), scaler(100), scaler(1000)],
            [Some(0.35), Some(0.5), Some(2.0)]
        );
        let typed = Inputs {
            steps_scaler: Some(3.0),
            ..Inputs::default()
        };
        assert_eq!(steps_scaler(&typed, 100), None);
        let iterations = Override {
            key: "schedule.iterations".to_owned(),
            value: "500".to_owned(),
            flag: "--iterations".to_owned(),
        };
        let typed = Inputs {
            overrides: vec![iterations],
            ..Inputs::default()
        };
        assert_eq!(steps_scaler(&typed, 100), None);
    }
}
