//! What a run leaves behind on its way: evaluations, models, checkpoints, timings.

use std::sync::Arc;
use std::time::Instant;

use super::super::evaluation::{Evaluation, Measure, Told, Trained, lpips_sets};
use super::super::judges::{Judges, Verdict};
use super::Session;
use crate::eval::{EvalFile, LpipsRange, PoseSource, view_metrics};
use crate::export::{
    Chosen, DeliveryError, ExportError, Format, PlyComments, PlyFlavor, RenderMode, camera_records, camera_records_at,
    deliver, write_ply,
};
use crate::mesh::{Up, export_triangles, write_bound, write_triangles};
use crate::plan::Look;
use crate::record::events::{EvalRow, Event, RunEvent};
use crate::record::run_folder::{PlyKind, name_inside};
use crate::run::RunError;
use crate::run::resolution_phases::Phase;
use crate::train::TrainError;
use kiln_config::plugins::Exporter;
use kiln_gaussians::Gaussians;
use kiln_scene::{Split, ViewId};

/// Folder of meshes in that of a run.
const MESH_FOLDER: &str = "mesh";

/// What files of a model say about it.
pub(in crate::run) fn comments(look: &Look, iteration: u32, origin: [f64; 3]) -> PlyComments {
    let mode = if look.classic {
        RenderMode::Default
    } else {
        RenderMode::Mip
    };
    PlyComments {
        render_mode: Some(mode),
        kernel_size: Some(look.kernel_size),
        iteration: Some(iteration.into()),
        origin: (origin != [0.0; 3]).then_some(origin),
    }
}

/// The same of models of triangles, as lines of the header.
pub(in crate::run) fn triangle_comments(iteration: u32, origin: [f64; 3]) -> Vec<String> {
    let iteration = format!("iteration {iteration}");
    std::iter::once(iteration)
        .chain(kiln_ply::origin_comment(origin))
        .collect()
}

impl Session {
    /// Evaluates the test views and five training views with the model as it is. Gives the event with which the run
    /// ends, when it is to stop early.
    pub(super) fn evaluate(&mut self) -> Result<Option<Event>, RunError> {
        self.watch.stop(self.now());
        let iteration = self.trainer.iteration();
        self.watched(|watcher, ctx| watcher.evaluation(ctx))?;
        let full;
        let phase = if self.phase.is_full() {
            &self.phase
        } else {
            full = Phase::at(&self.profile, &self.scene, u32::MAX)?;
            &full
        };
        let gaussians = self.trainer.gaussians();
        let t_s = self.watch.elapsed(self.started.elapsed()).as_secs_f64();
        let mut file = EvalFile::new(iteration, gaussians, t_s, LpipsRange::ZeroOne);
        file.vertices = self.trainer.vertices();
        file.mean_opacity = self.trainer.mean_opacity()?;
        file.triangles = file.vertices.map(|_| gaussians);
        let is_last = iteration >= self.profile.schedule.iterations;
        file.poses = self.profile.train.refine_poses.map(|poses| match poses.test_steps {
            0 => PoseSource::Refined,
            _ => PoseSource::Aligned,
        });
        let evaluation = Evaluation {
            scene: &phase.scene,
            store: &phase.store,
            lpips_of: lpips_sets(self.on_cpu, is_last),
            shown: self.profile.eval.views_logged as usize,
            corrected: self.profile.learns_photo_colors(),
            counted: false,
        };
        let mut device = Trained {
            trainer: &mut self.trainer,
            lpips: self.lpips.as_mut(),
        };
        let (sinks, started) = (&mut self.sinks, self.started);
        let (pictures, folder) = (&mut self.pictures, &self.folder);
        let mut last_picture = 0;
        let left_out = evaluation.run(&mut device, &mut file, &mut |reported| {
            let event = match reported {
                Told::Progress(progress) => RunEvent::Progress(progress),
                Told::View(view) => {
                    let view = Arc::new(view);
                    last_picture = pictures.give(folder, view.clone())?;
                    RunEvent::View(view)
                }
            };
            Ok(sinks.emit(&event, started.elapsed())?)
        })?;
        for (id, error) in left_out {
            self.leave_out(iteration, id, &error)?;
        }
        let mean = |set| file.set(set).map(|report| report.mean);
        let (test, train) = (mean(Split::Test), mean(Split::Train));
        if let Some(test) = test {
            self.test_psnr = Some(test.metrics.psnr_image);
        }
        let early_stop = self.early_stop.as_mut();
        let stop = early_stop.and_then(|stagnation| stagnation.take(iteration, test.or(train)));
        let rows = EvalRow::of(&file);
        self.unindexed.push_back((last_picture, file));
        for row in rows {
            self.emit(&RunEvent::Eval(row))?;
        }
        self.index_evaluations(false)?;
        Ok(stop)
    }

    /// True for a training view that no step may see yet, because it judges the growth of the model.
    pub(super) fn is_spared(&self, index: usize) -> bool {
        let judges = self.judges.as_ref().filter(|_| !self.trainer.judged.over);
        judges.is_some_and(|judges| judges.views.contains(&index))
    }

    /// Has the photos that no step has seen judge the model after `iteration`, where they are to.
    pub(super) fn judge(&mut self, iteration: u32) -> Result<(), RunError> {
        let due = |judges: &&Judges| !self.trainer.judged.over && judges.is_due(iteration);
        let Some(judges) = self.judges.as_ref().filter(due).cloned() else {
            return Ok(());
        };
        self.settle()?;
        self.watch.stop(self.now());
        let psnr = self.mean_psnr(iteration, &judges.views)?;
        let mut judged = self.trainer.judged;
        let verdict = judges.take(iteration, psnr, &mut judged);
        self.trainer.judged = judged;
        if judged.over {
            // The photo that waits in the ring was chosen among fewer.
            self.trainer.unstage();
        }
        match verdict {
            Verdict::EndBirths(gain) => {
                let message = judges.end(gain, self.trainer.gaussians());
                self.event(iteration, Event::Chosen { message })
            }
            Verdict::Grow | Verdict::Over => Ok(()),
        }
    }

    /// Mean PSNR of training views with the model as it is, dB; not a number where no photo of them can be used.
    fn mean_psnr(&mut self, iteration: u32, views: &[usize]) -> Result<f64, RunError> {
        let full;
        let phase = if self.phase.is_full() {
            &self.phase
        } else {
            full = Phase::at(&self.profile, &self.scene, u32::MAX)?;
            &full
        };
        let mut device = Trained {
            trainer: &mut self.trainer,
            lpips: None,
        };
        let (mut sum, mut count, mut left_out) = (0.0, 0_u32, Vec::new());
        for &index in views {
            let id = ViewId {
                split: Split::Train,
                index,
            };
            let Some(view) = phase.scene.view(id) else { continue };
            match phase.store.get(id) {
                Ok(photo) => {
                    let camera = device.camera(id, view, &photo)?;
                    let size_px = [camera.width_px, camera.height_px];
                    let sums = device.sums(&camera, &photo, false)?.sums;
                    sum += view_metrics(&sums, size_px, photo.mask().is_some())?.psnr_image;
                    count += 1;
                }
                Err(error) => left_out.push((id, error)),
            }
        }
        for (id, error) in left_out {
            self.leave_out(iteration, id, &error)?;
        }
        Ok(sum / f64::from(count))
    }

    /// Adds evaluations to the index of the run whose pictures are written; all of them when the caller can wait.
    pub(super) fn index_evaluations(&mut self, wait: bool) -> Result<(), RunError> {
        if self.unindexed.is_empty() {
            return Ok(());
        }
        if wait {
            self.pictures.wait()?;
        }
        let done = self.pictures.done()?;
        while let Some((_, file)) = self.unindexed.pop_front_if(|(last, _)| *last <= done) {
            self.folder.write_eval(&file)?;
        }
        Ok(())
    }

    pub(super) fn save(&mut self) -> Result<(), RunError> {
        self.watch.stop(self.now());
        if self.trainer.is_triangles() {
            return self.save_triangles();
        }
        let iteration = self.trainer.iteration();
        let model = self.trainer.model()?;
        let look = Look::of(&self.profile, self.profile.model.sh_degree);
        let comments = comments(&look, iteration, self.scene.origin);
        let mut files = Vec::new();
        for exporter in self.profile.exporters.clone() {
            let (kind, flavor) = match &exporter {
                Exporter::CompressedPly(_) | Exporter::Spz(_) | Exporter::Glb(_) | Exporter::Sog(_) => {
                    files.extend(self.deliver(&model, &exporter, comments)?);
                    continue;
                }
                Exporter::Ply(_) => (PlyKind::Fused, PlyFlavor::Fused),
                // Without a filter there is nothing to fold, nor a column for it: both files are the same.
                Exporter::PlyRaw(_) if look.classic => (PlyKind::Raw, PlyFlavor::Fused),
                Exporter::PlyRaw(_) => (PlyKind::Raw, PlyFlavor::Raw),
            };
            let path = self.folder.ply_path(iteration, kind);
            write_ply(&path, &model, flavor, comments)?;
            let count = u32::try_from(model.len()).unwrap_or(u32::MAX);
            files.push(self.folder.add_ply(iteration, kind, count)?);
        }
        if let Some(poses) = self.trainer.refined_poses()? {
            let refined = camera_records_at(&self.scene, |id, camera| poses.camera(id, camera));
            self.folder
                .write_refined(iteration, &refined, &camera_records(&self.scene))?;
        }
        if let Some(mesh) = self.trainer.mesh()? {
            let (name, path) = self.folder.mesh_path(iteration);
            write_bound(
                &path,
                mesh,
                self.profile.bound().per_triangle,
                &model,
                self.scene.origin,
            )?;
            self.folder.list([name.as_str()])?;
            files.push(name);
        }
        self.event(iteration, Event::Save { files })
    }

    /// Saves a model of triangles, and at the end of the run its mesh for other programs.
    fn save_triangles(&mut self) -> Result<(), RunError> {
        let iteration = self.trainer.iteration();
        let model = self.trainer.triangles()?;
        let path = self.folder.ply_path(iteration, PlyKind::Triangles);
        write_triangles(&model, &triangle_comments(iteration, self.scene.origin), &path)?;
        let count = u32::try_from(model.triangles.len()).unwrap_or(u32::MAX);
        let mut files = vec![self.folder.add_ply(iteration, PlyKind::Triangles, count)?];
        if iteration >= self.profile.schedule.iterations {
            let folder = self.folder.root().join(MESH_FOLDER);
            let (written, _) =
                export_triangles((&model, &path), (&self.profile.mesh.formats, Up::Scene), &folder, false)?;
            let root = self.folder.root();
            let inside = written.iter().filter(|path| path.starts_with(root));
            let names: Vec<String> = inside.map(|path| name_inside(root, path)).collect();
            self.folder.list(names.iter().map(String::as_str))?;
            files.extend(names);
        }
        self.event(iteration, Event::Save { files })
    }

    /// Writes a model for viewers; a part of it that is empty ends no run.
    fn deliver(
        &mut self,
        model: &Gaussians,
        exporter: &Exporter,
        comments: PlyComments,
    ) -> Result<Option<String>, RunError> {
        let Some((format, mut subset)) = Format::of_exporter(exporter) else {
            return Ok(None);
        };
        subset.origin = self.scene.origin;
        let iteration = self.trainer.iteration();
        let (name, path) = self.folder.delivery_path(iteration, format.ending());
        let written = Chosen::new(model, &subset).and_then(|chosen| deliver(&path, chosen, format, comments));
        match written {
            Ok(_) => {
                self.folder.list([name.as_str()])?;
                Ok(Some(name))
            }
            Err(DeliveryError::Write(error)) => Err(error.into()),
            Err(error) => {
                let message = format!("{name} is not written: {error}");
                self.event(iteration, Event::Warning { message })?;
                Ok(None)
            }
        }
    }

    pub(super) fn checkpoint(&mut self) -> Result<(), RunError> {
        self.watch.stop(self.now());
        // A resumed run does not evaluate again what lies before its checkpoint.
        self.index_evaluations(true)?;
        let t_s = self.watch.elapsed(self.now()).as_secs_f64();
        let folder = self.folder.checkpoints();
        let asked = [&self.profile.schedule.checkpoint[..], &self.kept].concat();
        let path = self
            .trainer
            .checkpoint(&self.scene, &self.sampler, t_s, (&folder, &asked))?;
        let path = name_inside(self.folder.root(), &path);
        (self.checkpointed, self.saved_at) = (Instant::now(), Some(self.trainer.iteration()));
        self.folder.reach(self.trainer.iteration())?;
        self.event(self.trainer.iteration(), Event::Save { files: vec![path] })
    }

    /// Saves the model of a run that was asked to end, unless it is saved already. The checkpoint is there: a disk that is full
    /// now costs the files for viewers.
    pub(super) fn save_what_was_reached(&mut self) -> Result<(), RunError> {
        let iteration = self.trainer.iteration();
        if self.folder.record().plys.iter().any(|ply| ply.iteration == iteration) {
            return Ok(());
        }
        match self.save() {
            Err(RunError::Export(error @ ExportError::DiskFull { .. })) => {
                let message = format!("the model is not saved: {error}; the checkpoint has it");
                self.event(iteration, Event::Warning { message })
            }
            other => other,
        }
    }

    /// A full disk costs a checkpoint that may come later, not the run: the one before is still there.
    pub(super) fn checkpoint_if_there_is_room(&mut self) -> Result<(), RunError> {
        match self.checkpoint() {
            Err(
                RunError::Export(error @ ExportError::DiskFull { .. })
                | RunError::Train(TrainError::Export(error @ ExportError::DiskFull { .. })),
            ) => {
                let message = format!("{error}; training goes on, and the checkpoint before stays");
                self.event(self.trainer.iteration(), Event::Warning { message })
            }
            other => other,
        }
    }
}
