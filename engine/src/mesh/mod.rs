//! Surfaces of a trained model: depth and normals of views, the triangle mesh that they make, and pictures, textures and scores
//! of meshes.
//!
//! Owns the way from a model to files: depth of every training view into sparse bricks of voxels in a fixed amount of device memory, marching cubes,
//! colours, cleaning, files; or depth of every view as points with normals, and Poisson reconstruction through these. Promises that what is allocated is what was planned; that a smaller budget gives the same bytes,
//! in more slabs; that equal input gives equal files; and that files appear whole or not at all. Refuses what cannot fit
//! before it begins, with the key that would. What triangles are and how they are cleaned is `kiln-mesh`'s.
//!
//! A model of triangles is a mesh already: `triangles` reads, writes and converts it.
//!
//! [`raster`] draws meshes into pictures and depths, [`texture`] takes colours for them from photos. [`MeshFile`] is a mesh as
//! files hold it, [`MeshScores`] what is measured of one, [`Truth`] what it may be held against.

mod bound;
mod cleaning;
mod colors;
mod decimation;
mod density;
mod draw;
mod drawn_error;
mod error;
mod file;
mod files;
mod fusion;
mod job;
mod log;
mod make;
mod marching;
mod parts;
mod photos;
mod poisson;
pub mod raster;
mod report;
mod scores;
mod space;
mod stage;
pub mod texture;
mod triangles;
mod truth;

pub use draw::{DepthScale, Layers};
pub use drawn_error::DrawnError;
pub use error::MeshError;
pub use file::MeshFile;
pub use files::Up;
pub use job::MeshOutlook;
pub use log::Tell;
pub use make::Made;
pub use poisson::PoissonRow;
pub use report::{Dropped, MeshEvent, MeshProgress, MeshReport, MeshStage, StageRow, Surface, TextureRow};
pub use scores::MeshScores;
pub use space::Space;
pub use stage::StageSizes;
pub use triangles::{TrianglesReport, export_triangles, is_triangles, read_triangles, write_triangles};
pub use truth::{Truth, TruthReport, TruthSettings};

pub(crate) use bound::write_bound;
pub(crate) use draw::{DepthFile, draw};
pub(crate) use job::MeshJob;
pub(crate) use poisson::most_points;
