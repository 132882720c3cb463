//! `kiln render`: pictures of a model.

use std::io::{self, Write};
use std::path::Path;

use super::request::{Render, RenderViews};
use super::stored::{boxed, load, open, progress, scene};
use super::{Exit, Failure};
use crate::export::ExportError;
use crate::run::{Cameras, RunError};

/// Renders and prints the path of every picture to `out`.
///
/// # Errors
/// Anything that keeps the model from being rendered; the caller prints it.
pub fn run(request: Render, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let Render {
        model,
        views,
        layers,
        output,
    } = request;
    let opened = open("render", &model)?;
    let cameras = match views {
        RenderViews::File(path) => Cameras::File(path),
        RenderViews::Path(path) => Cameras::Path(path),
        RenderViews::Set(set) => Cameras::Scene {
            scene: scene(&opened, &model).map_err(boxed)?,
            set,
        },
    };
    let stored = load(&opened, &model)?;
    for warning in stored.warnings() {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let mut progress = progress(model.quiet);
    let paths = match layers.depth || layers.normals {
        true => stored.render_layers(&cameras, layers, &output, &mut progress),
        false => stored.render(&cameras, &output, &mut progress),
    }
    .map_err(boxed)?;
    for path in paths {
        writeln!(out, "{}", path.display())
            .map_err(|error| boxed(RunError::from(ExportError::new(Path::new("standard output"), error))))?;
    }
    Ok(Exit::Ok)
}
