//! `kiln render`: pictures of a model.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::exit::unprinted;
use super::request::{DrawnMesh, Model, Render, RenderViews};
use super::stored::{boxed, load, news, open, open_scene, progress, scene};
use super::{Exit, Failure};
use crate::run::{Cameras, Drawn};

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
    if let Some(mesh) = &model.mesh {
        return run_mesh(mesh, &model, views, layers.depth.is_some(), &output, out);
    }
    let opened = open("render", &model)?;
    let cameras = cameras(views, || scene(&opened, &model).map_err(boxed))?;
    let stored = load(&opened, &model)?;
    for warning in stored.warnings() {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let mut news = news(model.quiet);
    let paths = match layers.depth.is_some() || layers.normals {
        true => stored.render_layers(&cameras, layers, &output, &mut news),
        false => stored.render(&cameras, &output, &mut news),
    }
    .map_err(boxed)?;
    print(&paths, out)
}

/// Renders a mesh from the views of a scene.
fn run_mesh(
    mesh: &DrawnMesh,
    model: &Model,
    views: RenderViews,
    depth: bool,
    output: &Path,
    out: &mut dyn Write,
) -> Result<Exit, Box<dyn Failure>> {
    let opened = open_scene("render", model)?;
    let cameras = cameras(views, || Ok(opened.scene.clone()))?;
    let drawn = Drawn::load(
        &mesh.path,
        mesh.samples,
        (&opened.profile, opened.run.as_deref()),
        &opened.open,
    )
    .map_err(boxed)?;
    let mut progress = progress(model.quiet);
    if !model.quiet {
        let _ = writeln!(io::stderr(), "mesh: {}", drawn.describe());
    }
    let paths = if depth {
        drawn.render_depth(&cameras, output, &mut progress)
    } else {
        drawn.render(&cameras, output, &mut progress)
    }
    .map_err(boxed)?;
    print(&paths, out)
}

/// Where the views come from; those of a set from `scene`.
fn cameras(
    views: RenderViews,
    scene: impl FnOnce() -> Result<PathBuf, Box<dyn Failure>>,
) -> Result<Cameras, Box<dyn Failure>> {
    Ok(match views {
        RenderViews::File(path) => Cameras::File(path),
        RenderViews::Path(path) => Cameras::Path(path),
        RenderViews::Set(set) => Cameras::Scene { scene: scene()?, set },
    })
}

fn print(paths: &[PathBuf], out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    for path in paths {
        writeln!(out, "{}", path.display()).map_err(|error| boxed(unprinted(error)))?;
    }
    Ok(Exit::Ok)
}
