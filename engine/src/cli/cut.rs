//! `kiln split BLOCK`: a block of a project in two, where it does not fit the card that is to train it.

use std::io::{self, Write};
use std::path::Path;

use super::for_scene::{ForScene, for_scene};
use super::request::SplitScene;
use super::split::{SEEN_POINTS, print, steps_scaler, write_planned};
use super::stored::boxed;
use super::{Exit, Failure};
use crate::config::Inputs;
use crate::jobs::RequestError;
use crate::memory::Budget;
use crate::plan::{REFERENCE_BYTES, scene_options};
use crate::project::{
    BlockEntry, BlockRecord, Cutting, PlanRecord, ProjectFolder, SplitOptions, Survey, ToCut, VERSION, half_names,
};
use crate::record::words::count;
use crate::scene::{SceneIndex, SceneOptions};

/// Cuts and prints the parts of the block to `out`.
///
/// # Errors
/// Whatever keeps the block from being cut; the caller prints it.
pub(super) fn run(request: &SplitScene, block: &Path, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    if let Some(flag) = set(request) {
        return Err(boxed(RequestError::OfCut {
            block: block.to_owned(),
            flag,
        }));
    }
    let (project, parts) = match Cutting::prepare(block).map_err(boxed)? {
        ToCut::Already { project, name } => {
            let parts = project.parts_of(&name);
            (*project, parts)
        }
        ToCut::Whole(cutting) => {
            let parts = half_names(&cutting.block.record.name).to_vec();
            (cut(request, *cutting)?, parts)
        }
    };
    print(&project, Some(&parts), request.json, out)?;
    Ok(Exit::Ok)
}

/// The first flag that a project has settled.
fn set(request: &SplitScene) -> Option<String> {
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

fn cut(request: &SplitScene, cutting: Cutting) -> Result<ProjectFolder, Box<dyn Failure>> {
    let lost = cutting.lost_iterations;
    match halves(request, &cutting) {
        Ok((halves, entries)) => {
            let project = cutting.commit(&halves, entries).map_err(boxed)?;
            if lost > 0 {
                // Losing a line of information is no reason to stop.
                let _ = writeln!(
                    io::stderr(),
                    "note: {} of the block's run are gone with it",
                    count(lost, "iteration")
                );
            }
            Ok(project)
        }
        Err(error) => {
            cutting.abandon();
            Err(error)
        }
    }
}

/// The halves of a block, as they are and as the project lists them.
type Halves = ([BlockRecord; 2], [BlockEntry; 2]);

/// Makes the halves in the draft, by what the project was split with.
fn halves(request: &SplitScene, cutting: &Cutting) -> Result<Halves, Box<dyn Failure>> {
    let (project, block) = (&cutting.project, &cutting.block);
    let (record, settings) = (&block.record, &project.record.settings);
    let stand_in = cutting.write_scene().map_err(boxed)?;
    let ForScene {
        profile, scene, path, ..
    } = for_scene(&project.inputs(&stand_in, &Inputs::default()))?;
    let seen = SceneOptions {
        eval: false,
        seen_points: SEEN_POINTS,
        ..scene_options(&profile).map_err(boxed)?
    };
    let seen = SceneIndex::load(&path, &seen).map_err(boxed)?;
    let (ground, bounds) = (&project.record.ground, &project.record.bounds);
    let survey = Survey::again(&scene, &seen, ground.into(), bounds.into());
    drop(seen);
    let (cut, parts) = survey
        .halve(block, half_names(&record.name), &project.record.options)
        .map_err(boxed)?;
    let with_masks = profile.dataset.masks != "off";
    let draft = cutting.draft();
    let files = draft.write_blocks(&scene, &survey, &cut, with_masks).map_err(boxed)?;
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
