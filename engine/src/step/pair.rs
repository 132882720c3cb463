//! Steps that compare a view with a neighbouring one.
//!
//! Two programs: the neighbour is drawn first, planes and all, forward only, and leaves its uniforms and 8 bytes a pixel; then comes the
//! step of the trained view, in the same arena. What is left is no arena tensor, so what happens between the two does not matter: each
//! may run whole or in bands. The neighbour has uniforms, and where photos are not resident a photo, in rings of its own, slot by slot
//! beside those of the step.

use super::passes::{forward, targets, upload, upload_uniforms};
use super::{PairTensors, Part, Parts, StepTensors, Terms, bands};
use crate::kernels::neighbor_loss;
use crate::kernels::views::Pixels;
use crate::program::{Program, TensorTable};

impl StepTensors {
    /// The same tensors of steps with surfaces for steps that compare with a neighbour as well; none where the losses do not.
    #[must_use]
    pub fn for_pair_steps(&self, table: &mut TensorTable) -> Option<Self> {
        let mut tensors = self.clone();
        tensors.add_terms(table, Terms::Pair);
        tensors.pair().is_some().then_some(tensors)
    }

    /// The tensors that the neighbour is drawn with.
    fn of_neighbor(&self, pair: &PairTensors) -> Self {
        Self {
            rings: pair.rings,
            ..self.clone()
        }
    }
}

/// The programs that draw a neighbour, one for each page of resident photos, else one that brings the photo; nothing where steps do not
/// compare.
#[must_use]
pub fn draw_neighbor(t: &StepTensors) -> Vec<Program> {
    let Some(pair) = t.pair() else {
        return Vec::new();
    };
    let t = t.of_neighbor(pair);
    let whole = |pixels: Pixels| {
        let mut program = Program::new(NAME);
        if t.resident.pages.is_empty() {
            upload(&mut program, &t);
        } else {
            upload_uniforms(&mut program, &t);
        }
        forward(&mut program, &t);
        leave(&mut program, &t, pair, &pixels);
        program
    };
    targets(&t).into_iter().map(whole).collect()
}

/// The same in bands, of which `parts` makes those of a step: prefix and forward as there, and in the place of the loss what is left.
#[must_use]
pub fn draw_neighbor_in_bands(t: &StepTensors, parts: impl FnOnce(&StepTensors) -> Parts) -> Parts {
    let Some(pair) = t.pair() else {
        return Parts::new();
    };
    let t = t.of_neighbor(pair);
    let mut drawn = parts(&t);
    drawn.retain(|part, _| matches!(part, Part::Prefix | Part::Forward));
    let rest = |pixels: Pixels| {
        let mut program = Program::new(format!("{NAME}, left"));
        program.hold(&bands::drawn(&t));
        leave(&mut program, &t, pair, &pixels);
        program
    };
    let rest = targets(&t).into_iter().map(rest).enumerate();
    drawn.extend(rest.map(|(page, program)| (Part::Loss(page), program)));
    drawn
}

/// Of programs; `kiln plan` lists what they need.
const NAME: &str = "neighbouring view";

/// Appends what keeps what was drawn.
fn leave(program: &mut Program, t: &StepTensors, pair: &PairTensors, pixels: &Pixels) {
    if let Some(surface) = &pixels.surface {
        let (neighbor, max_pixels) = (&pair.io.neighbor, t.capacities.max_pixels);
        neighbor_loss::record_neighbor(program, &t.shared, pixels, surface, neighbor, max_pixels);
    }
}
