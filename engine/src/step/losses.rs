//! The losses of a step: the photometric one that every run has, and the [`terms`](super::terms) that a profile adds.

use super::terms::Seen;
use super::{StepTensors, triangles};
use crate::kernels::views::{Chunk, Intersections, Pixels, Splats};
use crate::kernels::{loss, pose, rasterize_backward, surface_depth};
use crate::program::{Program, Span};

/// Appends all losses and the image gradient; `pixels` has the image and its ground truth.
pub(super) fn record(program: &mut Program, t: &StepTensors, pixels: &Pixels) {
    let mut compared = *pixels;
    for term in &t.extra.image {
        compared.image = term.before(program, t, pixels).unwrap_or(compared.image);
    }
    loss::record(program, &t.shared, &compared, t.loss_sums, t.ssim_maps, &t.variants);
    for term in &t.extra.image {
        term.record(program, t, pixels);
    }
    if let Some(own) = &t.triangles {
        triangles::losses(program, t, own, pixels);
    }
    let Some(surface) = &pixels.surface else { return };
    let terms = &t.extra.surface;
    if let Some(depths) = terms.iter().find_map(|term| term.depths()) {
        surface_depth::record(program, &t.shared, pixels, surface, depths, t.capacities.max_pixels);
    }
    for (at, term) in terms.iter().enumerate() {
        let alone = at == 0;
        let seen = Seen {
            t,
            pixels,
            surface,
            alone,
        };
        term.record(program, seen);
    }
}

/// Appends what adds the 2D gradients of the tiles in the band to the records.
pub(super) fn gradients(program: &mut Program, t: &StepTensors, intersections: &Intersections, pixels: &Pixels) {
    if let Some(own) = &t.triangles {
        return triangles::gradients(program, t, own, intersections, pixels);
    }
    let (s, splats, partials, variants) = (&t.shared, &t.splats, &t.partials, &t.variants);
    rasterize_backward::record_tiles(program, s, splats, intersections, pixels, partials, variants);
    rasterize_backward::record_fold(program, s, splats, intersections, partials, variants);
}

/// Appends the derivatives by the camera over the Gaussians of `chunks`, whose records begin at `groups`; before their update.
pub(super) fn pose_gradient(program: &mut Program, t: &StepTensors, chunks: &[Chunk], groups: Span, splats: &Splats) {
    if let Some(poses) = &t.extra.poses {
        pose::record_gradient(program, &t.shared, chunks, groups, splats, poses);
    }
}

/// Appends the steps of what losses learn beside the model; with that of the model, after the search for values that are
/// not finite.
pub(super) fn update(program: &mut Program, t: &StepTensors) {
    for term in &t.extra.image {
        term.update(program, t);
    }
    if let Some(poses) = &t.extra.poses {
        pose::record_update(program, &t.shared, poses);
    }
}
