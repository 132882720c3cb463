//! Removes Gaussians that no training camera vouches for, in place: where a camera stood nothing is, and what no picture shows
//! nothing is known of.
//!
//! All training cameras are looked at for every Gaussian. Its *clearance* is the smallest distance of its centre from a camera's
//! centre, whichever way the camera looks, less two standard deviations in that direction. Its *witnesses* are the cameras in
//! whose picture its centre is, beyond the near plane. It is *unseen* when it touches no picture: no centre lies in one that is
//! widened by a bound of the radius,
//!
//! ```text
//! radius < 3 K s / z + 3 sqrt(2 d + sqrt(0.1)) + 1,   K^2 = fx^2 (1 + a^2) + fy^2 (1 + b^2)
//! ```
//!
//! with the largest deviation `s`, 3D filter included, the variance `d` of the screen-space filter and the largest slopes `a` and
//! `b` that the Jacobian sees: its covariance on the image, before the filter adds `d` to both axes, has a trace of at most
//! `(K s / z)^2`, for squared lengths are convex in the slopes and so largest at one of their limits; the radius is that of
//! `mid + sqrt(max(0.1, mid^2 - det)) <= 2 mid + sqrt(0.1)`, twice `mid` is the trace with both `d`, and
//! `sqrt(x + y) <= sqrt(x) + sqrt(y)`. Removing the unseen changes no training picture.
//!
//! Holes are closed as those of a densification are; its promises hold here too. Unlike there statistics stay, with their
//! Gaussians, so that events may come at any time.

use super::counters::Args;
use super::densify::{self, Stage, Workspace, window};
use super::filter_3d::FilterIo;
use super::generated::camera_cull;
use super::generated::common::STATISTICS_PLANES;
use super::move_rows::Planes;
use super::views::{Chunk, Shared};
use kiln_program::Program;

/// Who goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Gaussians with less clearance go, world units; 0 keeps all.
    pub clearance: f32,
    /// 0 keeps all, with 1 the unseen go, with more those that have fewer witnesses go too.
    pub witnesses: u32,
    /// Gaussians of a lower opacity go, before the 3D filter.
    pub opacity: f32,
    /// Variance of the screen-space filter, square pixels.
    pub kernel_size: f32,
}

impl Limits {
    /// What the screen-space filter adds to a radius at most, px.
    #[must_use]
    pub fn rim_px(&self) -> f32 {
        3.003 * (2.0 * self.kernel_size + 0.316_23).sqrt() + 1.0
    }
}

/// Appends a whole event.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    w: &Workspace,
    cameras: &FilterIo,
    limits: &Limits,
) {
    let Some(first) = chunks.first() else { return };
    densify::begin(program, shared, chunks, w, 0, None);
    for chunk in chunks {
        let keys = window(w.keys, chunk);
        program.pass(
            &camera_cull::KERNEL,
            (),
            camera_cull::Bind {
                control: w.control,
                cameras: cameras.cameras,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                keys,
            },
            camera_cull::Push {
                stride: chunk.stride,
                first: chunk.first,
                camera_count: cameras.camera_count,
                clearance_min: limits.clearance,
                witnesses_min: limits.witnesses,
                opacity_min: limits.opacity,
                rim_px: limits.rim_px(),
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    let statistics: Planes = (|c| c.statistics, STATISTICS_PLANES);
    let mut state = densify::state(&first.planes);
    state.push(statistics);
    densify::close_holes(program, shared, chunks, w, Stage::Cull, &state);
}
