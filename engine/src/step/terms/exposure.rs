//! The maps of photo colours, between image and loss.

use std::sync::Arc;

use super::{ImageTerm, Learnt};
use crate::step::{Capacities, StepTensors};
use kiln_kernels::exposure::{self, Exposures};
use kiln_kernels::views::Pixels;
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Views that have a map.
fn views(c: &Capacities) -> u32 {
    c.cameras.max(c.poses)
}

pub(super) fn term(table: &mut TensorTable, c: &Capacities) -> Option<Arc<dyn ImageTerm>> {
    if !c.photo_colors {
        return None;
    }
    let mut small = |name: &str, bytes| table.add(format!("small/{name}"), Class::Small, Tag::Other, bytes);
    let state = small("exposures", exposure::state_bytes(views(c)));
    // Not in the arena: a step in bands has parts between loss and update.
    let sums = small("exposure_sums", exposure::sums_bytes(c.max_tiles));
    let bytes = 16 * u64::from(c.max_pixels);
    let image = table.add("step/exposed_image", Class::Arena, Tag::Pixels, bytes);
    Some(Arc::new(Exposures { state, image, sums }))
}

impl ImageTerm for Exposures {
    fn before(&self, program: &mut Program, t: &StepTensors, pixels: &Pixels) -> Option<Span> {
        exposure::record_apply(program, &t.shared, pixels, self);
        Some(self.image)
    }

    fn record(&self, program: &mut Program, t: &StepTensors, pixels: &Pixels) {
        exposure::record_gradient(program, &t.shared, pixels, self);
    }

    fn update(&self, program: &mut Program, t: &StepTensors) {
        exposure::record_update(program, &t.shared, self, t.capacities.cameras);
    }

    fn learnt(&self, c: &Capacities) -> Option<Learnt> {
        Some(Learnt {
            name: "exposures",
            state: self.state,
            start: exposure::start(views(c)),
        })
    }
}
