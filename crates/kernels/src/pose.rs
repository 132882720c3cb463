//! Corrections of the cameras: each view's own turn and shift, with an Adam optimiser (Kingma and Ba 2015) of its own. They take
//! up what is wrong with the poses that came with the photos.
//!
//! `W' = exp(w) W` and `t' = exp(w) t + s`: the turn is about the camera, the shift in camera axes and in extents of the scene, so
//! that one learning rate does for both. Corrections, their moments and numbers of steps live on the device, and a little pulls
//! them towards none. What all of them share the trainer takes out now and then, because no photo distinguishes it from a scene that lies
//! elsewhere.
//!
//! | pass | groups |
//! |---|---|
//! | plain | one thread: the corrected camera goes into the uniforms, where every later pass finds it |
//! | gradient | 256 Gaussians of a chunk each: derivatives by turn and shift, summed over the visible ones |
//! | update | one: the sums in a fixed order, and the step |
//!
//! Sums go by groups of 256 ids, so they are the same in bands, in chunks of any size, and every time.

use super::counters::Args;
use super::cull::group_window;
use super::generated::pose;
use super::views::{Chunk, Shared, Splats};
use kiln_program::{Groups, Program, Span};

/// Numbers of a correction: turn, then shift.
pub const VALUES: usize = 6;
/// Words of a view: the correction, two moments, the number of steps, and one of no use.
pub const WORDS: usize = pose::POSE_WORDS as usize;
/// Weight in the loss of half a correction's squared length, in square radians and square extents; the shader has it too.
pub const HOLD: f32 = 0.01;

/// Tensors of the corrections.
#[derive(Clone, Copy, Debug)]
pub struct Poses {
    /// [`WORDS`] words a view; lives as long as the run.
    pub state: Span,
    /// Sums of every 256 Gaussians.
    pub sums: Span,
}

/// Bytes of the state of `views` views; zeros before the first step.
#[must_use]
pub fn state_bytes(views: u32) -> u64 {
    4 * WORDS as u64 * u64::from(views)
}

/// Bytes of the sums of `gaussians` Gaussians.
#[must_use]
pub fn sums_bytes(gaussians: u32) -> u64 {
    4 * u64::from(pose::POSE_SUMS) * u64::from(gaussians.div_ceil(256))
}

/// Appends what puts the corrected camera into the uniforms, right behind their upload; nothing where they do not ask for it.
pub fn record_apply(program: &mut Program, shared: &Shared, poses: &Poses) {
    let bind = pose::Bind {
        uniforms: shared.uniforms,
        poses: poses.state,
    };
    program.pass(&pose::KERNEL, (), bind, (), Groups::Direct([1, 1, 1]));
}

/// Appends the sums of the derivatives over `chunks`, one pass each; of the planes of Gaussians too where records have
/// gradients of them. For the Gaussians as they were drawn: before their update.
pub fn record_gradient(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: Span,
    splats: &Splats,
    poses: &Poses,
) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let bind = pose::GradientBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            geometry: chunk.geometry,
            filter_3d: chunk.filter_3d,
            visible_mask: chunk.visible_mask,
            group_visible: groups,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            pose_sums: poses.sums,
        };
        let push = pose::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
        };
        let at = shared.groups(Args::Chunk(chunk.index));
        if let Some(gradient_d) = splats.gradient_d {
            let bind = pose::GradientSurfaceBind { base: bind, gradient_d };
            program.pass(
                &pose::GRADIENT_SURFACE,
                pose::Spec { lens: shared.lens },
                bind,
                push,
                at,
            );
        } else {
            program.pass(&pose::GRADIENT, pose::Spec { lens: shared.lens }, bind, push, at);
        }
    }
}

/// Appends the step of the view's correction.
pub fn record_update(program: &mut Program, shared: &Shared, poses: &Poses) {
    program.pass(
        &pose::UPDATE,
        (),
        pose::UpdateBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            poses: poses.state,
            pose_sums: poses.sums,
        },
        (),
        shared.groups(Args::One),
    );
}
