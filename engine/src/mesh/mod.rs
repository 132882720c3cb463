//! Meshes on the device: what [`kiln_mesh`] does on the host begins and ends here.
//!
//! [`raster`] draws them into pictures and depths, [`texture`] takes colours for them from photos. [`MeshFile`] is a mesh as
//! files hold it, [`MeshScores`] what is measured of one, [`Truth`] what it may be held against.

mod drawn_error;
mod file;
pub mod raster;
mod scores;
pub mod texture;
mod truth;

pub use drawn_error::DrawnError;
pub use file::MeshFile;
pub use scores::MeshScores;
pub use truth::{Truth, TruthReport, TruthSettings};
