//! Models of triangles as files: the model itself, and meshes of it for other programs.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use kiln_files::{open_filled, open_regular, read_start};
use kiln_mesh::topology;
use kiln_triangles::{Error, Model};
use serde::Serialize;

use super::files::{REPORT_FILE, STEM, write};
use super::report::Surface;
use super::{MeshError, Up};
use crate::export::{AtomicFile, file_digest, write_atomic, write_json};
use kiln_config::MeshFormat;

/// Most bytes in which the header of a model says what it is.
const HEADER_BYTES: u64 = 1 << 14;

/// `report.json` beside the meshes of a model of triangles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrianglesReport {
    /// The program that wrote them.
    pub kiln: &'static str,
    /// File of the model.
    pub model: String,
    /// SHA-256 of that file.
    pub model_sha256: String,
    /// Least opacity of a vertex. Meshes are opaque.
    pub opacity_floor: f32,
    /// What kind of surface it is.
    pub surface: Surface,
    /// Which way is up in the files.
    pub up: Up,
    /// Files beside this one.
    pub files: Vec<String>,
}

/// Whether a file is a model of triangles, by its first bytes; not for what cannot be read.
#[must_use]
pub fn is_triangles(path: &Path) -> bool {
    read_start(path, HEADER_BYTES).is_ok_and(|head| Model::is_header_of_one(&head))
}

/// Reads a model of triangles.
///
/// # Errors
/// [`MeshError::Model`] naming the file.
pub fn read_triangles(path: &Path) -> Result<Model, MeshError> {
    let read = || -> Result<Model, Error> {
        let file = open_filled(path).map_err(kiln_mesh::Error::Io)?;
        Model::read(BufReader::with_capacity(1 << 18, file))
    };
    read().map_err(|source| MeshError::Model {
        path: path.to_owned(),
        source,
    })
}

/// Writes a model of triangles, whole or not at all; `comments` go into its header.
///
/// # Errors
/// [`MeshError::Model`] for a model that is damaged, [`MeshError::Export`].
pub fn write_triangles(model: &Model, comments: &[String], path: &Path) -> Result<(), MeshError> {
    let mut wrong = None;
    let written = write_atomic(path, |file| {
        model.write(comments, file).map_err(|error| match error {
            Error::Mesh(kiln_mesh::Error::Io(error)) => error,
            source => {
                wrong = Some(source);
                io::Error::other("the model is damaged")
            }
        })
    });
    match wrong {
        Some(source) => Err(MeshError::Model {
            path: path.to_owned(),
            source,
        }),
        None => Ok(written?),
    }
}

/// What a file says that its coordinates are relative to; zero where it says nothing.
fn origin_of_file(path: &Path) -> [f64; 3] {
    let file = open_regular(path).ok().map(BufReader::new);
    let header = file.and_then(|file| kiln_ply::Reader::new(file).header().ok());
    header
        .and_then(|header| kiln_ply::origin_of(&header.comments))
        .unwrap_or_default()
}

/// Writes the meshes of a model that lies in `source` into `folder`, one file per format, and the report; gives their paths,
/// the report's last, and the report. Vertices have the colours of degree 0, and what `up` says is up. With `dry_run` nothing is written, and the
/// report names the files that would be.
///
/// # Errors
/// [`MeshError`]; no file is there by half.
pub fn export_triangles(
    (model, source): (&Model, &Path),
    (formats, up): (&[MeshFormat], Up),
    folder: &Path,
    dry_run: bool,
) -> Result<(Vec<PathBuf>, TrianglesReport), MeshError> {
    let mesh = model.mesh().map_err(|error| MeshError::Model {
        path: source.to_owned(),
        source: error,
    })?;
    let mesh = up.turned(mesh.with_origin(origin_of_file(source)));
    let names: Vec<String> = formats
        .iter()
        .map(|format| format!("{STEM}.{}", format.name()))
        .collect();
    let mut report = TrianglesReport {
        kiln: env!("CARGO_PKG_VERSION"),
        model: source.display().to_string(),
        model_sha256: String::new(),
        opacity_floor: model.floor,
        surface: topology::report(&mesh).into(),
        up,
        files: names.clone(),
    };
    if dry_run {
        return Ok((Vec::new(), report));
    }
    // A folder that cannot be written to is known before the work, not after.
    let place = folder.join(REPORT_FILE);
    drop(AtomicFile::create(&place)?);
    let mut files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    for (format, path) in formats.iter().zip(&files) {
        write(&mesh, *format, path)?;
    }
    report.model_sha256 = file_digest(source).unwrap_or_default();
    write_json(&place, &report)?;
    files.push(place);
    Ok((files, report))
}
