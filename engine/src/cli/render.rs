//! `kiln render`: pictures of a model.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::exit::unprinted;
use super::listener::Listener;
use super::request::{DrawnMesh, Render, RenderViews};
use super::{Exit, Failure};
use crate::jobs::{Model, News, Opened, OpenedScene, Purpose, RequestError};
use crate::run::{self, Cameras, Drawn};

/// Renders and prints the path of every picture to `out`.
///
/// # Errors
/// Anything that keeps the model from being rendered; the caller prints it.
pub fn run(request: Render, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let Render {
        model,
        mesh,
        quiet,
        views,
        layers,
        output,
    } = request;
    let mut listener = Listener::new(quiet);
    if let Some(mesh) = &mesh {
        return run_mesh(
            mesh,
            &model,
            (views, layers.depth.is_some()),
            &output,
            &mut listener,
            out,
        );
    }
    let mut listen = |news: News<'_>| listener.hear(&news);
    let opened = Opened::of(Purpose::Render, &model, &mut listen)?;
    let cameras = cameras(views, || opened.scene(&model))?;
    let stored = opened.load(&model, &mut listen)?;
    for warning in stored.warnings() {
        listen(News::Warning(warning));
    }
    let mut views = |views| listen(News::Views(views));
    let paths = match layers.depth.is_some() || layers.normals {
        true => stored.render_layers(&cameras, layers, &output, &mut views),
        false => stored.render(&cameras, &output, &mut views),
    }?;
    print(&paths, out)
}

/// Renders a mesh from the views of a scene.
fn run_mesh(
    mesh: &DrawnMesh,
    model: &Model,
    (views, depth): (RenderViews, bool),
    output: &Path,
    listener: &mut Listener,
    out: &mut dyn Write,
) -> Result<Exit, Box<dyn Failure>> {
    let opened = OpenedScene::of(Purpose::Render, model, &mut |news| listener.hear(&news))?;
    let cameras = cameras(views, || Ok(opened.scene.clone()))?;
    let drawn = Drawn::load(
        &mesh.path,
        mesh.samples,
        (&opened.profile, opened.run.as_deref()),
        &opened.open,
    )?;
    listener.say(format_args!("mesh: {}", drawn.describe()));
    let mut progress = |now| listener.hear(&News::Views(run::News::Progress(now)));
    let paths = if depth {
        drawn.render_depth(&cameras, output, &mut progress)
    } else {
        drawn.render(&cameras, output, &mut progress)
    }?;
    print(&paths, out)
}

/// Where the views come from; those of a set from `scene`.
fn cameras(views: RenderViews, scene: impl FnOnce() -> Result<PathBuf, RequestError>) -> Result<Cameras, RequestError> {
    Ok(match views {
        RenderViews::File(path) => Cameras::File(path),
        RenderViews::Path(path) => Cameras::Path(path),
        RenderViews::Set(set) => Cameras::Scene { scene: scene()?, set },
    })
}

fn print(paths: &[PathBuf], out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    for path in paths {
        writeln!(out, "{}", path.display()).map_err(unprinted)?;
    }
    Ok(Exit::Ok)
}
