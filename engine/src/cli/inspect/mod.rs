//! `kiln inspect`: what a scene, a model file or a run holds, without a device.

mod file;
mod ply;
mod run;
mod scene;

use std::io::{self, Write};

use super::exit::unprinted;
use super::request::Inspect;
use super::{Exit, Failure, UsageError};
use crate::jobs::Purpose;
use crate::jobs::named::{is_of_triangles, other_than_a_model};
use crate::plan::list_devices;
use crate::record::run_folder::record_path;
use crate::record::words::count;

/// Prints what `request` names to `out`.
///
/// # Errors
/// When it cannot be read, or `out` cannot be written.
pub fn run(request: &Inspect, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let target = request.target.as_path();
    let other = || other_than_a_model(Purpose::Inspect, target);
    let found: Box<dyn Description> = if target.is_file() {
        if let Some(error) = other().or_else(|| is_of_triangles(target, target)) {
            return Err(error.into());
        }
        match file::FileDescription::of(target)? {
            Some(file) => Box::new(file),
            None => Box::new(ply::PlyDescription::of(target)?),
        }
    } else if record_path(target).exists() {
        Box::new(run::RunDescription::of(target)?)
    } else if target.exists() {
        let profile = request.settings.preliminary()?;
        let scene = scene::SceneDescription::of(target, &profile);
        let scene = scene.map_err(|error| other().map_or_else(|| error.into(), Box::<dyn Failure>::from))?;
        // Without a driver nothing is known of the card that the scene is for.
        Box::new(scene.on(&list_devices().unwrap_or_default()))
    } else {
        let shown = target.display().to_string();
        return Err(UsageError::NothingThere { shown }.into());
    };
    let written = if request.json {
        found.json(out)
    } else {
        found.print(out)
    };
    written.map_err(unprinted)?;
    Ok(Exit::Ok)
}

/// Something that was looked at.
trait Description {
    /// For people.
    fn print(&self, out: &mut dyn Write) -> io::Result<()>;
    /// For programs.
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
}

fn pretty(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / kiln_gpu::memory::MIB as f64)
}

/// The ends of a box in the scene's axes, world units.
fn extent([low, high]: [[f32; 3]; 2]) -> String {
    let axes = ["x", "y", "z"];
    let parts: Vec<String> = axes
        .iter()
        .enumerate()
        .map(|(i, axis)| format!("{axis} {:.3} to {:.3}", low[i], high[i]))
        .collect();
    parts.join(", ")
}
