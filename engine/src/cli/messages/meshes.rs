//! Meshes that are read, drawn and measured.

use std::io::ErrorKind;
use std::path::Path;

use super::{complete, golden, path, system};
use crate::export::ExportError;
use crate::mesh::DrawnError;
use crate::mesh::raster::TextureError;
use kiln_gpu::memory::MemoryError;

#[test]
fn meshes() {
    let empty = || kiln_mesh::Error::Empty {
        job: "a score",
        needs: "part near the truth",
    };
    let errors = vec![
        DrawnError::Read {
            path: path("mesh.ply"),
            source: system(ErrorKind::NotFound),
        },
        DrawnError::Ending { path: path("mesh.stl") },
        DrawnError::File {
            path: path("mesh.obj"),
            source: kiln_mesh::Error::Line {
                format: "OBJ",
                line: 7,
                found: "a face of 2 vertices".to_owned(),
            },
        },
        DrawnError::NoFaces {
            path: path("point_cloud.ply"),
            vertices: 6_000_000,
        },
        DrawnError::Texture {
            mesh: path("mesh.obj"),
            texture: path("mesh.png"),
            what: "the picture ends too early".to_owned(),
        },
        DrawnError::Textures {
            path: path("mesh.obj"),
            found: 3,
        },
        DrawnError::NoTruth {
            path: path("scene/truth.ply"),
        },
        DrawnError::Host(empty()),
        DrawnError::Picture(TextureError {
            width: 4,
            height: 2,
            bytes: 24,
        }),
        DrawnError::Memory(MemoryError::OverBudget {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            largest: "mesh/vertices[0] 48 MiB".to_owned(),
        }),
        DrawnError::Export(ExportError::new(
            Path::new("out/view.png"),
            system(ErrorKind::ReadOnlyFilesystem),
        )),
    ];
    golden(
        "meshes",
        complete!(
            DrawnError,
            errors,
            [
                Read, Ending, File, NoFaces, Texture, Textures, NoTruth, Host, Picture, Memory, Export
            ]
        ),
    );
}
