//! The ground truth of a mesh: a mesh or points from a file, or the solids of the synthetic scene, whose distance from any
//! place is known.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kiln_mesh::score::{self, Settings, Side, score};
use kiln_mesh::{Mesh, solids};
use serde::Serialize;

use super::{DrawnError, MeshFile};

/// Shares of the truth's diagonal that distances are when none are given.
const SHARES: [f64; 2] = [0.002, 0.005];

/// What a mesh is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// A mesh, or points, in a file.
    File(PathBuf),
    /// The solids of the synthetic scene, with the points that its views see.
    Solids {
        /// `truth.ply` of the scene.
        points: PathBuf,
    },
}

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthSettings {
    /// Points sampled on a mesh, by area.
    pub samples: u64,
    /// Seed of the sampling.
    pub seed: u64,
    /// Distances, scene units, for precision and recall; none for 0.002 and 0.005 of the truth's diagonal.
    pub distances: Vec<f64>,
}

impl Default for TruthSettings {
    fn default() -> Self {
        Self {
            samples: 1_000_000,
            seed: 0,
            distances: Vec::new(),
        }
    }
}

/// How near a mesh is to a truth; lengths in scene units, angles in degrees.
#[derive(Clone, Debug, Serialize)]
pub struct TruthReport {
    /// What it is held against.
    pub truth: String,
    /// Mean of the two mean distances.
    pub chamfer: f64,
    /// From the mesh to the truth.
    pub accuracy: SideReport,
    /// From the truth to the mesh.
    pub completeness: SideReport,
    /// Shares within distances.
    pub within: Vec<Within>,
}

/// Distances in one direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SideReport {
    /// Points measured.
    pub points: u64,
    /// Mean distance.
    pub mean: f64,
    /// Median distance.
    pub median: f64,
    /// 95 % of the points are at most so far.
    pub percent_95: f64,
    /// Mean angle between the lines of the normals, where both sides have them.
    pub normals_mean: Option<f64>,
    /// Median of that angle.
    pub normals_median: Option<f64>,
    /// Share of the points whose normals face opposite ways.
    pub normals_turned: Option<f64>,
}

/// Shares of points within a distance.
#[derive(Clone, Debug, Serialize)]
pub struct Within {
    /// The distance.
    pub distance: f64,
    /// Share of the mesh near the truth.
    pub precision: f64,
    /// Share of the truth near the mesh.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// Recall of the points on each kind of solid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recall_of: Vec<(&'static str, f64)>,
}

impl From<&Side> for SideReport {
    fn from(side: &Side) -> Self {
        Self {
            points: side.points,
            mean: side.mean,
            median: side.median,
            percent_95: side.percent_95,
            normals_mean: side.normals.map(|angles| angles.mean),
            normals_median: side.normals.map(|angles| angles.median),
            normals_turned: side.normals.map(|angles| angles.turned),
        }
    }
}

impl Truth {
    /// The truth that a word stands for: a file, or `solids` for those of the scene in `scene`.
    #[must_use]
    pub fn named(word: &Path, scene: &Path) -> Self {
        match word.to_str() {
            Some("solids") => Self::Solids {
                points: scene.join(solids::TRUTH_FILE),
            },
            _ => Self::File(word.to_owned()),
        }
    }

    /// Measures a mesh.
    ///
    /// # Errors
    /// [`DrawnError`] for a truth that cannot be read, has no points, or lies nowhere near the mesh.
    pub fn score(&self, mesh: &Mesh, settings: &TruthSettings) -> Result<TruthReport, DrawnError> {
        let (path, exact) = match self {
            Self::File(path) => (path, false),
            Self::Solids { points } if !points.is_file() => {
                return Err(DrawnError::NoTruth { path: points.clone() });
            }
            Self::Solids { points } => (points, true),
        };
        let known = MeshFile::read_any(path)?.mesh;
        let mut settings = Settings {
            samples: settings.samples,
            seed: settings.seed,
            distances: settings.distances.clone(),
            ..Settings::default()
        };
        if let ([], Some([low, high])) = (&settings.distances[..], known.bounds()) {
            let side = |i: usize| f64::from(high[i]) - f64::from(low[i]);
            let diagonal = (0..3).map(|i| side(i).powi(2)).sum::<f64>().sqrt();
            settings.distances = SHARES.map(|share| share * diagonal).to_vec();
        }
        let on = &mut |_: f32| ControlFlow::Continue(());
        let truth = match (exact, known.triangles().is_empty()) {
            (true, _) => score::Truth::Exact {
                distance: &solids::distance,
                points: &known,
            },
            (false, true) => score::Truth::Points(&known),
            (false, false) => score::Truth::Mesh(&known),
        };
        let found = score(mesh, truth, &settings, on)?;
        let recall_of = if exact {
            recalls(mesh, &known, &settings)?
        } else {
            Vec::new()
        };
        let shares = found
            .accuracy
            .within
            .iter()
            .zip(&found.completeness.within)
            .zip(&found.f1);
        let within = settings.distances.iter().zip(shares).enumerate();
        Ok(TruthReport {
            truth: if exact {
                "solids".to_owned()
            } else {
                path.display().to_string()
            },
            chamfer: found.chamfer,
            accuracy: (&found.accuracy).into(),
            completeness: (&found.completeness).into(),
            within: within
                .map(|(at, (&distance, ((&precision, &recall), &f1)))| Within {
                    distance,
                    precision,
                    recall,
                    f1,
                    recall_of: recall_of
                        .iter()
                        .filter_map(|(name, shares)| Some((*name, *shares.get(at)?)))
                        .collect(),
                })
                .collect(),
        })
    }
}

/// Recalls of the points on each kind of solid.
fn recalls(mesh: &Mesh, points: &Mesh, settings: &Settings) -> Result<Vec<(&'static str, Vec<f64>)>, DrawnError> {
    let kinds: Vec<solids::Kind> = points.positions().iter().map(|p| solids::kind_at(*p)).collect();
    let mut recalls = Vec::new();
    for kind in solids::Kind::ALL {
        let own = points.positions().iter().zip(&kinds).filter(|(_, k)| **k == kind);
        let own: Vec<[f32; 3]> = own.map(|(p, _)| *p).collect();
        if own.is_empty() {
            continue;
        }
        let own = Mesh::new(own, Vec::new())?;
        let truth = score::Truth::Exact {
            distance: &solids::distance,
            points: &own,
        };
        // Accuracy is not wanted.
        let settings = Settings {
            samples: 1,
            margin: None,
            ..settings.clone()
        };
        let found = score(mesh, truth, &settings, &mut |_| ControlFlow::Continue(()))?;
        recalls.push((kind.name(), found.completeness.within));
    }
    Ok(recalls)
}
