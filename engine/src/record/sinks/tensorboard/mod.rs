//! An event file for TensorBoard: `events.out.tfevents.*`.
//!
//! Scalars every few steps, memory and telemetry less often, histograms and images when they come. Records are made on
//! the caller's thread and written by another; images are reduced, encoded and dropped there. What is written reaches the
//! system after every evaluation, histogram and save, and every 100 steps. A resumed run starts a file of its own that
//! voids later steps of older files.
//!
//! Tags are those that tools of 3D Gaussian Splatting already read. `_gb` and `_GB` are GiB, `_MB` is MiB.

mod record;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use self::record::{Bins, Event as Record};
use super::worker::Worker;
use super::{FLUSH_EVERY, Receiver, Stamp};
use crate::eval::{Picture, PictureError};
use crate::export::ExportError;
use crate::record::evaluated_view::{EvaluatedView, PictureKind};
use crate::record::events::{EvalRow, Event, GpuRow, Histograms, MemoryRow, Primitive, RunEvent, TrainRow};
use kiln_config::plugins::TensorboardOptions;
use kiln_gpu::vk::Throttle;
use kiln_kernels::histogram::Quantity;

/// How names of event files begin; TensorBoard looks for it.
pub const EVENTS_PREFIX: &str = "events.out.tfevents.";

/// Records that wait for the writing thread. Views, which are large, wait two at a time.
const ROOM: usize = 16;

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

/// Work of the writing thread.
enum Job {
    Record(Vec<u8>),
    View {
        wall_s: f64,
        view: Arc<EvaluatedView>,
        of: Primitive,
        with_photo: bool,
    },
    Flush,
}

/// Writes an event file.
pub struct Tensorboard {
    name: String,
    worker: Worker<Job>,
    options: TensorboardOptions,
    stamp: Stamp,
    /// What the model is made of.
    primitive: Primitive,
    /// Iterations of the run: the last one always gets its scalars.
    last: Option<u32>,
    flushed_at: u32,
    /// Iteration and training seconds of the last record.
    timed: Option<(u32, f64)>,
    /// Iteration of the last evaluation whose model was described.
    described: Option<u32>,
    /// Numbers of the last two views handed over.
    views: [u64; 2],
    /// Views whose photograph is in the file.
    photographed: BTreeSet<(&'static str, String)>,
}

impl Tensorboard {
    /// Name of the file, inside its folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.name
    }

    /// Makes the file in `folder`; images are reduced to `image_px` on their longer side.
    ///
    /// # Errors
    /// [`ExportError`] when it cannot be made.
    pub fn create(
        folder: &Path,
        options: &TensorboardOptions,
        image_px: u32,
        stamp: &Stamp,
    ) -> Result<Self, ExportError> {
        let name = unused_name(folder, stamp);
        let path = folder.join(&name);
        let fail = |source| ExportError::new(&path, source);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(fail)?;
        Self::over(file, (name, &path), options, image_px, stamp)
    }

    /// Writes to `file`, which has that name and path.
    fn over(
        file: File,
        (name, path): (String, &Path),
        options: &TensorboardOptions,
        image_px: u32,
        stamp: &Stamp,
    ) -> Result<Self, ExportError> {
        let fail = |source| ExportError::new(path, source);
        let mut out = BufWriter::new(file);
        record::write(&mut out, &Record::version(stamp.unix.as_secs_f64())).map_err(fail)?;
        let at = path.to_owned();
        let act = move |job| work(job, &mut out, image_px).map_err(|source| ExportError::new(&at, source));
        Ok(Self {
            name,
            worker: Worker::start("tensorboard", path, ROOM, act)?,
            options: options.clone(),
            stamp: stamp.clone(),
            primitive: Primitive::default(),
            last: None,
            flushed_at: 0,
            timed: None,
            described: None,
            views: [0; 2],
            photographed: BTreeSet::new(),
        })
    }

    fn wall_s(&self, now: Duration) -> f64 {
        (self.stamp.unix + now).as_secs_f64()
    }

    fn scalars<'a>(
        &mut self,
        it: u32,
        now: Duration,
        scalars: impl IntoIterator<Item = (&'a str, Option<f64>)>,
    ) -> Result<(), ExportError> {
        let mut record = Record::new(self.wall_s(now), it);
        for (tag, value) in scalars {
            if let Some(value) = value {
                #[expect(clippy::cast_possible_truncation, reason = "the file holds f32")]
                record.scalar(tag, value as f32);
            }
        }
        self.put(record.finish())
    }

    fn put(&mut self, payload: Option<Vec<u8>>) -> Result<(), ExportError> {
        match payload {
            Some(payload) => self.worker.give(Job::Record(payload)).map(drop),
            None => Ok(()),
        }
    }

    /// Lets the thread hand its buffer to the system, without waiting for it.
    fn flush_later(&mut self, it: u32) -> Result<(), ExportError> {
        self.flushed_at = it;
        self.worker.give(Job::Flush).map(drop)
    }

    fn train(&mut self, row: &TrainRow, now: Duration) -> Result<(), ExportError> {
        if row.it.is_multiple_of(self.options.every) || Some(row.it) == self.last {
            let ms = self.timed.and_then(|(it, t_s)| {
                let steps = row.it.checked_sub(it).filter(|steps| *steps > 0)?;
                Some(1000.0 * (row.t_s - t_s) / f64::from(steps))
            });
            self.timed = Some((row.it, row.t_s));
            let n = f64::from(row.gaussians);
            let [total, visible] = match self.primitive {
                Primitive::Gaussians => ["3_gaussians/total_count_K", "3_gaussians/visible_count_K"],
                Primitive::Triangles => ["3_triangles/total_count_K", "3_triangles/visible_count_K"],
            };
            let vertices = row.vertices.map(f64::from);
            self.scalars(
                row.it,
                now,
                [
                    ("train_loss_patches/l1_loss", Some(row.l1.into())),
                    ("train_loss_patches/total_loss", Some(row.loss.into())),
                    ("train_loss_patches/normal_loss", row.normals.map(f64::from)),
                    ("train_loss_patches/density_loss", row.density.map(f64::from)),
                    (
                        "train_loss_patches/density_normal_loss",
                        row.density_normals.map(f64::from),
                    ),
                    (
                        "train_loss_patches/neighbour_geometry_loss",
                        row.neighbour_geometry.map(f64::from),
                    ),
                    (
                        "train_loss_patches/neighbour_photometric_loss",
                        row.neighbour_photometric.map(f64::from),
                    ),
                    ("iter_time", ms),
                    // The points that are trained: of triangles these are vertices.
                    ("total_points", vertices.or(Some(n))),
                    (total, Some(n / 1000.0)),
                    (visible, Some(f64::from(row.visible) / 1000.0)),
                    ("3_triangles/vertex_count_K", vertices.map(|vertices| vertices / 1000.0)),
                    ("4_performance/iterations_per_second", row.its.map(f64::from)),
                ],
            )?;
        }
        if row.it.abs_diff(self.flushed_at) >= FLUSH_EVERY {
            self.flush_later(row.it)?;
        }
        Ok(())
    }

    fn eval(&mut self, row: &EvalRow, now: Duration) -> Result<(), ExportError> {
        let figures = [
            ("l1", Some(row.l1)),
            ("psnr", Some(row.psnr)),
            ("psnr_image", Some(row.psnr_image)),
            ("psnr_image_median", row.spread.median),
            (
                "psnr_image_worst",
                row.spread.worst.as_ref().map(|view| view.psnr_image),
            ),
            ("worst_fog_share", row.spread.worst_fog_share),
            ("ssim", Some(row.ssim)),
            ("ssim_valid", row.ssim_valid),
            ("lpips", row.lpips),
            ("psnr_fitted_half", row.psnr_fitted_half),
        ];
        let tags = figures.map(|(name, value)| (format!("{}/loss_viewpoint_{name}", row.set.name()), value));
        self.scalars(row.it, now, tags.iter().map(|(tag, value)| (tag.as_str(), *value)))?;
        // Both sets are of one model.
        if self.described.replace(row.it) != Some(row.it) {
            self.scalars(row.it, now, [("scene/mean_opacity", row.mean_opacity)])?;
        }
        self.flush_later(row.it)
    }

    fn memory(&mut self, row: &MemoryRow, now: Duration) -> Result<(), ExportError> {
        if !(row.it == 1 || row.it.is_multiple_of(self.options.memory_every())) {
            return Ok(());
        }
        let gib = |bytes: u64| Some(bytes as f64 / GIB);
        self.scalars(
            row.it,
            now,
            [
                ("memory/vram_allocated_gb", gib(row.allocated)),
                ("memory/vram_reserved_gb", gib(row.reserved)),
                ("memory/vram_creep_gb", Some(row.vram_creep as f64 / GIB)),
                ("memory/vram_peak_gb", gib(row.peak_allocated)),
                ("memory/vram_peak_reserved_gb", gib(row.peak_reserved)),
                ("memory/host_heap_usage_gb", row.host_heap_usage.and_then(gib)),
                ("memory/heap_usage_gb", row.heap_usage.and_then(gib)),
                ("memory/heap_budget_gb", row.heap_budget.and_then(gib)),
                ("memory/process_resident_gb", row.process_resident.and_then(gib)),
                ("memory/places_used", row.places_used.map(|places| places as f64)),
                ("4_performance/vram_allocated_GB", gib(row.allocated)),
                ("TensorProfiling/fragmentation_percent", Some(100.0 * row.overhead)),
                ("TensorProfiling/Large_Tensors/count", Some(row.large_tensors.into())),
            ],
        )?;
        let of_run = row.tags.iter().map(|(tag, bytes)| ("Tensor_Category", tag, bytes));
        let of_arena = row.arena.iter().map(|(tag, bytes)| ("Arena_Category", tag, bytes));
        let tags: Vec<_> = of_run
            .chain(of_arena)
            .map(|(group, tag, bytes)| (format!("TensorProfiling/{group}/{tag}_MB"), *bytes as f64 / MIB))
            .collect();
        self.scalars(row.it, now, tags.iter().map(|(tag, mib)| (tag.as_str(), Some(*mib))))
    }

    fn gpu(&mut self, row: &GpuRow, now: Duration) -> Result<(), ExportError> {
        if !row.it.is_multiple_of(self.options.gpu_every()) {
            return Ok(());
        }
        let s = &row.sample;
        let reason = |reason| {
            let reasons = s.throttle.as_ref()?;
            Some(f64::from(u8::from(reasons.contains(&reason))))
        };
        let whole = |value: Option<u32>| value.map(f64::from);
        let real = |value: Option<f32>| value.map(f64::from);
        let figures = [
            ("compute_percent", whole(s.compute_percent)),
            ("memory_percent", real(s.memory_percent)),
            ("memory_bus_percent", whole(s.memory_bus_percent)),
            ("temperature_celsius", whole(s.temperature_celsius)),
            ("power_watts", real(s.power_watts)),
            ("power_limit_watts", real(s.power_limit_watts)),
            ("fan_percent", whole(s.fan_percent)),
            ("clock_graphics_mhz", whole(s.clock_graphics_mhz)),
            ("clock_sm_mhz", whole(s.clock_sm_mhz)),
            ("clock_memory_mhz", whole(s.clock_memory_mhz)),
            ("pstate", whole(s.pstate)),
            ("throttle_hw_slowdown", reason(Throttle::HwSlowdown)),
            ("throttle_sw_power_cap", reason(Throttle::SwPowerCap)),
            ("throttle_sw_thermal", reason(Throttle::SwThermal)),
            ("throttle_hw_thermal", reason(Throttle::HwThermal)),
        ];
        let tags = figures.map(|(name, value)| (format!("4_performance/gpu_{name}"), value));
        self.scalars(row.it, now, tags.iter().map(|(tag, value)| (tag.as_str(), *value)))
    }

    fn histograms(&mut self, histograms: &Histograms, now: Duration) -> Result<(), ExportError> {
        let mut record = Record::new(self.wall_s(now), histograms.it);
        for (quantity, counts) in Quantity::ALL.into_iter().zip(histograms.counts.iter()) {
            let tag = match quantity {
                Quantity::Opacity => "scene/opacity_histogram",
                Quantity::Scale => "scene/scale_histogram",
                Quantity::Rotation => "scene/rotation_magnitude_histogram",
                Quantity::Distance => "scene/xyz_magnitude_histogram",
            };
            let edges = quantity.edges();
            record.histogram(tag, &Bins { edges: &edges, counts });
        }
        self.put(record.finish())?;
        self.flush_later(histograms.it)
    }

    fn view(&mut self, view: &Arc<EvaluatedView>, now: Duration) -> Result<(), ExportError> {
        let job = Job::View {
            wall_s: self.wall_s(now),
            view: view.clone(),
            of: self.primitive,
            with_photo: self.photographed.insert((view.set.name(), view.stem.clone())),
        };
        self.worker.wait_until(self.views[0])?;
        self.views = [self.views[1], self.worker.give(job)?];
        Ok(())
    }
}

impl Receiver for Tensorboard {
    fn take(&mut self, event: &RunEvent, now: Duration) -> Result<(), ExportError> {
        match event {
            RunEvent::Start(start) => {
                (self.last, self.primitive) = (Some(start.iterations), start.primitive);
                self.flushed_at = start.from;
                if start.from > 0 {
                    self.put(Some(Record::restart(self.wall_s(now), start.from + 1)))?;
                }
                self.flush_later(start.from)
            }
            RunEvent::Train(row) => self.train(row, now),
            RunEvent::Eval(row) => self.eval(row, now),
            RunEvent::Event(row) => match row.event {
                // A run that begins anew in its folder starts from 0, as a new one does: only this event sets it apart.
                Event::Resume { .. } if row.it == 0 => self.put(Some(Record::restart(self.wall_s(now), 1))),
                Event::Save { .. } | Event::EarlyStop { .. } => self.flush_later(row.it),
                _ => Ok(()),
            },
            RunEvent::Memory(row) => self.memory(row, now),
            RunEvent::Gpu(row) => self.gpu(row, now),
            RunEvent::Histograms(histograms) => self.histograms(histograms, now),
            RunEvent::View(view) => self.view(view, now),
            RunEvent::Progress(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.worker.give(Job::Flush)?;
        self.worker.wait()
    }
}

/// Name of a file that a process begins at `stamp`; numbered, because a process may begin two in a second.
fn unused_name(folder: &Path, stamp: &Stamp) -> String {
    let Stamp { unix, host, process } = stamp;
    let head = format!("{EVENTS_PREFIX}{}.{host}.{process}", unix.as_secs());
    let is_used = |name: &String| folder.join(name).symlink_metadata().is_ok();
    (0_u32..)
        .map(|number| format!("{head}.{number}"))
        .find(|name| !is_used(name))
        .unwrap_or(head)
}

fn work(job: Job, out: &mut BufWriter<File>, image_px: u32) -> std::io::Result<()> {
    match job {
        Job::Record(payload) => record::write(out, &payload),
        Job::Flush => out.flush(),
        Job::View {
            wall_s,
            view,
            of,
            with_photo,
        } => {
            for (name, picture) in images(&view, of, with_photo) {
                let picture = picture.map_err(std::io::Error::other)?.reduced(image_px);
                let mut record = Record::new(wall_s, view.it);
                let tag = format!("{}_view_{}/{name}", view.set.name(), view.stem);
                record.image(&tag, picture.size_px(), &picture.png()?);
                if let Some(payload) = record.finish() {
                    record::write(out, &payload)?;
                }
            }
            Ok(())
        }
    }
}

/// Names and pictures of a view, made one at a time.
fn images(
    view: &EvaluatedView,
    of: Primitive,
    with_photo: bool,
) -> impl Iterator<Item = (&'static str, Result<Picture, PictureError>)> {
    let kinds = PictureKind::ALL.into_iter().map(move |kind| {
        let name = match kind {
            PictureKind::Render => "render",
            PictureKind::Error => "error_map",
            PictureKind::Density if of == Primitive::Triangles => "triangles_per_tile",
            PictureKind::Density => "gaussians_per_tile",
            PictureKind::DensityProxy if of == Primitive::Triangles => "triangle_density_heatmap",
            PictureKind::DensityProxy => "gaussian_density_heatmap",
        };
        (name, view.picture(kind))
    });
    let photo = with_photo.then(|| ("ground_truth", view.photograph()));
    kinds.chain(photo)
}

#[cfg(test)]
mod tests;
