//! `kiln mesh`: a triangle mesh of a model.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::exit::unprinted;
use super::listener::Listener;
use super::mesh_words::{print_converted, print_made, print_outlook};
use super::request::Mesh;
use super::{Exit, Failure};
use crate::jobs::shell::word;
use crate::jobs::{self, Meshed};
use crate::mesh::MeshError;
use crate::record::run_folder::record_path;
use crate::run::interrupt::Interrupt;

/// Makes the mesh and prints the paths of its files to `out`, or what it would take.
///
/// # Errors
/// Anything that keeps the mesh from being made; the caller prints it.
pub fn run(request: Mesh, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let Mesh { job, json, quiet } = request;
    let interrupt = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
    let mut listener = Listener::new(quiet).with_json(json.then_some(&mut *out));
    let made = jobs::mesh(&job, &mut |news| listener.hear(&news), &interrupt);
    listener.end()?;
    let made = made?;
    let exit = print(&made, job.dry_run, (json, quiet), &interrupt, out)?;
    let files: &[PathBuf] = match &made {
        Meshed::Made(made) => &made.files,
        Meshed::Converted { files, .. } if !job.dry_run => files,
        _ => &[],
    };
    if let Some(shown) = shown(&job.model.target, files).filter(|_| !quiet) {
        // Losing a line of information is no reason to stop.
        let _ = writeln!(io::stderr(), "`kiln view {}` shows it", word(&shown));
    }
    Ok(exit)
}

/// Prints what came of a mesh.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn print(
    made: &Meshed,
    dry_run: bool,
    (json, quiet): (bool, bool),
    interrupt: &Interrupt,
    out: &mut dyn Write,
) -> Result<Exit, Box<dyn Failure>> {
    match made {
        Meshed::Stopped => {
            let _ = writeln!(io::stderr(), "{}", MeshError::Stopped);
            return Ok(interrupt.signal().map_or(Exit::Interrupted, Exit::from));
        }
        Meshed::Planned(outlook) => print_outlook(outlook, out),
        Meshed::Made(made) => print_made(made, (json, quiet), out),
        Meshed::Converted { files, surface } => {
            let what = if dry_run { "a model of triangles" } else { "done" };
            print_converted((files, surface), what, (json, quiet), out)
        }
    }
    .map_err(unprinted)?;
    Ok(Exit::Ok)
}

/// What `kiln view` opens to show a mesh of `target`: the run that lists it, or a file of it.
fn shown(target: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    if record_path(target).is_file() && files.iter().any(|file| file.starts_with(target)) {
        return Some(target.to_owned());
    }
    let opened = |file: &&PathBuf| {
        let ending = file.extension().and_then(OsStr::to_str);
        ending.is_some_and(|ending| matches!(ending, "ply" | "glb"))
    };
    files.iter().find(opened).cloned()
}
