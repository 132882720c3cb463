//! `kiln-lab synth`: scenes made up for measurements, as COLMAP models with any number of points and pixels.
//!
//! `sheets` is for speed and memory and says nothing about shapes; the photos of `solids` show one world, and `faults` makes them
//! as bad as those of a casual capture while their truth stays known.

mod colmap;
mod faults;
mod lens;
mod maps;
mod pictures;
mod pose;
mod scene;
mod settings;
mod sheets;
mod solids;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
pub use faults::{ExifKind, Faults};
pub use settings::{Synthetic, SyntheticKind};
use xtask::failure::{Failure, Result};
use xtask::say;
use xtask::steps::Steps;

const EXAMPLES: &str = "\
Examples:
  kiln-lab synth scene --gaussians 6000000 --visible 3000000
  kiln-lab synth scene --size 3840x2160 && kiln train scene -r 1 --iterations 400
  kiln-lab synth scene --kind solids --size 512x384 --gaussians 10000 --views 48
  kiln-lab synth scene --kind solids --size 512x384 --movers 0.1 --drift 0.5 --vignetting 0.3 --blur 0.1";

/// What to write, and where.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder of the scene; it must be empty or not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What to make.
    #[command(flatten)]
    pub scene: Synthetic,
}

/// Writes the scene and prints its folder.
///
/// # Errors
/// [`Failure`] when the folder holds something already or cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    write(&arguments.scene, &arguments.folder)?;
    say(arguments.folder.display());
    Ok(())
}

/// Writes a scene for a measurement, as a step, unless it is there; one that was broken off is written again.
///
/// # Errors
/// [`Failure`] when it cannot be written.
pub(crate) fn provide(scene: &Synthetic, folder: &Path, steps: &mut Steps) -> Result<()> {
    if folder.exists() {
        return Ok(());
    }
    steps.time(&format!("make {}", folder.display()), || make(scene, folder))
}

fn make(scene: &Synthetic, folder: &Path) -> Result<()> {
    let part = folder.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part).map_err(|e| Failure::io("remove", &part, e))?;
    }
    write(scene, &part)?;
    fs::rename(&part, folder).map_err(|e| Failure::io("rename", &part, e))
}

fn write(scene: &Synthetic, folder: &Path) -> Result<()> {
    scene.write(folder).map_err(|error| Failure::new(error.to_string()))
}
