//! Programs of the terms of the density.

use super::{DensifyTensors, DensityTensors, StepTensors, neighbors};
use kiln_kernels::densify::{Event, Options};
use kiln_kernels::morton::Frame;
use kiln_kernels::{density_terms, neighbor_of, prepare_args};
use kiln_program::Program;

/// Appends the terms and their gradients, where there are any.
pub(super) fn record(program: &mut Program, t: &StepTensors) {
    if let Some(density) = &t.density {
        let lists = (&density.neighbors.parts[..], &density.of);
        density_terms::record(
            program,
            &t.shared,
            (&t.chunks, t.group_visible),
            &density.terms,
            &density.io,
            lists,
            &t.pixels,
        );
    }
}

/// The program that finds the neighbours anew; none without terms of the density.
#[must_use]
pub fn find_neighbors(t: &StepTensors, frame: &Frame) -> Option<Program> {
    let density = t.density.as_ref()?;
    let mut program = Program::new("neighbors");
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    neighbors(&mut program, t, &density.neighbors, frame);
    turn_round(&mut program, t, density);
    Some(program)
}

/// The program that makes of neighbours that are known whose neighbour each Gaussian is; none without terms of the density.
#[must_use]
pub fn know_neighbors(t: &StepTensors) -> Option<Program> {
    let density = t.density.as_ref()?;
    let mut program = Program::new("neighbors of a checkpoint");
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    turn_round(&mut program, t, density);
    Some(program)
}

fn turn_round(program: &mut Program, t: &StepTensors, density: &DensityTensors) {
    let found = &density.neighbors;
    neighbor_of::record(program, &t.shared, &t.chunks, &found.parts, found.k, &density.of);
}

/// The program that removes Gaussians of less than this opacity, before the 3D filter, and adds none.
#[must_use]
pub fn prune_faint(t: &StepTensors, workspace: &DensifyTensors, opacity: f32) -> Program {
    let event = Event {
        options: Options {
            gradient_threshold: f64::INFINITY,
            use_abs: false,
            prune_opacity: opacity.into(),
            prune_extent: None,
            ..Options::default()
        },
        extent: 1.0,
        capacity: 0,
    };
    let mut program = super::densify(t, workspace, &event);
    "prune".clone_into(&mut program.name);
    program
}
