//! What a mesh is made of, and the plan of every byte that takes.

use super::files::holds_picture;
use super::stage::{COLOR_BRICKS, MOST_BRICKS, StagePlan, StageSizes, Subject};
use super::texture::{BakeSettings, Layout, least_bytes};
use super::{MeshError, Space};
use crate::plan::{Faults, Look};
use kiln_config::plugins::corners;
use kiln_config::{MeshMethod, MeshSpace, Profile};
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Budget, MemoryError, PlanLimits};
use kiln_kernels::fusion::Voxels;
use kiln_kernels::level::Level;
use kiln_kernels::morton::Frame;
use kiln_kernels::surface_depth::{DepthKind, Depths};
use kiln_kernels::views::Variants;
use kiln_scene::{Camera, SceneIndex};

/// Voxels before and behind a surface that are stored.
const TRUNCATION: f32 = 4.0;
/// Largest angle between ray and surface normal at which a depth counts: cosine of 80 degrees (PGSR).
const LEAST_COSINE: f32 = 0.173_648_18;

/// What a mesh is made of.
#[derive(Clone, Debug)]
pub(crate) struct MeshJob<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) model: &'a Gaussians,
    pub(crate) look: Look,
    /// Training views: name and camera.
    pub(crate) views: Vec<(String, Camera)>,
    /// What they are of.
    pub(crate) scene: &'a SceneIndex,
}

/// What will be allocated, and for which voxels.
pub(crate) struct MeshPlan {
    pub(super) space: Space,
    pub(super) voxels: Voxels,
    pub(super) stage: StagePlan,
    pub(super) budget: Budget,
}

/// What a plan says before anything is done, for people and `--dry-run`.
#[derive(Clone, Copy, Debug)]
pub struct MeshOutlook {
    /// Where there will be voxels.
    pub space: Space,
    /// Bricks of the whole space along each axis.
    pub space_bricks: [u32; 3],
    /// What is allocated.
    pub sizes: StageSizes,
    /// What may be.
    pub budget: Budget,
}

impl MeshPlan {
    pub(crate) fn outlook(&self) -> MeshOutlook {
        MeshOutlook {
            space: self.space,
            space_bricks: self.voxels.bricks,
            sizes: self.stage.sizes(),
            budget: self.budget,
        }
    }
}

impl<'a> MeshJob<'a> {
    /// The job of the training views of `scene`.
    pub(crate) fn new(profile: &'a Profile, model: &'a Gaussians, look: Look, scene: &'a SceneIndex) -> Self {
        Self {
            profile,
            model,
            look,
            // What a camera far from all others shows is on no surface of the scene.
            views: scene
                .train
                .iter()
                .filter(|view| !view.is_stray)
                .map(|view| (view.id.clone(), view.camera.clone()))
                .collect(),
            scene,
        }
    }

    /// Chooses the voxels and plans every byte.
    ///
    /// # Errors
    /// See [`Space::choose`] and [`StagePlan::fit`].
    pub(crate) fn plan(
        &self,
        variants: &Variants,
        budget: Budget,
        limits: PlanLimits,
        faults: &Faults,
    ) -> Result<MeshPlan, MeshError> {
        let gaussians = u32::try_from(self.model.len()).unwrap_or(u32::MAX);
        self.plan_for(gaussians, self.model.sh_degree, variants, budget, limits, faults)
    }

    /// The same for a model that is to come, of which this one's Gaussians say where it will be.
    ///
    /// # Errors
    /// See [`MeshJob::plan`].
    pub(crate) fn plan_for(
        &self,
        gaussians: u32,
        sh_degree: u32,
        variants: &Variants,
        budget: Budget,
        limits: PlanLimits,
        faults: &Faults,
    ) -> Result<MeshPlan, MeshError> {
        let options = &self.profile.mesh;
        if gaussians == 0 {
            return Err(MeshError::NoGaussians);
        }
        let cameras: Vec<Camera> = self.views.iter().map(|(_, camera)| camera.clone()).collect();
        let wide;
        let of_space = match self.split() {
            Some(_) => {
                // Points come from far outside of the box, too.
                wide = kiln_config::Mesh {
                    bounds: None,
                    space: MeshSpace::Contracted,
                    ..options.clone()
                };
                &wide
            }
            None => options,
        };
        let space = Space::choose(of_space, self.model, &cameras, (self.scene.extent, self.scene.origin))?;
        let voxels = space.voxels(TRUNCATION);
        let depths = Depths {
            kind: DepthKind::Plane,
            far: options.far.unwrap_or(f32::INFINITY),
            least_cosine: LEAST_COSINE,
        };
        let subject = Subject {
            gaussians,
            sh_degree,
            sizes_px: cameras
                .iter()
                .map(|camera| [camera.width_px, camera.height_px])
                .collect(),
            depths,
            masked: self.scene.masked,
            level: self.level(faults),
        };
        let bricks = match options.method {
            MeshMethod::Fusion => MOST_BRICKS,
            _ => COLOR_BRICKS,
        };
        let stage = StagePlan::fit(&subject, Some((&voxels, bricks)), variants, budget, limits, faults)?;
        Ok(MeshPlan {
            space,
            voxels,
            stage,
            budget,
        })
    }

    /// The box that is reconstructed on its own, if one is.
    pub(super) fn split(&self) -> Option<[[f32; 3]; 2]> {
        let options = &self.profile.mesh;
        let (center, reach) = (self.scene.center(), self.scene.extent);
        let own = || [center.map(|x| x - reach), center.map(|x| x + reach)];
        let given = |bounds: [f64; 6]| corners(bounds, self.scene.origin);
        (options.method == MeshMethod::Sugar).then(|| options.bounds.map_or_else(own, given))
    }

    /// The level that points are taken on: twice as many pixels of each view look for it as there is to be points of one.
    pub(super) fn level(&self, faults: &Faults) -> Option<(Level, Frame)> {
        let options = &self.profile.mesh;
        let density = options.method.level()?;
        let pixels = |(_, camera): &(String, Camera)| camera.width_px * camera.height_px;
        let most = self.views.iter().map(pixels).max()?;
        let level = Level {
            candidates: faults
                .points
                .unwrap_or(options.quality.points())
                .div_ceil(count(self.views.len()))
                .saturating_mul(2)
                .min(most),
            density,
            far: options.far.unwrap_or(f32::INFINITY),
        };
        Some((level, Frame::new(self.scene.center(), self.scene.extent)))
    }

    /// What a picture is baked from.
    pub(super) fn bake_settings(&self, layout: Layout, budget: Budget) -> BakeSettings {
        let side = |pick: fn(&Camera) -> u32| self.views.iter().map(|(_, camera)| pick(camera)).max().unwrap_or(1);
        BakeSettings {
            layout,
            views: self.views.len(),
            largest_px: [side(|camera| camera.width_px), side(|camera| camera.height_px)],
            masked: self.scene.masked,
            cap_bytes: budget.cap_bytes,
        }
    }

    /// Holds the smallest plan of the picture over a mesh of so many triangles, which is to come, against the budget.
    ///
    /// # Errors
    /// [`MeshError::Memory`] when it cannot fit.
    pub(crate) fn check_picture(&self, triangles: u32, budget: Budget, limits: PlanLimits) -> Result<(), MeshError> {
        let options = &self.profile.mesh;
        let Some(layout) = Layout::of(options).filter(|_| options.formats.iter().any(holds_picture)) else {
            return Ok(());
        };
        let settings = self.bake_settings(layout, budget);
        let needed_bytes = least_bytes(triangles, &settings, limits)?;
        match needed_bytes <= budget.cap_bytes {
            true => Ok(()),
            false => Err(MemoryError::OverBudget {
                needed_bytes,
                cap_bytes: budget.cap_bytes,
                largest: format!("those of the picture over {triangles} triangles (`mesh.texture`)"),
            }
            .into()),
        }
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
