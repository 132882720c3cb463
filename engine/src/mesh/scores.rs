//! What is measured of a mesh.

use std::path::PathBuf;

use kiln_mesh::topology;
use serde::Serialize;

use super::raster::Coat;
use super::{MeshFile, TruthReport};
use crate::eval::LpipsRange;
use crate::eval::{EvalFile, SetReport};

/// Figures of a mesh: its surface, its pictures, and its distance from a truth.
#[derive(Clone, Debug, Serialize)]
pub struct MeshScores {
    /// Its file.
    pub file: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// What it is drawn in: `colors`, `harmonics`, `texture` or `plain`.
    pub look: &'static str,
    /// Samples along each side of a pixel.
    pub samples: u32,
    /// Vertices of triangles.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
    /// Triangles that hang together by vertices.
    pub pieces: u64,
    /// Edges with one triangle.
    pub open_edges: u64,
    /// Edges with more than two.
    pub non_manifold_edges: u64,
    /// Vertices less edges and triangles.
    pub euler: i64,
    /// Mean share of the test views' pixels that it covers.
    pub coverage: Option<f64>,
    /// Range the images had when they entered the LPIPS network.
    pub lpips_range: Option<LpipsRange>,
    /// Pictures of the test views.
    pub test: Option<SetReport>,
    /// Pictures of training views.
    pub train: Option<SetReport>,
    /// How near it is to a truth.
    pub truth: Option<TruthReport>,
}

impl MeshScores {
    /// The figures that need no scene.
    #[must_use]
    pub fn new(surface: &MeshFile, samples: u32) -> Self {
        let found = topology::report(&surface.mesh);
        Self {
            file: surface.path.clone(),
            bytes: surface.bytes,
            look: match surface.coat() {
                Coat::Colors => "colors",
                Coat::Harmonics(_) => "harmonics",
                Coat::Texture(_) => "texture",
                Coat::Plain => "plain",
            },
            samples,
            vertices: found.vertices,
            triangles: found.triangles,
            pieces: found.pieces,
            open_edges: found.open_edges,
            non_manifold_edges: found.non_manifold_edges,
            euler: found.euler,
            coverage: None,
            lpips_range: None,
            test: None,
            train: None,
            truth: None,
        }
    }

    /// Puts in what pictures gave, and the share that the mesh covers of each test view.
    pub fn put(&mut self, file: EvalFile, coverage: &[f64]) {
        self.lpips_range = Some(file.lpips_range);
        self.coverage = (!coverage.is_empty()).then(|| coverage.iter().sum::<f64>() / coverage.len() as f64);
        (self.test, self.train) = (file.test, file.train);
    }
}
