//! The term `depth`.

use std::sync::Arc;

use super::{Seen, SurfaceTerm};
use crate::step::StepTensors;
use kiln_config::plugins::Loss;
use kiln_kernels::fading::FadingWeight;
use kiln_kernels::surface_depth::Depths;
use kiln_kernels::{depth_loss, plane_loss};
use kiln_program::{Program, TensorTable};

#[derive(Debug)]
struct Depth(FadingWeight);

pub(super) fn term(loss: &Loss, _table: &mut TensorTable, t: &StepTensors) -> Option<Arc<dyn SurfaceTerm>> {
    let Loss::Depth(options) = loss else { return None };
    Some(Arc::new(Depth(options.fading(t.capacities.losses.iterations))))
}

impl SurfaceTerm for Depth {
    fn depths(&self) -> Option<Depths> {
        Some(plane_loss::PLANES)
    }

    fn record(&self, program: &mut Program, seen: Seen<'_>) {
        let Seen {
            t,
            pixels,
            surface,
            alone,
        } = seen;
        depth_loss::record(program, &t.shared, pixels, surface, t.loss_sums, self.0, alone);
    }
}
