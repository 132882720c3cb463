//! The files that a mesh becomes.

use std::io;
use std::path::Path;

use kiln_mesh::Mesh;

use super::MeshError;
use crate::config::MeshFormat;
use crate::export::write_atomic;

/// Name of the files, before their endings.
pub(super) const STEM: &str = "mesh";
/// Name of the report beside the files.
pub(super) const REPORT_FILE: &str = "report.json";

/// Whether files of a format have a picture inside or beside them.
pub(super) fn holds_picture(format: &MeshFormat) -> bool {
    *format != MeshFormat::Ply
}

/// Writes a mesh with the colours of its vertices, whole or not at all.
///
/// # Errors
/// [`MeshError::Export`] when the file cannot be written.
pub(super) fn write(mesh: &Mesh, format: MeshFormat, path: &Path) -> Result<(), MeshError> {
    let comments = [format!("kiln {}", env!("CARGO_PKG_VERSION"))];
    write_atomic(path, |file| {
        let written = match format {
            MeshFormat::Ply => kiln_mesh::ply::write(mesh, &comments, file),
            MeshFormat::Obj => kiln_mesh::obj::write(mesh, None, file),
            MeshFormat::Glb => kiln_mesh::glb::write(mesh, None, file),
        };
        written.map_err(|error| match error {
            kiln_mesh::Error::Io(error) => error,
            other => io::Error::other(other),
        })
    })?;
    Ok(())
}
