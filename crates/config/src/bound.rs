//! `bound`: Gaussians on the triangles of a mesh.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Background, Profile};
use super::{MeshMethod, PhotoColors};
use crate::plugins::{
    Auto, Checker, DssimOptions, FixedOptions, Init, L1Options, Loss, MeshOptions, Optimizer, Strategy,
};
use kiln_gaussians::bound::PER_TRIANGLE;

/// Steps over which the rate of the vertices decays, however long the run is.
const DECAY_STEPS: u32 = 30_000;

/// `bound`: for runs whose `init` is a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bound {
    /// Gaussians of a triangle: 1, 3, 4 or 6.
    pub per_triangle: u32,
    /// Steps of the refinement where it is a part of a larger run; 1 to 10 000 000. A run of its own has
    /// `schedule.iterations`.
    pub iterations: u32,
    /// Weight in the loss of how much normals of neighbouring triangles differ: the mean over edges of 1 - the cosine between them; 0 to
    /// 100.
    pub normal_consistency: f32,
    /// What the rate of the vertices is measured by, where a run before this one decided it: no key, but in this run's files.
    #[serde(skip_serializing_if = "VertexUnits::is_own")]
    #[schemars(skip)]
    pub units: VertexUnits,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            per_triangle: 1,
            iterations: 15_000,
            normal_consistency: 0.1,
            units: VertexUnits::default(),
        }
    }
}

/// What the rate of the vertices is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VertexUnits {
    /// Length that it is in, world units; none = the scene's extent. Above 0.
    pub radius: Option<f32>,
    /// Number of vertices by whose root it is divided; none = those of the mesh. At least 1.
    pub vertices: Option<u32>,
}

impl VertexUnits {
    /// True when scene and mesh of the run itself are the measure.
    const fn is_own(&self) -> bool {
        self.radius.is_none() && self.vertices.is_none()
    }
}

impl Bound {
    /// Ranges.
    pub(super) fn check(&self, c: &mut Checker) {
        let known = PER_TRIANGLE.contains(&self.per_triangle);
        c.require("per_triangle", known, self.per_triangle, || "1, 3, 4 or 6".to_owned());
        c.range("iterations", self.iterations, 1..=10_000_000);
        c.range("normal_consistency", self.normal_consistency, 0.0..=100.0);
        c.within("units", |c| {
            if let Some(radius) = self.units.radius {
                c.positive("radius", radius.into(), 1e9);
            }
            if let Some(vertices) = self.units.vertices {
                c.range("vertices", vertices, 1..=u32::MAX);
            }
        });
    }
}

/// What must be off where Gaussians are bound, and what it is set to.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    if !profile.is_bound() {
        return;
    }
    let why = |what: &str| format!("{what}, because `init.kind` is mesh; `--recipe bound` has all that goes with it");
    let strategy = &profile.strategy;
    c.within("strategy", |c| {
        let fixed = matches!(strategy, Strategy::Fixed(_));
        c.require("kind", fixed, strategy.kind(), || why("fixed"));
    });
    c.require("cull", profile.cull.is_none(), "on", || why("null"));
    c.within("mip", |c| {
        // It widens every axis and fades what that makes larger: flat Gaussians would be gone.
        c.require("filter_3d", !profile.has_filter_3d(), "true", || why("false"));
    });
    c.within("losses", |c| {
        for (i, loss) in profile.losses.iter().enumerate() {
            let of_images = loss.needs().surface.is_none();
            c.within(i, |c| {
                c.require("kind", of_images, loss.kind(), || why("a loss of images"))
            });
        }
    });
}

impl Profile {
    /// True when Gaussians are bound to the triangles of a mesh.
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        matches!(self.init, Init::Mesh(_))
    }

    /// The profile that refines the mesh in `path` on the same scene: what `recipe bound` sets, with `bound.iterations` steps.
    #[must_use]
    pub fn refining(&self, path: &Path) -> Self {
        let mut profile = self.clone();
        profile.init = Init::Mesh(MeshOptions {
            path: path.display().to_string(),
            ..MeshOptions::default()
        });
        profile.strategy = Strategy::Fixed(FixedOptions::default());
        profile.cull = None;
        profile.mip.filter_3d = false;
        profile.model.background = Background::Black;
        profile.losses = vec![Loss::L1(L1Options::default()), Loss::Dssim(DssimOptions::default())];
        profile.regularizers.clear();
        profile.mesh.method = MeshMethod::Bound;
        profile.mesh.decimate = None;
        profile.dataset.depths = None;
        profile.dataset.normals = None;
        profile.sugar = None;
        profile.train.dropout = 0.0;
        profile.train.photo_colors = PhotoColors::Auto;
        profile.schedule.resolution.clear();
        profile.schedule.sh_every = 1000;
        let bound = *profile.bound.get_or_insert_default();
        let steps = bound.iterations;
        profile.schedule.iterations = steps;
        for list in [&mut profile.schedule.test, &mut profile.schedule.save] {
            list.retain(|iteration| *iteration < steps);
            list.push(steps);
        }
        profile.schedule.checkpoint.retain(|iteration| *iteration <= steps);
        let Optimizer::AdamFused(adam) = &mut profile.optimizer;
        adam.lr.means_decay_steps = Auto::Set(DECAY_STEPS);
        profile
    }
}
