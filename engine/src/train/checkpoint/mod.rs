//! Complete, resumable state of a run on disk.
//!
//! Owns the `checkpoints/` folder: one file per checkpoint, written under a temporary name and renamed, the latest two
//! kept. A checkpoint holds everything that decides the next step: parameters, both moments, statistics, filter, step
//! counts, the view sampler. Planes are stored over all Gaussians, so another chunk size may read them, and as the device
//! has them: only a run with the same `memory.storage` may go on. SH planes are in the order of degrees, so that a run of
//! a lower degree reads the first ones.

mod file;
mod folder;
mod planes;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use file::CheckpointError;
use file::CheckpointReader;
pub use folder::{checkpoint_path, kept, list};
use planes::Stored;

use super::judged::Judged;
use super::peaks::Peaks;
use super::uniforms::GroupSteps;
use crate::export::disk_of_process;
use crate::step::{Capacities, StepTensors, mesh_state};
use kiln_config::plugins::{Auto, DensityOptions, Regularizer};
use kiln_config::{PhotoColors, Profile};
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_kernels::counters::Counters;
use kiln_kernels::neighbors::Part;
use kiln_kernels::views::Variants;
use kiln_program::Span;
use kiln_scene::{SceneIndex, ViewSampler};

/// Name of the neighbours that the terms of the density go by: those of the last search, not of the centres as they are.
const NEIGHBORS: &str = "neighbors";

/// Host-side state of a run at a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckpointState {
    /// Iterations done.
    pub iteration: u32,
    /// Gaussians in use.
    pub gaussians: u32,
    /// Vertices in use, of a model of triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u32>,
    /// SH degree of the storage.
    pub sh_degree: u32,
    /// Optimiser steps per group.
    pub(crate) steps: GroupSteps,
    /// Remaining order of the training views.
    pub sampler: ViewSampler,
    /// Training-loop seconds so far.
    pub t_s: f64,
    /// Gaussians skipped so far for a non-finite gradient.
    pub skipped: u32,
    /// Largest memory figures so far.
    #[serde(default)]
    pub peaks: Peaks,
    /// How photos that are left out of training have judged the growth.
    #[serde(default, skip_serializing_if = "Judged::is_none")]
    pub judged: Judged,
    /// Steps left out so far because they were not finite.
    #[serde(default)]
    pub skipped_steps: u32,
    /// Sizes of the run.
    pub capacities: Capacities,
    /// Kernel variants of the run.
    pub variants: Variants,
    /// The neighbours of Gaussians are known.
    #[serde(default)]
    pub neighbors: bool,
    /// Digest of the scene's views and points.
    pub scene: String,
    /// The resolved profile, see [`settings`].
    pub profile: Value,
}

impl CheckpointState {
    /// The run's near plane, world units.
    #[must_use]
    pub fn near_z(&self) -> Option<f32> {
        #[expect(clippy::cast_possible_truncation, reason = "it was an f32")]
        let number = |near: f64| near as f32;
        self.profile.pointer("/model/near")?.as_f64().map(number)
    }

    /// What keeps a run with `profile` and `scene` from going on from this state; `None` when nothing does. Iterations,
    /// outputs, evaluation, device and memory caps may differ, and `variants` as long as bytes need not be the same.
    #[must_use]
    pub fn mismatch(&self, profile: &Profile, scene: &SceneIndex, variants: &Variants) -> Option<String> {
        let (had, asked) = (self.sh_degree, profile.model.sh_degree);
        if had < asked {
            return Some(format!(
                "it was trained with `model.sh_degree` {had}, and {asked} is set; there is nothing to fill the \
                 others with"
            ));
        }
        let (had, asked) = (self.capacities.storage, profile.memory.storage);
        if had != asked {
            return Some(format!(
                "it was trained with `memory.storage` {}, and {} is set; stored moments cannot be converted",
                had.name(),
                asked.name()
            ));
        }
        if self.scene != scene_digest(scene) {
            let what = "it was trained on another scene, split or resolution";
            return Some(match self.other_scene(profile) {
                Some(setting) => format!("{what}: {setting}"),
                None => what.to_owned(),
            });
        }
        let mut asked = profile.clone();
        asked.model.near = asked.model.near.or_else(|| self.near_z());
        let settings = difference("", &core(self.profile.clone()), &core(settings(&asked)));
        let kernels = || {
            // Which give the same bytes.
            let same_loops = Variants {
                loops: self.variants.loops,
                ..*variants
            };
            let text = |variants| serde_json::to_string(variants).unwrap_or_default();
            (profile.train.deterministic && self.variants != same_loops).then(|| {
                format!(
                    "`train.deterministic` is on, it was trained with kernels {} and this run has {}",
                    text(&self.variants),
                    text(variants)
                )
            })
        };
        settings.or_else(kernels)
    }

    /// What a run with `profile` makes of this state other than people may think.
    #[must_use]
    pub fn notes(&self, profile: &Profile) -> Vec<String> {
        let gaussians = self.vertices.map_or(self.gaussians, |_| 0);
        let mut notes = notes(
            [self.sh_degree, profile.model.sh_degree],
            [gaussians, profile.memory.max_gaussians.number()],
        );
        if self.neighbors && !self.has_neighbors_of(profile) {
            let (had, asked) = (self.number_of_neighbors(), profile.density().map(|options| options.k));
            let [had, asked] = [had, asked].map(|k| k.unwrap_or_default());
            notes.push(format!(
                "the regularizer `density` had {had} neighbours per Gaussian and has {asked} now: they are found anew"
            ));
        }
        notes
    }

    /// True when the neighbours in this state are as many per Gaussian as `profile` wants.
    #[must_use]
    pub fn has_neighbors_of(&self, profile: &Profile) -> bool {
        profile
            .density()
            .is_none_or(|options| self.number_of_neighbors().is_none_or(|had| had == options.k))
    }

    /// Neighbours per Gaussian in this state.
    fn number_of_neighbors(&self) -> Option<u32> {
        let terms = self.profile.get("regularizers")?.as_array()?;
        let density = terms.iter().find(|term| term["kind"] == "density")?;
        u32::try_from(density["k"].as_u64()?).ok()
    }

    /// The first setting that makes another scene of the same photos, or names other photos.
    fn other_scene(&self, profile: &Profile) -> Option<String> {
        let asked = settings(profile);
        ["resolution", "hold_out", "images", "undistort", "path"]
            .into_iter()
            .find_map(|key| {
                let at = format!("/dataset/{key}");
                let both = self.profile.pointer(&at).zip(asked.pointer(&at));
                both.and_then(|(had, asked)| difference(&format!("dataset.{key}"), had, asked))
            })
    }

    /// `profile` with what the run began with in place of `auto`: background and photo colours.
    pub(crate) fn chosen(&self, mut profile: Profile) -> Profile {
        let began = self.profile.pointer("/init/background").cloned();
        let began = began.and_then(|count| serde_json::from_value::<Auto<u32>>(count).ok());
        if let (Some(background), Some(began)) = (profile.init.background_mut(), began)
            && *background == Auto::Auto
        {
            *background = began;
        }
        if profile.train.photo_colors == PhotoColors::Auto {
            let began = self.profile.pointer("/train/photo_colors").cloned();
            let began = began.and_then(|choice| serde_json::from_value(choice).ok());
            // Runs from before there was a choice had none.
            profile.train.photo_colors = began.unwrap_or(PhotoColors::Off);
        }
        profile
    }
}

/// What is to be said of a degree and a number of Gaussians, each as it is and as it is asked for.
fn notes([had, asked]: [u32; 2], [gaussians, most]: [u32; 2]) -> Vec<String> {
    let dropped = (had > asked)
        .then(|| format!("the checkpoint has SH degree {had}: coefficients above degree {asked} are dropped"));
    let full = (gaussians > most).then(|| {
        format!(
            "the model keeps its {gaussians} Gaussians, which are more than the {most} of `memory.max_gaussians`, and grows no \
             more"
        )
    });
    dropped.into_iter().chain(full).collect()
}

/// A profile as a checkpoint holds it.
#[must_use]
pub fn settings(profile: &Profile) -> Value {
    whole(profile)
}

/// Through text, because numbers are then those that people wrote, not their binary neighbours.
fn whole(settings: &impl Serialize) -> Value {
    let text = serde_json::to_string(settings).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The settings that decide what the next step computes.
fn core(mut profile: Value) -> Value {
    if profile.pointer("/model/kind").and_then(Value::as_str) != Some("triangles")
        && let Some(profile) = profile.as_object_mut()
    {
        profile.remove("mesh_splatting");
    }
    // Neighbours are found anew where there are others.
    let terms = profile.get_mut("regularizers").and_then(Value::as_array_mut);
    for term in terms.into_iter().flatten() {
        if *term == "density" {
            // A name alone has the defaults.
            let plain = Regularizer::Density(DensityOptions::default());
            *term = whole(&plain);
        }
        if let Some(term) = term.as_object_mut().filter(|term| term["kind"] == "density") {
            term.remove("k");
        }
    }
    for path in [
        "run",
        "dataset.path",
        "dataset.residency",
        "dataset.cache_gib",
        // Another picture is another camera, and so another scene.
        "dataset.undistort",
        // Degree and storage have messages of their own.
        "model.sh_degree",
        "memory",
        "schedule.iterations",
        "schedule.test",
        "schedule.save",
        "schedule.checkpoint",
        "schedule.early_stop",
        "schedule.live_seconds",
        "optimizer.deferred_sh",
        // Of larger runs: this one has `schedule.iterations`.
        "bound.iterations",
        "eval",
        // What the first model had behind it, in the checkpoint as points.
        "init.background",
        "device",
        "diagnose",
        "mesh",
        "exporters",
        "sinks",
    ] {
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        let section = if section.is_empty() {
            Some(&mut profile)
        } else {
            profile.get_mut(section)
        };
        if let Some(section) = section.and_then(Value::as_object_mut) {
            section.remove(key);
        }
    }
    profile
}

/// First key at which two configurations differ.
fn difference(path: &str, a: &Value, b: &Value) -> Option<String> {
    if let (Some(left), Some(right)) = (a.as_object(), b.as_object()) {
        let keys: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
        return keys.into_iter().find_map(|key| {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            difference(
                &path,
                left.get(key).unwrap_or(&Value::Null),
                right.get(key).unwrap_or(&Value::Null),
            )
        });
    }
    // A number that went through a file may have lost its last bit.
    let close = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * a.abs();
    let same = a == b || a.as_f64().zip(b.as_f64()).is_some_and(close);
    (!same).then(|| format!("`{path}` was {a}, and {b} is set"))
}

/// Digest of what makes two scenes the same for training: views in order with sizes and poses, points, split.
#[must_use]
pub fn scene_digest(scene: &SceneIndex) -> String {
    use sha2::{Digest as _, Sha256};
    let mut digest = Sha256::new();
    for (id, view) in scene.views() {
        // A pinhole reads as it did before cameras could have a lens: checkpoints of then go on.
        let camera = format!("{:?}", view.camera).replace(", lens: None", "");
        digest.update(format!("{id:?} {} {camera}\n", view.name));
    }
    for point in &scene.points {
        digest.update(format!("{point:?}\n"));
    }
    digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// What a run has beside its Gaussians: what photos and cameras have learnt, and the mesh that Gaussians are bound to.
fn beside(tensors: &StepTensors) -> Vec<(&'static str, Span)> {
    let learnt = tensors
        .learnt(&[])
        .into_iter()
        .map(|learnt| (learnt.name, learnt.state));
    learnt.chain(tensors.bound.iter().flat_map(mesh_state)).collect()
}

/// Where the neighbours of the Gaussians there are lie, in their order; nowhere where they are not known, or others than these.
fn neighbors(tensors: &StepTensors, state: &CheckpointState) -> Vec<Span> {
    let found = tensors.density.as_ref().filter(|_| state.neighbors);
    let Some(found) = found.map(|density| &density.neighbors) else {
        return Vec::new();
    };
    if state.number_of_neighbors().is_some_and(|had| had != found.k) {
        return Vec::new();
    }
    let parts = found.parts.iter().filter(|part| part.first < state.gaussians);
    let used = |part: &Part| {
        let count = (state.gaussians - part.first).min(part.count);
        part.neighbors.slice(0, 4 * u64::from(found.k) * u64::from(count))
    };
    parts.map(used).collect()
}

/// Writes a checkpoint into `folder`; the one before it stays and those of iterations `asked` for, older ones go.
///
/// # Errors
/// [`ExportError`](crate::export::ExportError) when the file cannot be written, [`MemoryError`] when the device fails;
/// older files are untouched.
pub(super) fn write(
    gpu: &mut Gpu,
    tensors: &StepTensors,
    state: &CheckpointState,
    (folder, asked): (&Path, &[u32]),
) -> Result<PathBuf, crate::train::TrainError> {
    let model = planes::stored(tensors, state);
    let others = beside(tensors);
    let neighbors = neighbors(tensors, state);
    let beside_bytes: u64 = others.iter().map(|(_, view)| view.bytes).sum();
    let neighbor_bytes: u64 = neighbors.iter().map(|span| span.bytes).sum();
    let bytes = model.iter().map(Stored::bytes).sum::<u64>() + beside_bytes + neighbor_bytes;
    let mut device_error = None;
    folder::write(
        disk_of_process(),
        (folder, asked),
        state.iteration,
        bytes,
        state,
        |writer| {
            for Stored { name, parts } in &model {
                writer.begin(name);
                for part in parts {
                    match gpu.download(part) {
                        Ok(values) => writer.put(&values)?,
                        Err(error) => {
                            device_error = Some(error);
                            return Err(io::Error::other("the device failed while the model was read back"));
                        }
                    }
                }
            }
            if !neighbors.is_empty() {
                writer.begin(NEIGHBORS);
            }
            for part in &neighbors {
                match gpu.download(part) {
                    Ok(values) => writer.put(&values)?,
                    Err(error) => {
                        device_error = Some(error);
                        return Err(io::Error::other("the device failed while neighbours were read back"));
                    }
                }
            }
            for (name, view) in &others {
                writer.begin(name);
                match gpu.download(view) {
                    Ok(values) => writer.put(&values)?,
                    Err(error) => {
                        device_error = Some(error);
                        return Err(io::Error::other(format!(
                            "the device failed while {name} were read back"
                        )));
                    }
                }
            }
            Ok(())
        },
    )
    .map_err(|e| {
        device_error.map_or(
            crate::train::error::TrainError::Export(e),
            crate::train::error::TrainError::Memory,
        )
    })
}

/// Opens a checkpoint: a file, or the newest sound one in a folder. Every byte is checked. Damaged newer files are named
/// in the second value.
///
/// # Errors
/// [`CheckpointError`] when there is none, or none that is sound.
pub fn open(path: &Path) -> Result<(OpenCheckpoint, Vec<String>), CheckpointError> {
    let ((path, reader), passed) = if path.is_file() {
        ((path.to_owned(), CheckpointReader::open_sound(path)?), Vec::new())
    } else {
        folder::newest_sound(path)?
    };
    Ok((OpenCheckpoint { path, reader }, passed))
}

/// [`open`] of a folder that may have none.
///
/// # Errors
/// [`CheckpointError`] when none of those in it is sound.
pub(crate) fn open_any(folder: &Path) -> Result<Option<(OpenCheckpoint, Vec<String>)>, CheckpointError> {
    match open(folder) {
        Err(CheckpointError::None(_)) => Ok(None),
        found => found.map(Some),
    }
}

/// A checkpoint ready to be loaded.
pub struct OpenCheckpoint {
    path: PathBuf,
    reader: CheckpointReader<CheckpointState, File>,
}

impl OpenCheckpoint {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its host-side state.
    #[must_use]
    pub fn state(&self) -> &CheckpointState {
        self.reader.state()
    }

    /// Checks that a run with `profile`, `scene` and kernels `variants` may go on from here.
    ///
    /// # Errors
    /// [`CheckpointError::Mismatch`] naming what differs, [`CheckpointError::Over`] for a run that would be over.
    pub fn check(&self, profile: &Profile, scene: &SceneIndex, variants: &Variants) -> Result<(), CheckpointError> {
        let what = match self.state().mismatch(profile, scene, variants) {
            Some(what) => what,
            None if self.state().iteration >= profile.schedule.iterations => {
                return Err(CheckpointError::Over {
                    path: self.path.clone(),
                    iteration: self.state().iteration,
                    asked: profile.schedule.iterations,
                });
            }
            None => return Ok(()),
        };
        Err(CheckpointError::Mismatch {
            path: self.path.clone(),
            what,
        })
    }

    /// Uploads every plane; the count of Gaussians is set last.
    ///
    /// # Errors
    /// [`CheckpointError`] when a tensor does not match its digest; the device then holds an incomplete model.
    pub(super) fn load(&mut self, gpu: &mut Gpu, tensors: &StepTensors) -> Result<(), crate::train::TrainError> {
        let n = self.state().gaussians;
        if n > tensors.capacities.n_cap {
            return Err(CheckpointError::Mismatch {
                path: self.path.clone(),
                what: format!("it holds {n} Gaussians, the plan {}", tensors.capacities.n_cap),
            }
            .into());
        }
        let room = tensors.capacities.triangles.map(|sizes| sizes.vertices);
        if self.state().vertices > room {
            return Err(CheckpointError::Mismatch {
                path: self.path.clone(),
                what: format!(
                    "it holds {} vertices, the plan {}",
                    self.state().vertices.unwrap_or(0),
                    room.unwrap_or(0)
                ),
            }
            .into());
        }
        let mut values = Vec::new();
        for stored in planes::stored(tensors, self.state()) {
            values.clear();
            self.reader.read(&stored.name, stored.bytes(), |_, piece| {
                values.extend_from_slice(piece);
            })?;
            let mut rest = &values[..];
            for part in &stored.parts {
                let (here, behind) = rest.split_at(rest.len().min(part.bytes as usize));
                gpu.upload(part, here)?;
                rest = behind;
            }
        }
        let neighbors = neighbors(tensors, self.state());
        if !neighbors.is_empty() {
            let bytes = neighbors.iter().map(|span| span.bytes).sum();
            let mut values = Vec::new();
            self.reader
                .read(NEIGHBORS, bytes, |_, piece| values.extend_from_slice(piece))?;
            let mut rest = &values[..];
            for part in &neighbors {
                let (here, behind) = rest.split_at(rest.len().min(part.bytes as usize));
                gpu.upload(part, here)?;
                rest = behind;
            }
        }
        for (name, view) in beside(tensors) {
            let mut values = Vec::new();
            let take = |_, piece: &[u8]| values.extend_from_slice(piece);
            self.reader.read(name, view.bytes, take)?;
            gpu.upload(&view, &values)?;
        }
        let counters = Counters {
            gaussians: n,
            skipped: self.state().skipped,
            ..Counters::default()
        };
        gpu.write(&tensors.shared.counters, &[counters])
            .map_err(|e: MemoryError| e.into())
    }
}
