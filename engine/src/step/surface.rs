//! A view with depth and normals.

use super::StepTensors;
use super::level::{self, LevelTensors};
use super::passes::{forward, status, upload_uniforms};
use kiln_kernels::surface_depth::{self, Depths};
use kiln_program::{Program, Span};

/// What programs that go on from a view find: image and depth map, and what the map is made of. None beyond the image for
/// tensors without room for surfaces.
pub(super) fn outputs(t: &StepTensors) -> Vec<Span> {
    let surface = t.pixels.surface.iter();
    let surface = surface.flat_map(|surface| [surface.plane, surface.depth, surface.map]);
    [t.pixels.image, t.pixels.last_contributor]
        .into_iter()
        .chain(surface)
        .collect()
}

/// Appends the depth map.
pub(super) fn depth_map(program: &mut Program, t: &StepTensors, depths: Depths) {
    if let Some(surface) = &t.pixels.surface {
        surface_depth::record(program, &t.shared, &t.pixels, surface, depths, t.capacities.max_pixels);
    }
}

/// Appends one view up to its depth map, and to what its candidates show where points on a `level` are wanted. A view that
/// stalls has no depths.
pub fn surface(program: &mut Program, t: &StepTensors, depths: Depths, level: Option<&LevelTensors>) {
    upload_uniforms(program, t);
    let lists = forward(program, t);
    if let Some(level) = level {
        level::hits(program, t, level, (&t.chunks, t.group_visible), &lists);
    }
    depth_map(program, t, depths);
    status(program, t);
}
