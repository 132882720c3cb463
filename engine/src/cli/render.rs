//! `kiln render`: pictures of a model.

use std::io::{self, Write};
use std::path::Path;

use super::request::{Render, RenderViews};
use super::stored::{Opened, boxed, open, progress};
use super::{Exit, Failure, Settings};
use crate::export::ExportError;
use crate::run::{Cameras, RunError, Stored};

/// Renders and prints the path of every picture to `out`.
///
/// # Errors
/// Anything that keeps the model from being rendered; the caller prints it.
pub fn run(request: Render, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let Render {
        model,
        views,
        depth,
        output,
    } = request;
    let Opened {
        location,
        profile,
        open,
    } = open(&model)?;
    let cameras = match views {
        RenderViews::File(path) => Cameras::File(path),
        RenderViews::Path(path) => Cameras::Path(path),
        RenderViews::Set(set) => Cameras::Scene {
            scene: Settings::scene(&profile).map_err(boxed)?,
            set,
        },
    };
    let stored = Stored::load(&location, &profile, &open).map_err(boxed)?;
    for warning in stored.warnings() {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let mut progress = progress(model.quiet);
    let paths = if depth {
        stored.render_depth(&cameras, &output, &mut progress)
    } else {
        stored.render(&cameras, &output, &mut progress)
    }
    .map_err(boxed)?;
    for path in paths {
        writeln!(out, "{}", path.display())
            .map_err(|error| boxed(RunError::from(ExportError::new(Path::new("standard output"), error))))?;
    }
    Ok(Exit::Ok)
}
