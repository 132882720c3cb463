//! What a trainer trains: Gaussians, or triangles with shared vertices.
//!
//! Owns what differs between the two on the host: the uniforms of a step, and for triangles the numbers that no tensor has. What
//! differs on the device is in the tensors of the step ([`StepTensors::triangles`](crate::step::StepTensors::triangles)).

use kiln_triangles::schedule::Settings;

use super::uniforms::{self, GroupSteps, Lengths};
use crate::plan::{schedule::Events, triangles};
use crate::step::Capacities;
use kiln_config::Profile;
use kiln_gaussians::triangles::Limits;
use kiln_kernels::triangles::{TriangleUniforms, flags, tile_px};
use kiln_kernels::uniforms::{StepUniforms, flags as step_flags};
use kiln_scene::Camera;

/// What is trained, and the values that its steps take.
pub(super) enum Trainable {
    /// Gaussians, which the profile says all of.
    Splats,
    /// Triangles.
    Triangles(TriangleRun),
}

/// A model of triangles in training, as far as the host has it.
pub(super) struct TriangleRun {
    /// What happens when.
    pub(super) settings: Settings,
    /// What the model may not pass.
    pub(super) limits: Limits,
    /// Training views.
    pub(super) views: u32,
    /// Vertices there are.
    pub(super) vertices: u32,
    /// Least opacity of a vertex.
    pub(super) floor: f32,
    /// Pictures between steps measure the importance of triangles, too.
    pub(super) looks: bool,
    /// The cap on vertices was reported.
    pub(super) reported: bool,
}

impl Trainable {
    pub(super) fn new(profile: &Profile, capacities: &Capacities) -> Self {
        match (profile.triangle_schedule(), capacities.triangles) {
            (Some(settings), Some(sizes)) => Self::Triangles(TriangleRun {
                settings,
                limits: Limits {
                    vertices: sizes.vertices,
                    triangles: capacities.n_limit,
                    memory_bytes: u64::MAX,
                    orient: true,
                },
                views: capacities.cameras,
                vertices: 0,
                floor: 0.0,
                looks: false,
                reported: false,
            }),
            _ => Self::Splats,
        }
    }

    /// The triangles, where they are trained.
    pub(super) const fn triangles(&self) -> Option<&TriangleRun> {
        match self {
            Self::Splats => None,
            Self::Triangles(run) => Some(run),
        }
    }

    pub(super) const fn triangles_mut(&mut self) -> Option<&mut TriangleRun> {
        match self {
            Self::Splats => None,
            Self::Triangles(run) => Some(run),
        }
    }

    /// Uniforms of training iteration `iteration`; `steps` already counts this step.
    pub(super) fn uniforms(
        &self,
        profile: &Profile,
        camera: &Camera,
        iteration: u32,
        lengths: Lengths,
        events: &Events,
        steps: &GroupSteps,
    ) -> StepUniforms {
        let mut block = uniforms::train(profile, camera, iteration, lengths, events, steps);
        self.set_rates(&mut block, profile, lengths, steps);
        block
    }

    /// Sets the learning rates of `block`'s iteration; `steps` already counts this step.
    pub(super) fn set_rates(&self, block: &mut StepUniforms, profile: &Profile, lengths: Lengths, steps: &GroupSteps) {
        uniforms::set_rates(block, profile, lengths, steps);
        if let Self::Triangles(run) = self {
            triangles::train(block, &run.settings, block.iteration, steps.sh());
        }
    }

    /// Sets the tiles with lists of a picture between steps.
    pub(super) fn set_lists(&self, block: &mut StepUniforms) {
        if let Self::Triangles(run) = self {
            block.list_tiles(tile_px(run.settings.supersample_at(block.iteration)));
        }
    }

    /// What stands behind `block` in the ring; nothing for Gaussians.
    pub(super) fn behind(&self, block: &StepUniforms) -> Option<TriangleUniforms> {
        let run = self.triangles()?;
        let is_step = block.flags & step_flags::UPDATE != 0;
        let mut own = triangles::block(&run.settings, block.iteration, run.vertices, run.floor);
        own.flags = if is_step || run.looks { flags::MAXIMA } else { 0 };
        Some(own)
    }
}
