//! `kiln train`: from a request to a finished run and its exit code.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::block::BlockTask;
use super::colmap::with_poses;
use super::for_scene::{
    ForScene, check_mesh, check_output, check_scene, check_triangles, for_scene, renamed, settle_lpips,
};
use super::mesh::make as make_mesh;
use super::request::{Mesh, Model, Train};
use super::resume::{Resumed, lay_budgets, of_run};
use super::stages::Chain;
use super::{Exit, Failure};
use crate::config::{self, SugarStage};
use crate::export::ExportError;
use crate::jobs::shell::word;
use crate::jobs::{Resume, Settings};
use crate::memory::{Budget, Gpu};
use crate::mesh::{StageRow, Up};
use crate::plan::{FirstModel, Pinned, open_device, plan_first, with_remedies};
use crate::record::events::{Event, EventRow, MeshStageRow, RunEvent, Stage};
use crate::record::run_folder::{Existing, MadeBy, PlyKind, REFINED, RunRecord, RunScene, Which, place, record_path};
use crate::record::sinks::{METRICS_FILE, MetricsJsonl, Receiver as _, Terminal};
use crate::record::words::count;
use crate::run::interrupt::Interrupt;
use crate::run::{
    ResumeFrom, RunEnd, RunError, RunRequest, device_budget, mesh_outlook, run as run_training, stages_outlook,
};
use crate::vk::DeviceKind;

/// Trains.
///
/// # Errors
/// Whatever ended the run; the caller prints it.
pub fn run(request: Train) -> Result<Exit, Box<dyn Failure>> {
    let Train {
        settings,
        faults,
        resume,
        overwrite,
        colmap,
        mesh,
        json,
        quiet,
    } = request;
    let Resumed {
        mut settings,
        is_of_run,
    } = match &resume {
        Some(resume) => of_run(settings, resume)?,
        None => Resumed {
            settings,
            is_of_run: false,
        },
    };
    let (block, mut resume) = (BlockTask::of(&settings)?, resume);
    if let Some(task) = &block {
        if let Some(done) = task.done(overwrite)? {
            if !quiet {
                // Losing a line of information is no reason to stop.
                let _ = writeln!(
                    std::io::stderr(),
                    "{} is trained: {} after {}",
                    task.folder().display(),
                    count(done.gaussians, "Gaussian"),
                    count(done.iterations, "iteration")
                );
            }
            return Ok(Exit::Ok);
        }
        settings = task.settings(settings.auto);
        resume = resume.or_else(|| task.resume(overwrite));
    }
    let mut preliminary = settings.preliminary().map_err(boxed)?;
    let mut interrupt = None;
    if colmap {
        check_mesh(&preliminary)?;
        check_output(&preliminary.run)?;
        // COLMAP works for minutes or hours, and is ended with the run.
        let asked = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
        asked.set_heard(true);
        settings = with_poses(settings, &preliminary, &asked, quiet)?;
        asked.set_heard(false);
        preliminary = settings.preliminary().map_err(boxed)?;
        interrupt = Some(asked);
    }
    // Before a device is looked for: a scene that is not there is the first thing to know.
    check_scene(&preliminary)?;
    check_triangles(&preliminary, &settings.inputs.overrides)?;
    check_output(&preliminary.run)?;
    let open = open_device(&preliminary, faults.clone()).map_err(boxed)?;
    let caps = open.device.caps();
    let device = format!("{} ({})", caps.name, caps.driver);
    let here = Budget::of_device(&open.device, None);
    let budget = config::Budget {
        bytes: here.cap_bytes,
        heap_bytes: here.heap_bytes,
        is_cpu: caps.kind == DeviceKind::Cpu,
    };
    let mut inputs = settings.inputs_on(budget).map_err(boxed)?;
    if is_of_run && settings.auto {
        lay_budgets(&mut inputs).map_err(boxed)?;
    }
    let mut err = std::io::stderr();
    if !quiet {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(err, "device: {device}");
    }
    let ForScene {
        mut profile,
        path,
        scene,
        opened,
        scaled_from,
        adapted,
        notes,
    } = for_scene(&inputs)?;
    for note in notes.iter().filter(|_| !quiet) {
        let _ = writeln!(err, "note: {note}");
    }
    // What is stored holds in other folders too.
    let path = std::path::absolute(&path).unwrap_or(path);
    // A folder above it may have a name that is no text: then what was typed stays, which holds where it was typed.
    if let Some(text) = path.to_str() {
        profile.dataset.path = Some(text.to_owned());
    }
    if let Some(note) = renamed(&profile.run, &RunScene::of(&scene).name).filter(|_| !quiet) {
        let _ = writeln!(err, "note: {note}");
    }
    let is_cpu = budget.is_cpu;
    if let Some(note) = settle_lpips(&mut profile, is_cpu).filter(|_| !quiet) {
        let _ = writeln!(err, "note: {note}");
    }
    // Triangles end as a mesh without more work.
    let mesh = mesh && !profile.is_triangles();
    let root = place(
        &profile.run,
        &RunScene::of(&scene).name,
        Which::of(resume.is_some(), overwrite),
    );
    let command = std::env::args_os().skip(1);
    let command = command.map(|word| word.to_string_lossy().into_owned()).collect();
    let made_by = MadeBy {
        scaled_from,
        ..MadeBy::new(command, &inputs).map_err(boxed)?
    };
    let chain = profile
        .has_stage(SugarStage::Extract)
        .then(|| Chain::new((&profile, &faults), (&path, &scene), root, &made_by, (json, quiet)));
    if mesh || chain.is_some() {
        // A mesh that cannot fit is known before hours of training.
        let budget = device_budget(&open, &profile);
        let limits = Gpu::limits(&open.device);
        let variants = Pinned::for_training(&open, &profile).map_err(boxed)?.variants;
        let (first, gaussians) = match profile.sugar.is_some() && !profile.has_stage(SugarStage::Coarse) {
            true => {
                let first = FirstModel::new(&profile, &scene).map_err(boxed)?;
                let gaussians = u32::try_from(first.gaussians.len()).unwrap_or(u32::MAX);
                (first, gaussians)
            }
            false => {
                let planned = plan_first(&profile, &scene, budget, limits, &variants, &faults);
                let (first, _, report) = planned.map_err(|error| {
                    let error = with_remedies(error, &profile, &scene, (budget, limits), &variants, &faults);
                    boxed(error)
                })?;
                (first, report.capacities.n_limit)
            }
        };
        let model = (&first, gaussians);
        match chain {
            Some(_) => stages_outlook(&profile, &scene, model, &variants, (budget, limits), &faults)
                .map(drop)
                .map_err(boxed)?,
            None => mesh_outlook(&profile, &scene, model, &variants, (budget, limits), &faults)
                .map(drop)
                .map_err(boxed)?,
        }
    }
    let interrupt = interrupt.unwrap_or_else(|| Interrupt::install().unwrap_or_else(|_| Interrupt::unattached()));
    let goes_on = matches!(resume, Some(Resume::Latest));
    if let Some(chain) = chain.as_ref().filter(|chain| chain.is_trained(goes_on)) {
        let existing = match (goes_on, overwrite) {
            (true, _) => Existing::Resume,
            (false, true) => Existing::Replace,
            (false, false) => Existing::Refuse,
        };
        drop((scene, open));
        return finished(chain, existing, None, &interrupt);
    }
    let (begun, before) = (
        Instant::now(),
        chain
            .as_ref()
            .map_or(0.0, |chain| chain.seconds_before(resume.is_some())),
    );
    let request = RunRequest {
        profile,
        open,
        scene: path,
        loaded: Some((scene, opened)),
        stage: if chain.is_some() { Stage::Coarse } else { Stage::Train },
        chosen: adapted,
        made_by,
        resume: resume.map(|r| match r {
            Resume::Latest => ResumeFrom::Latest,
            Resume::From(path) => ResumeFrom::File(path),
        }),
        overwrite,
        terminal: (!quiet).then(Terminal::stderr),
        json: json.then(|| Box::new(std::io::stdout()) as _),
    };
    let end = run_training(request, &interrupt).map_err(boxed)?;
    if let Some(chain) = &chain {
        chain.trained(&end, before + begun.elapsed().as_secs_f64())?;
        if end.signal.is_none() {
            return finished(chain, Existing::Resume, Some(&end), &interrupt);
        }
    }
    let block = match block {
        Some(task) if end.signal.is_none() => {
            task.finish(&end, begun.elapsed().as_secs_f64(), &device)?;
            None
        }
        other => other,
    };
    if json {
        // A reader that has left misses nothing but this line, and the exit code says the same.
        let _ = writeln!(std::io::stdout(), "{}", last_line(&end));
    }
    let makes_more = mesh && end.signal.is_none();
    if !quiet {
        let made = made(&end.folder);
        let summary = match makes_more {
            true => outcome(&end),
            false => summary(&end, block.as_ref().map(BlockTask::folder), &made),
        };
        let _ = writeln!(err, "{summary}");
    }
    Ok(match end.signal {
        None if mesh => {
            let folder = end.folder.clone();
            let model = Model {
                target: end.folder,
                iteration: None,
                mesh: None,
                settings: Settings::default(),
                faults,
                quiet,
            };
            let request = Mesh {
                model,
                output: None,
                up: Up::Scene,
                dry_run: false,
                json,
            };
            let mut events = MeshEvents::of(&request.model.target, end.iterations).map_err(boxed)?;
            let mut stage = |row: &StageRow| events.push(row);
            let (exit, _) = match json {
                true => make_mesh(request, &mut std::io::stdout(), &mut stage, &interrupt)?,
                false => make_mesh(request, &mut std::io::sink(), &mut stage, &interrupt)?,
            };
            events.end().map_err(boxed)?;
            if !quiet && exit == Exit::Ok {
                let _ = writeln!(err, "{}", look_at(&folder, &made(&folder)));
            }
            exit
        }
        None => Exit::Ok,
        Some(signal) => signal.into(),
    })
}

/// Goes through the stages behind the training, and says how the run ended.
fn finished(
    chain: &Chain,
    existing: Existing,
    trained: Option<&RunEnd>,
    interrupt: &Interrupt,
) -> Result<Exit, Box<dyn Failure>> {
    let exit = chain.run(existing, interrupt)?;
    let record = RunRecord::read(&record_path(&chain.root)).map_err(boxed)?;
    let end = RunEnd {
        folder: chain.root.clone(),
        iterations: record.iterations.done,
        signal: interrupt.signal().filter(|_| exit != Exit::Ok),
        test_psnr: refined_psnr(&chain.root).or(trained.and_then(|end| end.test_psnr)),
        device_bytes: record.stages.iter().map(|row| row.device_bytes).max().unwrap_or(0),
    };
    if chain.json {
        let _ = writeln!(std::io::stdout(), "{}", last_line(&end));
    }
    if !chain.quiet && end.signal.is_none() {
        let _ = writeln!(std::io::stderr(), "{}", summary(&end, None, &made(&chain.root)));
    }
    Ok(exit)
}

/// Mean PSNR over the test views of the last evaluation of the refined model, dB.
fn refined_psnr(root: &Path) -> Option<f64> {
    let record = RunRecord::read(&record_path(&root.join(REFINED))).ok()?;
    let test = record.evals.last()?.test.as_ref()?;
    Some(test.mean.metrics.psnr_image)
}

/// What `metrics.jsonl` has of the mesh.
pub(super) struct MeshEvents {
    /// None where the run has no such file.
    file: Option<MetricsJsonl>,
    iteration: u32,
    /// The first write that failed.
    failed: Option<ExportError>,
}

impl MeshEvents {
    pub(super) fn of(run: &Path, iteration: u32) -> Result<Self, RunError> {
        let path = run.join(METRICS_FILE);
        let file = path.is_file().then(|| MetricsJsonl::append(&path, 1)).transpose()?;
        Ok(Self {
            file,
            iteration,
            failed: None,
        })
    }

    pub(super) fn push(&mut self, row: &StageRow) {
        let event = RunEvent::Event(EventRow {
            it: self.iteration,
            event: Event::MeshStage(MeshStageRow {
                stage: row.stage.name().to_owned(),
                seconds: row.seconds,
                bricks: row.bricks,
                points: row.points,
                vertices: row.vertices,
                triangles: row.triangles,
            }),
        });
        // The file takes events as they come, whatever the time.
        let written = self
            .file
            .as_mut()
            .map_or(Ok(()), |file| file.take(&event, Duration::ZERO));
        self.failed = self.failed.take().or(written.err());
    }

    pub(super) fn end(self) -> Result<(), RunError> {
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

/// The last JSON line.
fn last_line(end: &RunEnd) -> serde_json::Value {
    serde_json::json!({
        "type": "end",
        "status": if end.signal.is_some() { "interrupted" } else { "done" },
        "iterations": end.iterations,
        "test_psnr": end.test_psnr,
        "folder": end.folder.display().to_string(),
    })
}

/// How a run ended; one of a block that is not over goes on by the block's name.
fn summary(end: &RunEnd, block: Option<&Path>, made: &[(&str, PathBuf)]) -> String {
    let (folder, iterations) = (word(&end.folder), count(end.iterations, "iteration"));
    if end.signal.is_some() {
        let again = match block {
            Some(block) => word(block),
            None => format!("--resume -o {folder}"),
        };
        return format!(
            "interrupted after {iterations}; `kiln train {again}` goes on from there, `kiln view {folder}` shows the model as it is"
        );
    }
    match made {
        [] => format!("{}; `kiln view {folder}` shows it", outcome(end)),
        made => format!("{}\n{}", outcome(end), look_at(&end.folder, made)),
    }
}

/// How a run ended that was not interrupted.
fn outcome(end: &RunEnd) -> String {
    let psnr = end
        .test_psnr
        .map_or_else(String::new, |psnr| format!(", test PSNR {psnr:.2} dB"));
    format!(
        "done: {}{psnr}, {}",
        count(end.iterations, "iteration"),
        word(&end.folder)
    )
}

/// What a run made beside a model of Gaussians, a line each, and how to look at it.
fn look_at(root: &Path, made: &[(&str, PathBuf)]) -> String {
    let mut text = String::new();
    for (what, path) in made {
        text += &format!("{what:<14} {}\n", word(path));
    }
    let them = if made.len() == 1 { "it" } else { "them" };
    text + &format!("`kiln view {}` shows {them}", word(root))
}

/// The meshes of a run, its model of triangles, and what its stages made, with a name each.
fn made(root: &Path) -> Vec<(&'static str, PathBuf)> {
    let Ok(record) = RunRecord::read(&record_path(root)) else {
        return Vec::new();
    };
    let mut made = Vec::new();
    let last = record.plys.last().filter(|ply| ply.kind == PlyKind::Triangles);
    made.extend(last.map(|ply| ("triangles", root.join(&ply.path))));
    let is_mesh = |file: &&String| [".ply", ".obj", ".glb"].iter().any(|ending| file.ends_with(ending));
    let meshes = record.files.iter().filter(is_mesh);
    let of = |folder: &'static str| meshes.clone().filter(move |file| file.starts_with(folder));
    made.extend(of("mesh/").map(|file| ("mesh", root.join(file))));
    let refined = RunRecord::read(&record_path(&root.join(REFINED))).ok();
    let refined = refined.and_then(|refined| refined.plys.into_iter().rfind(|ply| ply.kind == PlyKind::Fused));
    made.extend(refined.map(|ply| ("refined model", root.join(REFINED).join(ply.path))));
    made.extend(of("refined/mesh/").map(|file| ("textured mesh", root.join(file))));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_on_by_its_own_name() {
        let end = RunEnd {
            folder: "city/blocks/b0000/run".into(),
            iterations: 70,
            signal: Some(crate::run::interrupt::Signal::Interrupt),
            test_psnr: None,
            device_bytes: 0,
        };
        assert_eq!(
            summary(&end, Some(Path::new("city/blocks/b0000")), &[]),
            "interrupted after 70 iterations; `kiln train city/blocks/b0000` goes on from there, `kiln view city/blocks/b0000/run` \
             shows the model as it is"
        );
        assert!(summary(&end, None, &[]).contains("`kiln train --resume -o city/blocks/b0000/run` goes on"));
        let done = RunEnd {
            signal: None,
            iterations: 1,
            ..end
        };
        assert_eq!(
            summary(&done, None, &[]),
            "done: 1 iteration, city/blocks/b0000/run; `kiln view city/blocks/b0000/run` shows it"
        );
        let made = [("mesh", PathBuf::from("run/mesh/mesh.ply"))];
        assert_eq!(
            summary(&done, None, &made),
            "done: 1 iteration, city/blocks/b0000/run\nmesh           run/mesh/mesh.ply\n`kiln view city/blocks/b0000/run` shows it"
        );
    }
}
