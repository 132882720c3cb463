//! `kiln synth`: a made-up scene for measurements.

use std::io::Write;
use std::path::Path;

use super::request::Synth;
use super::{Exit, Failure};
use crate::export::ExportError;
use crate::run::RunError;

/// Writes the scene and prints its folder.
///
/// # Errors
/// When the folder holds something already or cannot be written.
pub fn run(synth: &Synth, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let boxed = |error: ExportError| -> Box<dyn Failure> { Box::new(RunError::from(error)) };
    synth.scene.write(&synth.folder).map_err(boxed)?;
    let told = writeln!(out, "{}", synth.folder.display());
    told.map_err(|error| boxed(ExportError::new(Path::new("standard output"), error)))?;
    Ok(Exit::Ok)
}
