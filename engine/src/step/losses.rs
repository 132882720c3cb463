//! The losses of a step: the photometric one that every run has, and those that a profile adds.
//!
//! What a profile does not ask for has no tensor and no pass here.

use super::{Capacities, PairTensors, StepTensors, triangles};
use crate::kernels::exposure::Exposures;
use crate::kernels::fading::FadingWeight;
use crate::kernels::plane_loss::PlaneLossIo;
use crate::kernels::pose::Poses;
use crate::kernels::views::{Chunk, Intersections, Pixels, Splats};
use crate::kernels::{
    alpha_loss, depth_loss, exposure, loss, neighbor_loss, normal_map_loss, plane_loss, pose, rasterize_backward,
    surface_depth,
};
use crate::program::{Class, Program, Span, Tag, TensorTable};

/// Tensors of the losses that need some of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraTensors {
    /// Sums of coverage differences per tile.
    pub alpha_sums: Option<Span>,
    /// Exposures.
    pub exposures: Option<Exposures>,
    /// Corrections of cameras.
    pub poses: Option<Poses>,
    /// Loss of surfaces; only in steps that draw them.
    pub plane_loss: Option<PlaneLossIo>,
    /// Weight of the loss of depth maps; only in steps that draw surfaces.
    pub depth_weight: Option<FadingWeight>,
    /// And of that of normal maps.
    pub normal_map_weight: Option<FadingWeight>,
    /// Consistency with a neighbouring view; only in steps that compare with one.
    pub pair: Option<PairTensors>,
}

impl ExtraTensors {
    /// Adds them to `table`.
    pub(super) fn new(table: &mut TensorTable, c: &Capacities) -> Self {
        let mut add = |name: &str, class, tag, bytes| table.add(name, class, tag, bytes);
        let mut alpha_sums = || {
            add(
                "step/alpha_sums",
                Class::Arena,
                Tag::Loss,
                alpha_loss::sums_bytes(c.max_tiles),
            )
        };
        let alpha_sums = c.losses.alpha.then(&mut alpha_sums);
        let exposures = c.losses.exposure.then(|| Exposures {
            state: add(
                "small/exposures",
                Class::Small,
                Tag::Other,
                exposure::state_bytes(c.cameras.max(c.poses)),
            ),
            image: add(
                "step/exposed_image",
                Class::Arena,
                Tag::Pixels,
                16 * u64::from(c.max_pixels),
            ),
            // Not in the arena: a step in bands has parts between loss and update.
            sums: add(
                "small/exposure_sums",
                Class::Small,
                Tag::Other,
                exposure::sums_bytes(c.max_tiles),
            ),
        });
        let poses = (c.poses > 0).then(|| Poses {
            state: add("small/poses", Class::Small, Tag::Other, pose::state_bytes(c.poses)),
            sums: add(
                "step/pose_sums",
                Class::Arena,
                Tag::Gradients,
                pose::sums_bytes(c.n_cap),
            ),
        });
        Self {
            alpha_sums,
            exposures,
            poses,
            plane_loss: None,
            depth_weight: None,
            normal_map_weight: None,
            pair: None,
        }
    }
}

/// Appends all losses and the image gradient; `pixels` has the image and its ground truth.
pub(super) fn record(program: &mut Program, t: &StepTensors, pixels: &Pixels) {
    let mut compared = *pixels;
    if let Some(exposures) = &t.extra.exposures {
        exposure::record_apply(program, &t.shared, pixels, exposures);
        compared.image = exposures.image;
    }
    loss::record(program, &t.shared, &compared, t.loss_sums, t.ssim_maps, &t.variants);
    if let Some(exposures) = &t.extra.exposures {
        exposure::record_gradient(program, &t.shared, pixels, exposures);
    }
    if let Some(sums) = t.extra.alpha_sums {
        alpha_loss::record(program, &t.shared, pixels, sums);
    }
    if let Some(own) = &t.triangles {
        triangles::losses(program, t, own, pixels);
    }
    let ExtraTensors {
        plane_loss: planes,
        depth_weight,
        normal_map_weight,
        pair,
        ..
    } = t.extra;
    let of_depths = planes.is_some() || depth_weight.is_some() || pair.is_some();
    let of_planes = of_depths || normal_map_weight.is_some();
    let Some(surface) = pixels.surface.filter(|_| of_planes) else {
        return;
    };
    let max_pixels = t.capacities.max_pixels;
    let depths = planes.map_or(plane_loss::PLANES, |io| io.kind.depths());
    if of_depths {
        surface_depth::record(program, &t.shared, pixels, &surface, depths, max_pixels);
    }
    if let Some(io) = planes {
        plane_loss::record(program, &t.shared, pixels, &surface, &io);
    }
    if let Some(weight) = depth_weight {
        // Sums are free once the other losses are reduced.
        depth_loss::record(
            program,
            &t.shared,
            pixels,
            &surface,
            t.loss_sums,
            weight,
            planes.is_none(),
        );
    }
    if let Some(weight) = normal_map_weight {
        let alone = planes.is_none() && depth_weight.is_none();
        let losses = normal_map_loss::Recorded {
            weight,
            alone,
            behind_depths: depth_weight.is_some(),
        };
        normal_map_loss::record(program, &t.shared, pixels, &surface, t.loss_sums, losses);
    }
    if let Some(pair) = pair {
        let alone = planes.is_none() && depth_weight.is_none() && normal_map_weight.is_none();
        neighbor_loss::record(program, &t.shared, pixels, &surface, &pair.io, max_pixels, alone);
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
    if let Some(exposures) = &t.extra.exposures {
        exposure::record_update(program, &t.shared, exposures, t.capacities.cameras);
    }
    if let Some(poses) = &t.extra.poses {
        pose::record_update(program, &t.shared, poses);
    }
}
