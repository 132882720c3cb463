//! The term `depth`.

use std::sync::Arc;

use super::{Seen, SurfaceTerm};
use crate::kernels::fading::FadingWeight;
use crate::kernels::surface_depth::Depths;
use crate::kernels::{depth_loss, plane_loss};
use crate::plugins::Loss;
use crate::program::{Program, TensorTable};
use crate::step::StepTensors;

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
