//! A block of a project in two, where it does not fit the card that is to train it.

use std::path::Path;

use super::news::{Listener, News};
use super::planned::{seen_options, steps_scaler, write_planned};
use super::{ForScene, JobError, RequestError, Split};
use crate::plan::REFERENCE_BYTES;
use crate::project::{
    BlockEntry, BlockRecord, Cutting, PlanRecord, ProjectFolder, SplitOptions, Survey, ToCut, VERSION, half_names,
};
use crate::record::words::count;
use kiln_config::Inputs;
use kiln_gpu::memory::Budget;
use kiln_scene::SceneIndex;

/// Cuts a block in two, or finds it cut; gives the project and the names of the parts.
///
/// # Errors
/// Whatever keeps the block from being cut; the project is as it was then.
pub(super) fn cut(
    request: &Split,
    block: &Path,
    listen: &mut Listener<'_>,
) -> Result<(ProjectFolder, Vec<String>), JobError> {
    if let Some(flag) = set(request) {
        let block = block.to_owned();
        return Err(RequestError::OfCut { block, flag }.into());
    }
    let cutting = match Cutting::prepare(block)? {
        ToCut::Whole(cutting) => *cutting,
        ToCut::Already { project, name } => {
            let parts = project.parts_of(&name);
            return Ok((*project, parts));
        }
    };
    let parts = half_names(&cutting.block.record.name).to_vec();
    let lost = cutting.lost_iterations;
    let (halves, entries) = match halves(request, &cutting) {
        Ok(halves) => halves,
        Err(error) => {
            cutting.abandon();
            return Err(error);
        }
    };
    let project = cutting.commit(&halves, entries)?;
    if lost > 0 {
        let lost = count(lost, "iteration");
        listen(News::Note(&format!("{lost} of the block's run are gone with it")));
    }
    Ok((project, parts))
}

/// The first flag that a project has settled.
fn set(request: &Split) -> Option<String> {
    let inputs = &request.settings.inputs;
    let (options, usual) = (&request.options, SplitOptions::default());
    let flags = [
        (inputs.profile.is_some() || request.settings.auto, "--profile"),
        (inputs.recipe.is_some(), "--recipe"),
        (inputs.file.is_some(), "--config"),
        (inputs.steps_scaler.is_some(), "--steps-scaler"),
        (options.gaussians.is_some(), "--gaussians"),
        (options.blocks.is_some(), "--blocks"),
        (options.margin != usual.margin, "--margin"),
        (options.min_views != usual.min_views, "--min-views"),
        (options.max_views != usual.max_views, "--max-views"),
        (options.up.is_some(), "--up"),
        (request.plan_only, "--plan-only"),
    ];
    let mut typed = inputs.overrides.iter().filter(|set| set.key != "dataset.path");
    let typed = typed.next().map(|set| set.flag.clone());
    typed.or_else(|| {
        flags
            .into_iter()
            .find(|(is_set, _)| *is_set)
            .map(|(_, flag)| flag.to_owned())
    })
}

/// The halves of a block, as they are and as the project lists them.
type Halves = ([BlockRecord; 2], [BlockEntry; 2]);

/// Makes the halves in the draft, by what the project was split with.
fn halves(request: &Split, cutting: &Cutting) -> Result<Halves, JobError> {
    let (project, block) = (&cutting.project, &cutting.block);
    let (record, settings) = (&block.record, &project.record.settings);
    let stand_in = cutting.write_scene()?;
    let ForScene {
        profile, scene, path, ..
    } = ForScene::of(&project.inputs(&stand_in, &Inputs::default()))?;
    let seen = SceneIndex::load(&path, &seen_options(&profile)?)?;
    let (ground, bounds) = (&project.record.ground, &project.record.bounds);
    let survey = Survey::again(&scene, &seen, ground.into(), bounds.into());
    drop(seen);
    let (cut, parts) = survey.halve(block, half_names(&record.name), &project.record.options)?;
    let with_masks = profile.dataset.masks != "off";
    let draft = cutting.draft();
    let files = draft.write_blocks(&scene, &survey, &cut, with_masks)?;
    let typed = Inputs {
        overrides: settings.overrides(),
        steps_scaler: settings.steps_scaler,
        ..Inputs::default()
    };
    let budget = Budget::of_profile(record.planned.cap_bytes).with_reference(REFERENCE_BYTES);
    let make = |at: usize| {
        let half = &cut.blocks[at];
        let part = parts[at] * f64::from(record.planned.gaussians);
        let folder = draft.block(BlockRecord {
            version: VERSION,
            name: cut.names[at].clone(),
            core: (&half.core).into(),
            margin: half.margin,
            demand: half.demand,
            steps_scaler: steps_scaler(&typed, cut.train[at].len()),
            train_views: cut.train[at].clone(),
            test_views: cut.test[at].clone(),
            // A half that may grow as far as its block takes as much memory, and fits no better.
            max_gaussians: Some(part.ceil().max(1.0) as u64),
            divided: record.divided,
            planned: PlanRecord {
                gaussians: 0,
                device_bytes: 0,
                cap_bytes: record.planned.cap_bytes,
            },
            files: files[at].clone(),
        });
        write_planned(draft, project, folder, budget, &request.faults)
    };
    let ((low, first), (high, second)) = (make(0)?, make(1)?);
    Ok(([low.record, high.record], [first, second]))
}
