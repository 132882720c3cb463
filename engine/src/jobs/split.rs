//! A scene in blocks that each fit a named memory profile.

use std::path::{Path, PathBuf};

use super::checks::{check_scene, first_block};
use super::cut::cut;
use super::news::Listener;
use super::planned::{planned, seen_options, sets, steps_scaler, write_planned};
use super::{ForScene, JobError, Outline, RequestError, Settings};
use crate::plan::{Faults, PlanError, REFERENCE_BYTES, gib_to_bytes};
use crate::project::{
    BlockFolder, BlockRecord, Cut, Draft, PlanRecord, ProjectError, ProjectFolder, ProjectRecord, SplitOptions, Survey,
    VERSION, block_name, prepare, scene_record, settings_record,
};
use kiln_config::{Facts, Override, Profile, resolve, resolve_for};
use kiln_gpu::memory::Budget;
use kiln_scene::SceneIndex;

/// Bytes that a Gaussian takes at the very least: its place, turn, size, opacity and colour, in half precision.
const LEAST_BYTES: u64 = 28;

/// A request for blocks. The scene may be a block of a project, which is cut in two.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Inputs of the profile of the blocks' runs; `run.output` is the project's folder.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
    /// How to split.
    pub options: SplitOptions,
    /// Write nothing.
    pub plan_only: bool,
}

/// What came of it.
#[derive(Debug)]
pub enum SplitEnd {
    /// What would be made.
    Outline(Outline),
    /// The project, made now or before.
    Split(ProjectFolder),
    /// The project with the names of the two parts of the block, cut now or before.
    Cut(ProjectFolder, Vec<String>),
}

/// Splits a scene, or cuts a block.
///
/// # Errors
/// Whatever keeps the scene from being split; a project that was there is as it was then.
pub fn split(request: &Split, listen: &mut Listener<'_>) -> Result<SplitEnd, JobError> {
    let Split { settings, options, .. } = request;
    let preliminary = settings.preliminary()?;
    let path = preliminary.dataset.path.as_deref().map(Path::new);
    if let Some(block) = path.filter(|path| BlockFolder::is_one(path)) {
        let (project, parts) = cut(request, block, listen)?;
        return Ok(SplitEnd::Cut(project, parts));
    }
    if let Some(project) = path.filter(|path| ProjectFolder::is_one(path)) {
        let (path, block) = (project.to_owned(), first_block(project));
        return Err(RequestError::IsSplit { path, block }.into());
    }
    let root = preliminary.run.output.as_deref().map(PathBuf::from);
    // Nothing is written of a plan.
    let root = root.filter(|_| !request.plan_only);
    if root.is_none() && !request.plan_only {
        return Err(RequestError::NoProjectFolder.into());
    }
    check_scene(&preliminary)?;
    check_merges(&preliminary)?;
    let cap = preliminary.memory.cap_gib.filter(|_| !settings.auto);
    let cap = cap.map(gib_to_bytes).ok_or(RequestError::NoProfile)?;
    let ForScene {
        profile, scene, path, ..
    } = ForScene::of(&settings.inputs)?;
    let job = Job {
        request,
        profile,
        scene,
        budget: Budget::of_profile(cap).with_reference(REFERENCE_BYTES),
    };
    let Some(root) = root else {
        return Ok(SplitEnd::Outline(job.outline(&path)?));
    };
    let wanted = ProjectRecord {
        version: VERSION,
        scene: scene_record(&job.scene)?,
        settings: settings_record(&settings.inputs)?,
        options: options.clone(),
        ground: (&kiln_blocks::Ground::with_up([0.0; 3])).into(),
        bounds: (&kiln_blocks::Rect::PLANE).into(),
        gaussians: 0,
        views_used: 0.0,
        test_views: job.scene.test.iter().map(|view| view.name.clone()).collect(),
        blocks: Vec::new(),
    };
    let draft = match prepare(&root, &wanted)? {
        Ok(project) => return Ok(SplitEnd::Split(project)),
        Err(draft) => draft,
    };
    match job.make(&path, wanted, &draft) {
        Ok(record) => Ok(SplitEnd::Split(draft.commit(record)?)),
        Err(error) => {
            draft.abandon();
            Err(error)
        }
    }
}

/// Refuses what blocks cannot be merged from.
fn check_merges(profile: &Profile) -> Result<(), JobError> {
    let (reason, remedy) = if profile.is_triangles() {
        (
            "what is merged of blocks is Gaussians, and `model.kind` is triangles",
            "take a recipe of Gaussians, and `kiln mesh` on what it makes",
        )
    } else if profile.sugar.is_some() {
        (
            "what is merged of blocks is what they train, and the stages of `sugar` follow a training",
            "take a recipe without `sugar`; `kiln train SCENE --recipe sugar --set sugar.from=MERGED.ply` goes on from what is merged",
        )
    } else {
        return Ok(());
    };
    Err(JobError::from(ProjectError::Unsuitable {
        path: profile.dataset.path.as_deref().unwrap_or_default().into(),
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    }))
}

/// A scene and how its blocks are planned.
struct Job<'a> {
    request: &'a Split,
    /// Of the whole scene.
    profile: Profile,
    scene: SceneIndex,
    budget: Budget,
}

impl Job<'_> {
    /// Looks at the scene and cuts it.
    fn cut(&self, path: &Path) -> Result<(Survey, Cut), JobError> {
        let seen = SceneIndex::load(path, &seen_options(&self.profile)?)?;
        let options = &self.request.options;
        let survey = Survey::of(&self.scene, &seen, options.up)?;
        drop(seen);
        let most = self.budget.cap_bytes / LEAST_BYTES;
        let most = most.min(u64::from(self.profile.memory.max_gaussians.number()));
        let cut = survey.cut(&self.scene, options, most, &mut |part| self.capacity(part));
        Ok((survey, cut?))
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
    fn outline(&self, path: &Path) -> Result<Outline, JobError> {
        let (survey, cut) = self.cut(path)?;
        let plan = |at: usize| {
            let mut scene = survey.scene_of(&self.scene, &cut, at);
            // A split writes masks of what lies outside of a block.
            scene.masked |= self.profile.dataset.masks != "off";
            let mut inputs = self.request.settings.inputs.clone();
            inputs.steps_scaler = inputs.steps_scaler.or(steps_scaler(&inputs, scene.train.len()));
            if let Some(most) = cut.blocks.get(at).and_then(|block| self.most(block.wide_demand)) {
                let most = format!("up to {most}");
                inputs
                    .overrides
                    .push(Override::new("memory.max_gaussians", most, "the block"));
            }
            let iterations = resolve(&inputs)?.schedule.iterations;
            let (mut profile, _) = resolve_for(&inputs, &Facts::of(&scene, iterations))?;
            let report = planned(&mut profile, &scene, self.budget, &self.request.faults)?;
            Ok(PlanRecord {
                gaussians: report.capacities.n_limit,
                device_bytes: report.device_bytes,
                cap_bytes: self.budget.cap_bytes,
            })
        };
        let plans: Result<Vec<PlanRecord>, JobError> = (0..cut.blocks.len()).map(plan).collect();
        Ok(Outline::of(&survey, &cut, plans?))
    }

    /// Most Gaussians of a block, core and margin, where the request has those of the whole scene.
    fn most(&self, wide_demand: f64) -> Option<u64> {
        let inputs = &self.request.settings.inputs;
        let asked = self.request.options.gaussians;
        let asked = asked.filter(|_| !sets(inputs, "memory.max_gaussians"));
        asked.map(|_| wide_demand.ceil().max(1.0) as u64)
    }

    /// Makes all blocks in a draft and plans each as its run will.
    fn make(&self, path: &Path, wanted: ProjectRecord, draft: &Draft) -> Result<ProjectRecord, JobError> {
        let inputs = &self.request.settings.inputs;
        let (survey, cut) = self.cut(path)?;
        draft.write_settings(inputs)?;
        let with_masks = self.profile.dataset.masks != "off";
        let files = draft.write_blocks(&self.scene, &survey, &cut, with_masks)?;
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

/// True when the scene's photos were found divided already, in a folder of their own.
fn is_divided(profile: &Profile, scene: &SceneIndex) -> bool {
    let divisor = profile.dataset.resolution;
    let name = scene.images.file_name().unwrap_or_default().to_string_lossy();
    profile.dataset.images == "images" && divisor > 1 && *name == *format!("images_{divisor}")
}
