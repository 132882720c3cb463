//! Why a stage gives no mesh.

use std::io;

/// Anything that stops a stage.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller asked to stop.
    #[error("stopped before it was done")]
    Stopped,
    /// A job has nothing to work on.
    #[error("{job} needs {needs}, and the mesh has none")]
    Empty {
        /// What was asked for.
        job: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names vertex {vertex}, and there are {vertices}: the mesh is damaged, write it again")]
    Index {
        /// Its place in the list of triangles.
        triangle: usize,
        /// The vertex named.
        vertex: i64,
        /// Vertices there are.
        vertices: usize,
    },
    /// A coordinate that is no number, or infinite.
    #[error("{what} {index} is not finite: remove it or write the mesh again")]
    NotFinite {
        /// Position, normal, color or texture coordinate.
        what: &'static str,
        /// Its place in its list.
        index: usize,
    },
    /// An attribute with one value per vertex or triangle that has another number of them.
    #[error("{found} {what} for {wanted}: give one each, or none")]
    Length {
        /// The attribute.
        what: &'static str,
        /// Values given.
        found: usize,
        /// Values there should be.
        wanted: usize,
    },
    /// More than indices or a file can hold.
    #[error("{found} {what}, and at most {most} fit: {hint}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        most: u64,
        /// What to do.
        hint: &'static str,
    },
    /// A setting outside its range.
    #[error("{name} is {found}: it has to be {wanted}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// A mesh that a job cannot take.
    #[error("{job}: {found}; {hint}")]
    Unfit {
        /// What was asked for.
        job: &'static str,
        /// What is in the way.
        found: String,
        /// What to do.
        hint: &'static str,
    },
    /// More memory than may be taken.
    #[error("{what} {:.2} GB of memory, and {:.2} GB may be taken", *needed_bytes as f64 / 1e9, *most_bytes as f64 / 1e9)]
    Memory {
        /// What takes it, with its verb.
        what: String,
        /// Bytes it takes.
        needed_bytes: u64,
        /// Bytes it may take.
        most_bytes: u64,
    },
    /// A PLY file whose bytes make no sense.
    #[error("PLY file: {0}")]
    Ply(#[from] kiln_ply::Error),
    /// A file that is what it says and holds no mesh.
    #[error("{format} file: {found}; {hint}")]
    Content {
        /// Name of the format.
        format: &'static str,
        /// What was found.
        found: String,
        /// What to do.
        hint: &'static str,
    },
    /// A line of a text file that makes no sense.
    #[error("{format} file, line {line}: {found}")]
    Line {
        /// Name of the format.
        format: &'static str,
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        found: String,
    },
    /// The input or output failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// A setting outside its range.
    pub(crate) fn setting(name: &'static str, found: impl ToString, wanted: &'static str) -> Self {
        Self::Setting {
            name,
            found: found.to_string(),
            wanted,
        }
    }
}
