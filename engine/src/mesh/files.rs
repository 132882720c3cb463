//! The files that a mesh becomes, and which way is up in them.

use std::io;
use std::path::Path;

use kiln_mesh::Mesh;
use serde::Serialize;

use super::MeshError;
use crate::export::write_atomic;
use kiln_config::MeshFormat;

/// Name of the files, before their endings.
pub(super) const STEM: &str = "mesh";
/// Name of the report beside the files.
pub(super) const REPORT_FILE: &str = "report.json";

/// Which way is up in the files of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Up {
    /// Coordinates are those of the scene, which `kiln eval`, `kiln render` and `--init-mesh` need; in those of COLMAP y points down.
    #[default]
    Scene,
    /// y points up where it points down in the scene: half a turn about x, as `kiln export` has it in GLB and SPZ.
    Y,
}

impl Up {
    /// A mesh in the scene's coordinates in those of the files.
    pub(super) fn turned(self, mesh: Mesh) -> Mesh {
        match self {
            Self::Scene => mesh,
            Self::Y => mesh.turned_about_x(),
        }
    }
}

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
