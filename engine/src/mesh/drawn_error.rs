//! Why there is no mesh.

use std::io;
use std::path::{Path, PathBuf};

use crate::export::ExportError;
use crate::mesh::raster::TextureError;
use kiln_gpu::memory::MemoryError;

/// Anything that keeps a mesh from being read, drawn, coloured or measured.
#[derive(Debug, thiserror::Error)]
pub enum DrawnError {
    /// A file that cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file whose name says nothing that meshes are stored in.
    #[error("{} is no mesh file by its name; .ply, .obj and .glb are read", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// A file of the right kind that holds no usable mesh.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: kiln_mesh::Error,
    },
    /// Points only.
    #[error(
        "{} holds {vertices} points and no faces: it is a point cloud or a splat model, and a mesh is wanted",
        path.display()
    )]
    NoFaces {
        /// The file.
        path: PathBuf,
        /// Its points.
        vertices: usize,
    },
    /// A picture that a mesh is coloured by and that cannot be used.
    #[error("the texture {} of {}: {what}", texture.display(), mesh.display())]
    Texture {
        /// The mesh.
        mesh: PathBuf,
        /// The picture.
        texture: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// More than one picture.
    #[error("{} is coloured by {found} pictures, and one is read; join them into one", path.display())]
    Textures {
        /// The mesh.
        path: PathBuf,
        /// Pictures.
        found: usize,
    },
    /// The synthetic scene's truth without its points.
    #[error(
        "the truth `solids` needs the points {}, which are not there; `kiln-lab synth --kind solids` writes them",
        path.display()
    )]
    NoTruth {
        /// The file looked for.
        path: PathBuf,
    },
    /// Work on the host.
    #[error(transparent)]
    Host(#[from] kiln_mesh::Error),
    /// A picture of the wrong size.
    #[error(transparent)]
    Picture(#[from] TextureError),
    /// Device memory or the device itself.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A file that cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl DrawnError {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn file(path: &Path) -> impl FnOnce(kiln_mesh::Error) -> Self + '_ {
        |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
