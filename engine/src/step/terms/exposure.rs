//! The maps of photo colours, between image and loss.

use std::sync::Arc;

use super::{ImageTerm, Learnt};
use crate::step::{Capacities, StepTensors};
use kiln_kernels::exposure::{self, Exposures, PhotoStart};
use kiln_kernels::views::Pixels;
use kiln_program::{Class, Program, Span, Tag, TensorTable};

pub(super) fn term(table: &mut TensorTable, c: &Capacities) -> Option<Arc<dyn ImageTerm>> {
    let (views, cameras) = (c.cameras.max(c.poses), c.photo_cameras);
    if cameras == 0 {
        return None;
    }
    let mut small = |name: &str, bytes| table.add(format!("small/{name}"), Class::Small, Tag::Other, bytes);
    let state = small(exposure::NAME, exposure::state_bytes(views, cameras));
    // Not in the arena: a step in bands has parts between loss and update.
    let sums = small("exposure_sums", exposure::sums_bytes(c.max_tiles));
    let bytes = 16 * u64::from(c.max_pixels);
    let image = table.add("step/exposed_image", Class::Arena, Tag::Pixels, bytes);
    Some(Arc::new(Exposures {
        state,
        image,
        sums,
        views,
        cameras,
    }))
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

    fn learnt(&self, photos: &[PhotoStart]) -> Option<Learnt> {
        let mut photos = photos.to_vec();
        photos.resize(self.views as usize, PhotoStart::default());
        Some(Learnt {
            name: exposure::NAME,
            state: self.state,
            start: exposure::start(&photos, self.cameras),
        })
    }
}
