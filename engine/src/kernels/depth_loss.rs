//! Loss of depth at the points of the sparse model that a photo shows: `w sum_p w_p |D_p - 1 / z_p|`, where `z_p` is the
//! point's depth in the step's camera, `D_p` the inverse depth blended where the point projects to,
//! `D = sum_i alpha_i T_i / z_i`, and `w_p` a weight that comes with the point. Nothing lies behind the last splat, so
//! what is let through there counts as infinitely far.
//!
//! Points are few beside pixels, so they are pixels of their own: this kernel walks the lists of their tiles once more and
//! adds to the sums of the backward rasteriser, between that and the fold. The gradient by a splat's depth takes the fourth
//! place beside that of the conic.

use super::counters::Args;
use super::update::DepthGradients;
use super::views::{Intersections, Reduction, Shared, Splats, Variants};
use crate::memory::{Groups, Program, Shader, View};
use crate::shader;

/// Adds to the partial sums of emission slots.
pub static SEGMENTED: Shader = shader!(
    "depth_loss.segmented", r uniforms, rw counters, r depth_views, w depth_losses, r depth_points, r tile_ranges,
    r payloads, r splat_position, r splat_conic, rw gradient_a, rw gradient_b, r owners
);
/// Adds to the records with float atomics.
pub static ATOMIC: Shader = shader!(
    "depth_loss.atomic", r uniforms, rw counters, r depth_views, w depth_losses, r depth_points, r tile_ranges,
    r payloads, r splat_position, r splat_conic, rw gradient_a, rw gradient_b
);
/// The same with compare-exchange loops.
pub static COMPARE_EXCHANGE: Shader = shader!(
    "depth_loss.compare_exchange", r uniforms, rw counters, r depth_views, w depth_losses, r depth_points,
    r tile_ranges, r payloads, r splat_position, r splat_conic, rw gradient_a, rw gradient_b
);
/// Adds the differences to the loss.
pub static REDUCE: Shader = shader!("depth_loss.reduce", r uniforms, rw counters, r depth_views, r depth_losses);

/// Bytes of the table of views.
pub const VIEW_BYTES: u64 = 8;
/// Bytes of a point.
pub const POINT_BYTES: u64 = 16;

/// Tensors of the points; they live as long as the run.
#[derive(Clone, Copy, Debug)]
pub struct Depths {
    /// First point and number of points of each training view, two words.
    pub views: View,
    /// World position and weight of each point, view after view.
    pub points: View,
    /// The weighted difference of each point of the step's view.
    pub losses: View,
    /// Most points of a view.
    pub in_view: u32,
}

impl Depths {
    /// Where `update` finds gradients by depth when it reads records; nowhere without this loss.
    #[must_use]
    pub fn in_records(depths: Option<&Self>) -> DepthGradients {
        depths.map_or(DepthGradients::None, |_| DepthGradients::Records)
    }
}

/// Appends what adds the points' gradients to the sums of the tiles in the band, which the backward rasteriser has made;
/// `partials` are those of the segmented reduction.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    depths: &Depths,
    partials: &[View; 3],
    variants: &Variants,
) {
    let segmented = variants.reduction == Reduction::Segmented;
    let [a, b, _] = if segmented {
        *partials
    } else {
        [splats.gradient_a, splats.gradient_b, splats.gradient_c]
    };
    let views = [
        shared.uniforms,
        shared.counters,
        depths.views,
        depths.losses,
        depths.points,
        intersections.tile_ranges,
        intersections.payloads,
        splats.position,
        splats.conic,
        a,
        b,
        intersections.owners,
    ];
    let views = if segmented { &views[..] } else { &views[..11] };
    // One axis holds them: a view has no more points than that.
    let groups = Groups::Direct([depths.in_view, 1, 1]);
    program.pass(gradients(variants.reduction), &[], views, &(), groups);
}

/// The shader that makes the gradients of the points.
#[must_use]
pub fn gradients(reduction: Reduction) -> &'static Shader {
    match reduction {
        Reduction::Segmented => &SEGMENTED,
        Reduction::Atomic => &ATOMIC,
        Reduction::CompareExchange => &COMPARE_EXCHANGE,
    }
}

/// Appends what adds the points' differences to the loss, once they are all there.
pub fn record_loss(program: &mut Program, shared: &Shared, depths: &Depths) {
    let views = [shared.uniforms, shared.counters, depths.views, depths.losses];
    program.pass(&REDUCE, &[], &views, &(), shared.groups(Args::One));
}
